/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The boot guard's part in the daemon (plan/boot_guard.h): a boot is counted on disk before the first page of it is
 * reserved, and the count is taken back once systemd says that multi-user.target was reached. */

#include "daemon/disk.h"
#include "keeper/keeper.h"
#include "systemd/unit_manager.h"

typedef enum BootState {
        BOOT_UNBEGUN,  /* nothing was reserved in this run of the daemon */
        BOOT_COUNTING, /* the reservation waits for the disk */
        BOOT_COUNTED,  /* or it was tried; multi-user.target is waited for */
        BOOT_GOOD,     /* which is stored, or about to be */
} BootState;

typedef struct Boot {
        const Root *root;
        Loop *loop;
        Disk *disk;
        const Keeper *keeper;
        void (*on_counted)(void *userdata); /* the reservation may begin */
        void *userdata;
        BootState state;
        bool is_planned; /* a first round is over, so that the ledger has what this boot reserves */
        LoopTimer limit;
        UnitQuery *
                query; /* systemd is asked whether multi-user.target was reached; NULL: it is not */
        Arena *query_arena;
} Boot;

/* Before the first round writes anything: counts this boot, unless that was done, or it is a rescue boot. Whether the
 * round has to wait. */
bool boot_holds_round(Boot *boot);

/* A first round is over. */
void boot_note_planned(Boot *boot);

/* PID calls: where it is in hugeplan-check.service, which is ordered after multi-user.target, systemd is asked whether
 * that was reached. */
void boot_note_caller(Boot *boot, pid_t pid);

/* A reload has come into effect: everything is planned from the next boot on, too. */
void boot_open_guard(Boot *boot);

void boot_free(Boot *boot);
