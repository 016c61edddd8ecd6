/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What a reload has changed, instance by instance. */

#include "plan/plan.h"

typedef enum ChangeKind {
        CHANGE_NONE,
        CHANGE_ADDED,   /* it has pages, and had none */
        CHANGE_REMOVED, /* it had pages, and is described no longer */
        CHANGE_REFUSED, /* it had pages, and gets none */
        CHANGE_GROWN,
        CHANGE_SHRUNK,
        CHANGE_MOVED, /* as many pages, but elsewhere or of another size */
        CHANGE_KINDS,
} ChangeKind;

extern const char *const change_kind_names[CHANGE_KINDS];

typedef struct Change {
        const char *instance;
        ChangeKind kind;
        uint64_t page_size_bytes; /* of the pages it has now, or had */
        uint64_t pages_before;
        uint64_t pages_after;
        const char *kept_by; /* the unit that keeps what it runs with until it stops; NULL: none */
        uint64_t kept_pages;
} Change;

typedef VEC(Change) Changes;

/* What has become of a pool: both counts were read. */
typedef struct PoolChange {
        unsigned node;
        uint64_t page_size_bytes;
        uint64_t pages_before; /* persistent */
        uint64_t pages_after;
} PoolChange;

typedef VEC(PoolChange) PoolChanges;

/* Every instance that either ledger knows, in the order of AFTER, which is that of PLAN, and then of
 * BEFORE. Names are those of the ledgers. */
Changes changes_between(Arena *arena, const Ledger *before, const Ledger *after, const Plan *plan);

/* Only pools that differ. */
PoolChanges pool_changes_between(Arena *arena, const Topology *before, const Topology *after);

json_t *changes_to_json(const Changes *changes);
json_t *pool_changes_to_json(const PoolChanges *changes);

/* "pg-main: grown from 512 to 1,071 pages of 2M". What it keeps besides is said, too. */
char *change_format(Arena *arena, const Change *change);

/* "node 0: 45 -> 0 pages of 2M" */
char *pool_change_format(Arena *arena, const PoolChange *change);

/* As a daemon has sent it; -EPROTO if it is none. */
int change_from_json(Arena *arena, const json_t *json, Change *ret);
int pool_change_from_json(const json_t *json, PoolChange *ret);
