/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/id_set.h"

#include "base/size.h"
#include "base/text.h"

#include <string.h>

void id_set_add(IdSet *set, unsigned id) {
        if (id < ID_SET_MAX)
                set->words[id / 64] |= UINT64_C(1) << (id % 64);
}

void id_set_add_all(IdSet *set, const IdSet *more) {
        for (size_t i = 0; i < ARRAY_LEN(set->words); i++)
                set->words[i] |= more->words[i];
}

bool id_set_has(const IdSet *set, unsigned id) {
        return id < ID_SET_MAX && (set->words[id / 64] >> (id % 64) & 1);
}

bool id_set_is_empty(const IdSet *set) {
        return id_set_next(set, 0) == ID_SET_MAX;
}

unsigned id_set_count(const IdSet *set) {
        unsigned n = 0;

        for (size_t i = 0; i < ARRAY_LEN(set->words); i++)
                n += (unsigned) __builtin_popcountll(set->words[i]);
        return n;
}

bool id_set_equals(const IdSet *a, const IdSet *b) {
        return memcmp(a, b, sizeof(*a)) == 0;
}

bool id_set_is_subset(const IdSet *inner, const IdSet *outer) {
        for (size_t i = 0; i < ARRAY_LEN(inner->words); i++)
                if (inner->words[i] & ~outer->words[i])
                        return false;
        return true;
}

IdSet id_set_common(const IdSet *a, const IdSet *b) {
        IdSet common = *a;

        for (size_t i = 0; i < ARRAY_LEN(common.words); i++)
                common.words[i] &= b->words[i];
        return common;
}

bool id_set_meets(const IdSet *a, const IdSet *b) {
        for (size_t i = 0; i < ARRAY_LEN(a->words); i++)
                if (a->words[i] & b->words[i])
                        return true;
        return false;
}

unsigned id_set_next(const IdSet *set, unsigned from) {
        while (from < ID_SET_MAX) {
                uint64_t rest = set->words[from / 64] >> (from % 64);

                if (rest)
                        return from + (unsigned) __builtin_ctzll(rest);
                from = (from / 64 + 1) * 64;
        }
        return ID_SET_MAX;
}

int id_set_parse(const char *string, IdSet *ret) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        IdSet set = {};

        string = text_strip(arena, string);
        while (*string) {
                size_t length = strcspn(string, ",");
                char *word = text_strip(arena, arena_strndup(arena, string, length));
                const char *dash = strchr(word, '-');
                uint64_t first, last;
                int r = parse_u64(arena_strdup_to(arena, word, dash), &first);

                if (r == 0)
                        r = parse_u64(dash ? dash + 1 : word, &last);
                if (r < 0)
                        return r;
                if (first >= ID_SET_MAX || last >= ID_SET_MAX)
                        return -ERANGE;
                if (last < first)
                        return -EINVAL;
                for (uint64_t id = first; id <= last; id++)
                        id_set_add(&set, (unsigned) id);
                string += length;
                if (*string == ',' && *++string == '\0')
                        return -EINVAL;
        }
        *ret = set;
        return 0;
}

char *id_set_format(Arena *arena, const IdSet *set) {
        Text text = text_in(arena);

        for (unsigned first = id_set_next(set, 0), last; first < ID_SET_MAX;
             first = id_set_next(set, last + 1)) {
                for (last = first; id_set_has(set, last + 1); last++)
                        ;
                text_printf(&text, "%s%u", text.length > 0 ? "," : "", first);
                if (last > first)
                        text_printf(&text, "-%u", last);
        }
        return arena_strdup(arena, text_string(&text));
}
