/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The most pages that somebody may take of some nodes, in whatever order pages are touched: what
 * promise/balance.c and promise/admission.c reckon with, and nobody else. */

#include "promise/promise.h"

/* What somebody who takes his pages in turn may take of each of his nodes: what it has less than LEVEL. */
typedef struct ReachTurns {
        uint64_t level;
        uint64_t slack; /* of any set of nodes so much more */
        bool is_kept;   /* none of them may run out before, so that he goes on to no others */
} ReachTurns;

/* Whose promises are looked at, and which. */
typedef struct Reach {
        const Promises *promises;
        const uint64_t *free_pages; /* by index of the node */
        /* For giving back, what is unknown counts as it is; for a start, as whose it likely is. */
        bool is_start;
        uint64_t *worst_single; /* the most that all may take of a node, by index */
        ReachTurns *turns;      /* by index of the row, of those that interleave */
} Reach;

Reach reach_new(Arena *arena, const Promises *promises, const uint64_t *free_pages, bool is_start);

/* The same once somebody takes MORE pages, by index of the node: who takes his in turn may have to go on to other
 * nodes by that. */
Reach reach_beside(Arena *arena, const Reach *reach, const uint64_t *more);

/* What ROW may still take, wherever. */
uint64_t reach_rest(const Reach *reach, const Promise *row);

/* Promises of nobody who is known. */
uint64_t reach_unknown(const Reach *reach);

/* Whether each of NODES has what all may take of it, and MORE by itself. Else who takes its pages in
 * turn goes on to other nodes, and is confined to none. */
bool reach_can_take_turns(const Reach *reach, const IdSet *nodes, uint64_t more);

/* What PAGES of somebody who interleaves over TURNS and has none yet take of NODES. */
uint64_t reach_turns_in(const Reach *reach, const IdSet *turns, uint64_t pages, const IdSet *nodes);

/* The most that ROW may take of NODES. */
uint64_t reach_most(const Reach *reach, const Promise *row, const IdSet *nodes);

/* The most that all may take of NODES, those that nobody knows among them. */
uint64_t reach_needed(const Reach *reach, const IdSet *nodes);

/* The sum over NODES (NULL: all) of counts by index of the node. */
uint64_t reach_sum_in(const Promises *promises, const uint64_t *pages, const IdSet *nodes);
