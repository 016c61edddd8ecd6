/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What systemd has in effect of the instances' units (units/loaded_unit.h). */

#include "keeper/keeper.h"
#include "systemd/unit_manager.h"
#include "systemd/unit_reread.h"

typedef struct Units {
        const Root *root;
        Loop *loop;
        const Keeper *keeper;
        void (*listener)(void *userdata); /* told what units_begin() has asked for */
        void *userdata;
        Arena *arena; /* of the answer; lives from one to the next */
        LoadedUnits loaded;
        const char *key; /* as long as it is this, so is the answer; NULL: it has to be asked */
        uint64_t failed_usec; /* when it could not be asked last; 0: it could */
        bool is_expired;      /* it is to be asked whatever the key is */
        UnitQuery *query;     /* on its way, while the loop runs; NULL: none */
        Arena *query_arena;
        const char *query_key;
        IdSet nodes; /* that had memory when it was looked last whether the units' lines can be had */
        bool has_group;                    /* NAME_HUGETLB_GROUP, likewise */
        UnitReread *reread;                /* systemd is reading its units anew; NULL: it is not */
        void (*on_reread)(void *userdata); /* told when that is over */
} Units;

/* Asks systemd, and goes on meanwhile. */
void units_begin(Units *units);

/* Asks and waits, unless it can be seen from files that the answer would be that of before. */
void units_refresh(Units *units);

/* Nodes or the group have come or gone: where a unit's drop-in has a line that cannot be had, or lacks one that can be
 * had now (units/dropin.h), systemd is asked to read its units anew, once for each change. */
void units_follow_host(Units *units);

/* Adds what is wrong with the units, as far as systemd has answered. */
void units_judge(const Units *units, Arena *arena, const Config *files, Diags *problems);

void units_free(Units *units);
