/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/name_check.h"

#include "support/testing.h"

/* LENGTH bytes that end with END. */
static const char *long_name(Arena *arena, size_t length, const char *end) {
        size_t n = length - strlen(end);
        Text text = text_in(arena);

        for (size_t i = 0; i < n; i++)
                text_add(&text, "a");
        text_add(&text, end);
        return text_string(&text);
}

/* The ends of each range of characters are allowed, and the characters next to them are not. */
TEST(characters) {
        static const char good[] = "AZaz09", bad[] = "/;[`{!~\x80";

        for (size_t i = 0; good[i]; i++) {
                assert_null(name_check_instance(arena_printf(arena, "%c", good[i])));
                assert_null(name_check_instance(arena_printf(arena, "a%c", good[i])));
                assert_null(name_check_unit(arena_printf(arena, "%c.service", good[i])));
                assert_null(name_check_account(arena_printf(arena, "a%c", good[i])));
        }
        for (size_t i = 0; bad[i]; i++) {
                assert_non_null(name_check_instance(arena_printf(arena, "%c", bad[i])));
                assert_non_null(name_check_instance(arena_printf(arena, "a%c", bad[i])));
                assert_non_null(name_check_unit(arena_printf(arena, "a%c.service", bad[i])));
                assert_non_null(name_check_account(arena_printf(arena, "a%c", bad[i])));
        }
}

TEST(units) {
        static const char *const good[] = {
                "a.service", "a@b.service", "-.service",  "a:b_c.d\\x2d-e.service",
                "_.service", ":.service",   "a@@.service"};
        static const char *const bad[] = {"",           "a",         "a.socket",   ".service",
                                          "a@.service", "@.service", "@a.service", "..service"};

        for (size_t i = 0; i < ARRAY_LEN(good); i++)
                assert_null(name_check_unit(good[i]));
        for (size_t i = 0; i < ARRAY_LEN(bad); i++)
                assert_non_null(name_check_unit(bad[i]));
        assert_null(name_check_unit(long_name(arena, 255, ".service")));
        assert_contains(name_check_unit(long_name(arena, 256, ".service")),
                        "longer than 255 bytes");
        assert_contains(name_check_unit("a@.service"), "this is a template");
        assert_contains(name_check_unit("@a.service"), "no beginning");
        assert_contains(name_check_unit(".a.service"), "no beginning");
}

TEST(instances) {
        static const char *const bad[] = {"_a", ".a", ":a", "@a", "-a", "a\\b", "a b"};

        assert_null(name_check_instance("a_b.c:d@e-f"));
        for (size_t i = 0; i < ARRAY_LEN(bad); i++)
                assert_non_null(name_check_instance(bad[i]));
        assert_contains(name_check_instance(""), "empty");
        assert_null(name_check_instance(long_name(arena, 64, "")));
        assert_contains(name_check_instance(long_name(arena, 65, "")), "longer than 64 bytes");
}

/* A number is a name. Text that only begins like a name is none. */
TEST(accounts) {
        static const char *const good[] = {"a", "_a", "0", "1000", "a9", "a.b-c_d", "9"};
        static const char *const bad[] = {".a", "-a", "9a", "0a", "a:b", "a@b", "-1"};

        for (size_t i = 0; i < ARRAY_LEN(good); i++)
                assert_null(name_check_account(good[i]));
        for (size_t i = 0; i < ARRAY_LEN(bad); i++)
                assert_contains(name_check_account(bad[i]), "begins with a letter or _");
        assert_contains(name_check_account(""), "1 to 31 bytes");
        assert_null(name_check_account(long_name(arena, 31, "")));
        assert_contains(name_check_account(long_name(arena, 32, "")), "1 to 31 bytes");
}
