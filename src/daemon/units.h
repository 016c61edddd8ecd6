/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The instances' units as systemd has loaded them (units/loaded_unit.h). */

#include "keeper/keeper.h"
#include "systemd/unit_manager.h"

typedef struct Units {
        const Root *root;
        Loop *loop;
        const Keeper *keeper;
        void (*listener)(void *userdata); /* called with the answer to units_begin() */
        void *userdata;
        /* What systemd has loaded. */
        struct {
                Arena *arena;
                LoadedUnits loaded;
                const char *key; /* the answer is valid while it is the same; NULL: query systemd */
                /* The identity of the generators' directory before the answer, or the failure. */
                const char *generated;
                uint64_t failed_usec; /* when the last query failed; 0: it succeeded */
                bool is_expired;      /* query again, whatever the key is */
        } answer;
        struct {
                UnitQuery *pending; /* NULL: none */
                Arena *arena;
                const char *key;
        } query;
        /* What decided which lines the drop-ins can have, when it was looked last. */
        struct {
                IdSet nodes;    /* that had memory */
                bool has_group; /* whether NAME_HUGETLB_GROUP existed */
        } lines;
        UnitQuery *reread;                 /* a pending daemon-reload; NULL: none */
        void (*on_reread)(void *userdata); /* called after the daemon-reload */
} Units;

/* Queries systemd without waiting. */
void units_begin(Units *units);

/* Queries systemd and waits, unless files show that the last answer is still valid. */
void units_refresh(Units *units);

/* Whether systemd has answered, or cannot, since its generators' directory changed; otherwise queries it without waiting.
 * While systemd reads its units again, which it does not answer before, that directory is empty. */
bool units_are_generated(Units *units);

/* Called when nodes or the group may have come or gone: if a drop-in has a line that cannot be applied, or lacks one
 * that can (units/dropin.h), requests a daemon-reload, once for each change. */
void units_follow_host(Units *units);

/* Adds the problems of the units, as far as systemd has answered. */
void units_judge(const Units *units, Arena *arena, const Config *files, Diags *problems);

void units_free(Units *units);
