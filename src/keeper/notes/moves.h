/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What a round does to the pools, reported once for each pool at the end of the round; and which pools were lowered
 * externally since. */

#include "apply/apply.h"
#include "keeper/notes/events.h"
#include "plan/drift.h"

typedef struct PoolMove {
        unsigned node;
        uint64_t page_size_bytes;
        bool has_begun;
        bool is_lowered; /* externally, and no round has begun since, */
        uint64_t lowered_pages;
        uint64_t lost_pages;   /* to which it is to be repaired; 0: it was not lowered externally */
        uint64_t from_pages;   /* persistent, before the round */
        uint64_t pages;        /* now */
        uint64_t best_pages;   /* the most that it had in this round */
        uint64_t wanted_pages; /* to which it was to be raised; 0: it was not */
        unsigned n_tries[ESCALATION_DONE]; /* by action */
        uint64_t usec;
        int error;                                           /* the last; 0: none */
        uint64_t reported_wanted_pages, reported_best_pages; /* of the last reported shortage */
} PoolMove;

typedef struct Moves {
        Arena *arena;
        VEC(PoolMove) list; /* one for each pool that was ever written to or lowered externally */
} Moves;

/* Begins a round, which is to repair pools that were lowered externally. */
void moves_begin(Moves *moves);
void moves_note(Moves *moves, const ApplyResult *result);
void moves_report(Moves *moves, const EventSink *events);

/* Records that a pool was lowered or has gone. */
void moves_note_lowered(Moves *moves, const Drift *drift);

/* Whether a pool is still below the size that it was lowered from, and no round has begun since. */
bool moves_have_lost_pages(const Moves *moves, const Topology *topology);
