/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The boot guard (plan/boot_guard.h) in the daemon: each boot is counted on disk before its first page is reserved, and
 * the count is reset when systemd has reached multi-user.target. */

#include "keeper/keeper.h"
#include "runtime/worker.h"
#include "systemd/unit_manager.h"

typedef enum BootState {
        BOOT_UNBEGUN,  /* nothing was reserved yet */
        BOOT_COUNTING, /* the first round waits for the disk */
        BOOT_COUNTED,  /* counted, or that has failed; waiting for multi-user.target */
        BOOT_GOOD,     /* multi-user.target was reached */
} BootState;

typedef struct Boot {
        const Root *root;
        Loop *loop;
        Worker *disk; /* with a Root of its own as context */
        const Keeper *keeper;
        void (*on_counted)(void *userdata); /* the reservation may begin */
        void *userdata;
        BootState state;
        bool is_planned; /* the first round has ended: the ledger has the pages of this boot */
        LoopTimer limit;
        UnitQuery *query; /* the query for multi-user.target; NULL: none is pending */
        Arena *query_arena;
} Boot;

/* Counts this boot before the first round, except a rescue boot. Returns whether the round has to wait for the disk. */
bool boot_holds_round(Boot *boot);

/* The first round has ended. */
void boot_note_planned(Boot *boot);

/* Process PID has called. If it belongs to hugeplan-check.service, which is ordered after multi-user.target, systemd is
 * asked whether the target was reached. */
void boot_note_caller(Boot *boot, pid_t pid);

/* A reload has taken effect: the next boot plans everything again, too. */
void boot_open_guard(Boot *boot);

void boot_free(Boot *boot);
