/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* An index: what is looked for by a name, and by many, is found without looking at all others. */

#include "base/vec.h"

typedef struct Index Index;

/* Of one name there may be several, in the order in which they were added. */
typedef struct IndexEntry {
        const char *name;
        const void *value;
        struct IndexEntry *next; /* of the same name; NULL: it is the last */
} IndexEntry;

/* Lives in ARENA. */
Index *index_new(Arena *arena);

/* NAME and VALUE must outlive the index. What has no name (NULL) is not found by one. */
void index_add(Index *index, const char *name, const void *value);

/* The first of that name; NULL: there is none. */
const IndexEntry *index_entry(const Index *index, const char *name);

/* Its value; NULL: there is none. */
static inline const void *index_find(const Index *index, const char *name) {
        const IndexEntry *entry = index_entry(index, name);

        return entry ? entry->value : NULL;
}

/* All of that name: INDEX_FOREACH(entry, index, name) { entry->value }. */
#define INDEX_FOREACH(entry, index, name) \
        for (const IndexEntry *entry = index_entry((index), (name)); (entry); entry = entry->next)

/* Of all N elements of ARRAY, by NAME, an expression of ITEM; none that has NULL. */
#define INDEX_OF(arena, item, array, n, name)            \
        ({                                               \
                Index *index_ = index_new(arena);        \
                ARRAY_FOREACH(item, array, n)            \
                        index_add(index_, (name), item); \
                index_;                                  \
        })
