/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What a reload has changed, instance by instance. */

#include "promise/ledger.h"

typedef enum ChangeKind {
        CHANGE_NONE,
        CHANGE_ADDED,   /* it has pages, and had none */
        CHANGE_REMOVED, /* it had pages, and has none */
        CHANGE_GROWN,
        CHANGE_SHRUNK,
        CHANGE_MOVED, /* as many pages, but elsewhere or of another size */
} ChangeKind;

typedef struct Change {
        const char *instance;
        ChangeKind kind;
        uint64_t page_size_bytes; /* of the pages it has now, or had */
        uint64_t pages_before;
        uint64_t pages_after;
} Change;

typedef VEC(Change) Changes;

/* Every instance that either ledger knows, in the order of AFTER and then of BEFORE. Names are
 * those of the ledgers. */
Changes changes_between(Arena *arena, const Ledger *before, const Ledger *after);

/* "unchanged", "added", "removed", "grown", "shrunk", "moved". */
const char *change_kind_name(ChangeKind kind);

json_t *changes_to_json(const Changes *changes);

/* "pg-main: grown from 512 to 1,071 pages of 2M". */
char *change_format(Arena *arena, const Change *change);

/* As a daemon has sent it; -EPROTO if it is none. */
int change_from_json(Arena *arena, const json_t *json, Change *ret);
