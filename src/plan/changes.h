/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What a reload has changed, by instance and by pool. */

#include "plan/plan.h"

#include <jansson.h>

typedef enum ChangeKind {
        CHANGE_NONE,
        CHANGE_ADDED,   /* has pages, had none */
        CHANGE_REMOVED, /* is no longer described */
        CHANGE_REFUSED, /* had pages, gets none */
        CHANGE_GROWN,
        CHANGE_SHRUNK,
        CHANGE_MOVED, /* as many pages on other nodes, or pages of another size */
        CHANGE_KINDS,
} ChangeKind;

extern const char *const change_kind_names[CHANGE_KINDS];

typedef struct Change {
        const char *instance;
        ChangeKind kind;
        uint64_t page_size_bytes; /* of its present pages, or of its former ones */
        uint64_t pages_before;
        uint64_t pages_after;
        const char *kept_by; /* the unit that keeps its former pages until it stops; NULL: none */
        uint64_t kept_pages;
} Change;

typedef VEC(Change) Changes;

/* The change of a pool between two counts read from the kernel. */
typedef struct PoolChange {
        unsigned node;
        uint64_t page_size_bytes;
        uint64_t pages_before; /* persistent */
        uint64_t pages_after;
} PoolChange;

typedef VEC(PoolChange) PoolChanges;

/* Returns a change for each instance of either ledger, in the order of AFTER, which is PLAN's, and then of BEFORE. The
 * names are the ledgers'. */
Changes changes_between(Arena *arena, const Ledger *before, const Ledger *after, const Plan *plan);

/* Returns the pools that differ. */
PoolChanges pool_changes_between(Arena *arena, const Topology *before, const Topology *after);

json_t *changes_to_json(const Changes *changes);
json_t *pool_changes_to_json(const PoolChanges *changes);

/* Returns "pg-main: grown from 512 to 1,071 pages of 2M", and what its unit keeps besides. */
char *change_format(Arena *arena, const Change *change);

/* Returns "node 0: 45 -> 0 pages of 2M". */
char *pool_change_format(Arena *arena, const PoolChange *change);

/* Read what a daemon has sent; return -EPROTO if it is invalid. */
int change_from_json(Arena *arena, const json_t *json, Change *ret);
int pool_change_from_json(const json_t *json, PoolChange *ret);
