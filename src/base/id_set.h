/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Sets of small numbers (NUMA nodes, CPUs) in the kernel's list format: "0,2-3". */

#include "base/arena.h"

enum { ID_SET_MAX = 1024 }; /* the kernel's MAX_NUMNODES is at most 1 << 10 */

typedef struct IdSet {
        uint64_t words[ID_SET_MAX / 64];
} IdSet;

/* Parses "0,2-3" (whitespace around numbers and ranges is accepted; the empty string is the empty set). Returns -EINVAL
 * for anything else, -ERANGE for numbers of ID_SET_MAX and above. */
int id_set_parse(const char *string, IdSet *ret);

/* Returns the same format: "0-3,8"; "" for the empty set. */
char *id_set_format(Arena *arena, const IdSet *set);

void id_set_add(IdSet *set, unsigned id);
void id_set_add_all(IdSet *set, const IdSet *more);
bool id_set_has(const IdSet *set, unsigned id);
bool id_set_is_empty(const IdSet *set);
unsigned id_set_count(const IdSet *set);
bool id_set_equals(const IdSet *a, const IdSet *b);
bool id_set_meets(const IdSet *a, const IdSet *b); /* true if they have a common member */
bool id_set_is_subset(const IdSet *inner, const IdSet *outer);
IdSet id_set_common(const IdSet *a, const IdSet *b);

/* Returns the smallest member that is at least FROM, or ID_SET_MAX if there is none. */
unsigned id_set_next(const IdSet *set, unsigned from);

#define ID_SET_FOREACH(id, set) \
        for (unsigned id = id_set_next((set), 0); id < ID_SET_MAX; id = id_set_next((set), id + 1))
