/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What a round does to the pools, told once for each pool at its end, however many writes it took; and which pools
 * others have lowered since. */

#include "apply/apply.h"
#include "keeper/notes/tell.h"
#include "plan/drift.h"

typedef struct PoolMove {
        unsigned node;
        uint64_t page_size_bytes;
        bool has_begun;
        bool is_lowered; /* by others, and no round has begun since: below so many */
        uint64_t lowered_pages;
        uint64_t lost_pages;   /* to which it is to be repaired; 0: others have not lowered it */
        uint64_t from_pages;   /* persistent, before the round */
        uint64_t pages;        /* now */
        uint64_t best_pages;   /* the most that it had in between */
        uint64_t wanted_pages; /* to which it was to be raised; 0: it was not */
        unsigned n_tries[ESCALATION_DONE]; /* by action */
        uint64_t usec;
        int error;                                   /* the last; 0: none */
        uint64_t told_wanted_pages, told_best_pages; /* of the shortage that was told last */
} PoolMove;

typedef struct Moves {
        Arena *arena;
        VEC(PoolMove) list; /* each pool that was ever written to, or lowered by others, once */
} Moves;

/* A round begins; it is to bring back what others have taken. */
void moves_begin(Moves *moves);
void moves_note(Moves *moves, const ApplyResult *result);
void moves_tell(Moves *moves, const Teller *teller);

/* Others have taken a pool, or pages of it. */
void moves_note_lowered(Moves *moves, const Drift *drift);

/* Whether a pool is still below what others have lowered it from, and no round has begun since. */
bool moves_is_anything_lost(const Moves *moves, const Topology *topology);
