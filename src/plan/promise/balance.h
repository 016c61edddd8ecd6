/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Balances free pages against promises in the worst case, to find how many pages may be given back. */

#include "plan/promise/promise.h"

typedef struct Balance Balance;

/* Returns a balance, in ARENA, that refers to PROMISES. FREE_PAGES is by index of the node. Unless pools may still get a
 * cover (IS_COVERED_LATER), all nodes keep what units may take there while a set of nodes is short: a unit that does not
 * find these pages takes more of that set. */
Balance *balance_new(Arena *arena, const Promises *promises, const uint64_t *free_pages,
                     bool is_covered_later);

/* Returns how many free pages of a node (by index) can be given back without breaking a promise. */
uint64_t balance_spare_pages(const Balance *balance, size_t node);

/* Returns how many more free pages a node needs so that no promise is broken. */
uint64_t balance_missing_pages(const Balance *balance, size_t node);

/* Takes FEWER free pages from the node, and adds MORE. */
void balance_change(Balance *balance, size_t node, uint64_t fewer, uint64_t more);

/* ---- reach: the most pages that a unit may take of some nodes, in whatever order pages are touched ---- */

/* What an interleaving unit may take of each of its nodes: LEVEL less what it uses there. */
typedef struct ReachTurns {
        uint64_t level;
        uint64_t slack; /* more pages that it may take of any set of nodes */
        bool is_kept;   /* none of its nodes may run out first, so it takes from no others */
} ReachTurns;

/* The promises in question, and which of them count. */
typedef struct Reach {
        const Promises *promises;
        const uint64_t *free_pages; /* by index of the node */
        /* For a start, unknown promises count as their likely owners'; for giving back, as unknown. */
        bool is_start;
        uint64_t *worst_single; /* the most that all may take of each node, by index */
        ReachTurns *turns;      /* by index of the row; for rows that interleave */
} Reach;

Reach reach_new(Arena *arena, const Promises *promises, const uint64_t *free_pages, bool is_start);

/* Returns REACH with MORE pages taken, by index of the node: an interleaving unit may then have to take from other
 * nodes. */
Reach reach_beside(Arena *arena, const Reach *reach, const uint64_t *more);

/* Returns what ROW may still take, on any nodes. */
uint64_t reach_rest(const Reach *reach, const Promise *row);

/* Returns the promises without a known owner. */
uint64_t reach_unknown(const Reach *reach);

/* Returns whether each of NODES has what all may take of it, and MORE besides. If not, an interleaving unit takes
 * from other nodes too, and is confined to none. */
bool reach_can_take_turns(const Reach *reach, const IdSet *nodes, uint64_t more);

/* Returns what a unit that interleaves PAGES over TURNS, and has none yet, takes of NODES. */
uint64_t reach_turns_in(const Reach *reach, const IdSet *turns, uint64_t pages, const IdSet *nodes);

/* Returns the most that ROW may take of NODES. */
uint64_t reach_most(const Reach *reach, const Promise *row, const IdSet *nodes);

/* Returns how many pages of NODES are free. */
uint64_t reach_free(const Reach *reach, const IdSet *nodes);

/* A set of nodes that a unit is confined to, and the most that all may take of them. */
typedef struct NodeSet {
        IdSet nodes;
        uint64_t free_pages, needed_pages;
} NodeSet;

typedef VEC(NodeSet) NodeSets;

/* Returns all nodes, and then each set to which a unit is bound that may still take pages. */
NodeSets reach_sets(Arena *arena, const Reach *reach);
