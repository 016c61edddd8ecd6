/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "base/id_set.h"
#include "support/story.h"

PLAIN_VERB(do_set, "set") {
        IdSet set = {}, before;

        id_set_add(&set, 7);
        before = set;
        int r = id_set_parse(story_unescape(line->arena, line->rest), &set);

        if (r < 0) {
                assert_memory_equal(&set, &before, sizeof(set));
                return strerrorname_np(-r);
        }
        const char *text = id_set_format(line->arena, &set);

        assert_int_equal(id_set_is_empty(&set), id_set_count(&set) == 0);
        return arena_printf(line->arena, "%s%s%u", text, *text ? " " : "",
                            (unsigned) id_set_count(&set));
}

STORY_TEST(stories, "unit/base/id_set")

TEST(members) {
        static const unsigned members[] = {0, 1, 63, 64, 65, 127, 128, 1000, 1023};
        IdSet set = {};
        size_t n = 0;

        for (size_t i = 0; i < ARRAY_LEN(members); i++)
                id_set_add(&set, members[i]);
        ID_SET_FOREACH(id, &set) {
                assert_true(n < ARRAY_LEN(members));
                assert_int_equal(id, members[n++]);
        }
        assert_int_equal(n, ARRAY_LEN(members));
        assert_int_equal(id_set_count(&set), ARRAY_LEN(members));
        assert_true(id_set_has(&set, 64));
        assert_false(id_set_has(&set, 62));
        assert_int_equal(id_set_next(&set, 66), 127);
        assert_int_equal(id_set_next(&set, 1023), 1023);
        assert_int_equal(id_set_next(&set, 1024), ID_SET_MAX);
}

/* Out of range: nothing is added or written. */
TEST(out_of_range) {
        IdSet set = {};

        id_set_add(&set, ID_SET_MAX);
        id_set_add(&set, UINT32_MAX);
        assert_true(id_set_is_empty(&set));
        assert_false(id_set_has(&set, ID_SET_MAX));
        assert_false(id_set_has(&set, UINT32_MAX));
        assert_int_equal(id_set_next(&set, UINT32_MAX), ID_SET_MAX);
}

TEST(compare) {
        static const struct {
                const char *a, *b, *common;
                bool is_equal, meets, is_subset;
        } cases[] = {
                {"", "", "", true, false, true},
                {"0", "", "", false, false, false},
                {"", "0", "", false, false, true},
                {"0-3", "0-3", "0-3", true, true, true},
                {"1,3", "0-3", "1,3", false, true, true},
                {"0-3", "1,3", "1,3", false, true, false},
                {"0,64,1023", "63-65", "64", false, true, false},
                {"0-62", "63-1023", "", false, false, false},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                IdSet a, b;

                assert_int_equal(id_set_parse(cases[i].a, &a), 0);
                assert_int_equal(id_set_parse(cases[i].b, &b), 0);
                const IdSet common = id_set_common(&a, &b);

                assert_text(id_set_format(arena, &common), cases[i].common);
                assert_int_equal(id_set_equals(&a, &b), cases[i].is_equal);
                assert_int_equal(id_set_meets(&a, &b), cases[i].meets);
                assert_int_equal(id_set_is_subset(&a, &b), cases[i].is_subset);
        }
}
