/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "base/id_set.h"
#include "support/testing.h"

TEST(parse_and_format) {
        static const struct {
                const char *in, *out;
                unsigned count;
        } cases[] = {
                {"", "", 0},
                {" ", "", 0},
                {"0", "0", 1},
                {"0,2-3", "0,2-3", 3},
                {"0-3", "0-3", 4},
                {"3,2,1,0", "0-3", 4},
                {"0,1", "0-1", 2},
                {"5-5", "5", 1},
                {"0-1, 4 ", "0-1,4", 3},
                {"0-2,1-5", "0-5", 6},
                {"0-2\n", "0-2", 3},
                {"63-64", "63-64", 2},
                {"1023", "1023", 1},
                {"0-1023", "0-1023", 1024},
                {"0,2,4,6", "0,2,4,6", 4},
                {"1,2", "1-2", 2},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                IdSet set;

                if (id_set_parse(cases[i].in, &set) != 0)
                        fail_msg("'%s' is refused", cases[i].in);
                assert_text(id_set_format(arena, &set), cases[i].out);
                assert_int_equal(id_set_count(&set), cases[i].count);
                assert_int_equal(id_set_is_empty(&set), cases[i].count == 0);
        }
}

TEST(refused) {
        static const struct {
                const char *text;
                int r;
        } cases[] = {
                {",", -EINVAL},
                {"0,", -EINVAL},
                {",0", -EINVAL},
                {"0,,1", -EINVAL},
                {"0-", -EINVAL},
                {"-1", -EINVAL},
                {"2-1", -EINVAL},
                {"a", -EINVAL},
                {"0 1", -EINVAL},
                {"0-1-2", -EINVAL},
                {"0x1", -EINVAL},
                {"all", -EINVAL},
                {"1024", -ERANGE},
                {"0-1024", -ERANGE},
                {"1.5", -EINVAL},
                {"0--1", -EINVAL},
                {"18446744073709551616", -ERANGE},
                {"0-4294967296", -ERANGE},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                IdSet set = {}, before;

                id_set_add(&set, 7);
                before = set;
                int r = id_set_parse(cases[i].text, &set);

                if (r != cases[i].r)
                        fail_msg("'%s': %d, not %d", cases[i].text, r, cases[i].r);
                assert_memory_equal(&set, &before, sizeof(set));
        }
}

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

/* Out of range: nothing is added, nothing is there, nothing is written beyond. */
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
