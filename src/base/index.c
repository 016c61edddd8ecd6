/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/index.h"

#include "base/text.h"

/* One name: its entries, and the next name in the same bucket. */
typedef struct Name {
        IndexEntry first;
        IndexEntry *last;
        uint64_t hash;
        struct Name *next;
} Name;

struct Index {
        Arena *arena;
        Name **buckets; /* their number is a power of two */
        size_t n_buckets, n_names;
};

static Name **bucket_of(const Index *index, uint64_t hash) {
        return &index->buckets[hash & (index->n_buckets - 1)];
}

static Name *find(const Index *index, const char *name, uint64_t hash) {
        Name *found = *bucket_of(index, hash);

        while (found && (found->hash != hash || !text_equals(found->first.name, name)))
                found = found->next;
        return found;
}

static void make_buckets(Index *index, size_t n) {
        const Index old = *index;

        index->n_buckets = n;
        index->buckets = ARENA_ARRAY(index->arena, Name *, n);
        for (size_t i = 0; i < old.n_buckets; i++)
                for (Name *name = old.buckets[i], *next; name; name = next) {
                        Name **bucket = bucket_of(index, name->hash);

                        next = name->next;
                        name->next = *bucket;
                        *bucket = name;
                }
}

Index *index_new(Arena *arena) {
        enum { BUCKETS_MIN = 16 };
        Index *index = ARENA_NEW(arena, Index);

        index->arena = arena;
        make_buckets(index, BUCKETS_MIN);
        return index;
}

void index_add(Index *index, const char *name, const void *value) {
        uint64_t hash = name ? text_fold(TEXT_FOLD_START, name) : 0;
        Name *known = name ? find(index, name, hash) : NULL;

        if (!name)
                return;
        if (known) {
                known->last = known->last->next = ARENA_NEW(index->arena, IndexEntry);
                *known->last = (IndexEntry){known->first.name, value, NULL};
                return;
        }
        if (index->n_names == index->n_buckets)
                make_buckets(index, index->n_buckets * 2);
        Name **bucket = bucket_of(index, hash), *added = ARENA_NEW(index->arena, Name);

        *added = (Name){{name, value, NULL}, &added->first, hash, *bucket};
        *bucket = added;
        index->n_names++;
}

const IndexEntry *index_entry(const Index *index, const char *name) {
        const Name *found = name ? find(index, name, text_fold(TEXT_FOLD_START, name)) : NULL;

        return found ? &found->first : NULL;
}
