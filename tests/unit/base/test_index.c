/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/index.h"
#include "support/testing.h"

TEST(finds_by_name) {
        Index *index = index_new(arena);
        static const int values[] = {1, 2, 3};

        assert_null(index_find(index, "a"));
        index_add(index, "a", &values[0]);
        index_add(index, "b", &values[1]);
        index_add(index, NULL, &values[2]);
        assert_ptr_equal(index_find(index, "a"), &values[0]);
        assert_ptr_equal(index_find(index, "b"), &values[1]);
        assert_null(index_find(index, "c"));
        assert_null(index_find(index, NULL));
}

/* While it grows, too. */
TEST(keeps_the_order_of_one_name) {
        Index *index = index_new(arena);
        enum { NAMES = 100, ROUNDS = 3 };
        char *names[NAMES];

        for (size_t round = 0; round < ROUNDS; round++)
                for (size_t i = 0; i < NAMES; i++) {
                        names[i] = arena_printf(arena, "db%zu", i);
                        index_add(index, names[i], arena_printf(arena, "%zu of %zu", round, i));
                }
        for (size_t i = 0; i < NAMES; i++) {
                size_t round = 0;

                INDEX_FOREACH(entry, index, names[i])
                        assert_string_equal(entry->value,
                                            arena_printf(arena, "%zu of %zu", round++, i));
                assert_int_equal(round, ROUNDS);
        }
}

TEST(is_made_of_an_array) {
        const char *names[] = {"b", NULL, "a", "b"};
        const Index *index = INDEX_OF(arena, name, names, ARRAY_LEN(names), *name);

        assert_ptr_equal(index_find(index, "a"), &names[2]);
        assert_ptr_equal(index_entry(index, "b")->next->value, &names[3]);
}
