/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A hash index: finds values by name without a walk over all values. */

#include "base/vec.h"

typedef struct Index Index;

/* Several entries may have the same name; they keep the order in which they were added. */
typedef struct IndexEntry {
        const char *name;
        const void *value;
        struct IndexEntry *next; /* of the same name; NULL: this is the last */
} IndexEntry;

/* Returns an index that lives in ARENA. */
Index *index_new(Arena *arena);

/* Adds VALUE by NAME. Both must outlive the index. Adds nothing if NAME is NULL. */
void index_add(Index *index, const char *name, const void *value);

/* Returns the first entry of that name, or NULL if there is none. */
const IndexEntry *index_entry(const Index *index, const char *name);

/* Returns the first value of that name, or NULL if there is none. */
static inline const void *index_find(const Index *index, const char *name) {
        const IndexEntry *entry = index_entry(index, name);

        return entry ? entry->value : NULL;
}

/* Returns the only value of that name, or NULL if there is none or several. */
static inline const void *index_find_only(const Index *index, const char *name) {
        const IndexEntry *entry = index_entry(index, name);

        return entry && !entry->next ? entry->value : NULL;
}

/* Walks all entries of a name: INDEX_FOREACH(entry, index, name) { entry->value }. */
#define INDEX_FOREACH(entry, index, name) \
        for (const IndexEntry *entry = index_entry((index), (name)); (entry); entry = entry->next)

/* Makes an index of the N elements of ARRAY by NAME, an expression of ITEM, without those whose NAME is NULL. */
#define INDEX_OF(arena, item, array, n, name)            \
        ({                                               \
                Index *index_ = index_new(arena);        \
                ARRAY_FOREACH(item, array, n)            \
                        index_add(index_, (name), item); \
                index_;                                  \
        })
