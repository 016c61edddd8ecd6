/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What systemd has in effect of the instances' units (units/loaded_unit.h). */

#include "keeper/keeper.h"
#include "systemd/unit_manager.h"

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
} Units;

/* Asks systemd, and goes on meanwhile. */
void units_begin(Units *units);

/* Asks and waits, unless it can be seen from files that the answer would be that of before. */
void units_refresh(Units *units);

/* Adds what is wrong with the units, as far as systemd has answered. */
void units_judge(const Units *units, Arena *arena, const Config *files, Diags *problems);

void units_free(Units *units);
