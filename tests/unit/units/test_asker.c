/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* As whom a database is asked, as far as the files tell of it that the generator has. */

#include "support/sources.h"
#include "support/testing.h"
#include "units/asker.h"

static const char *user_of(Arena *arena, const char *unit, const char *text) {
        const Sources *sources =
                TEST_SOURCES(arena,
                             {.path = "/etc/passwd",
                              .text = "root:x:0:0::/root:/bin/sh\ntoor:x:0:0::/root:/bin/sh\n"
                                      "nobody:x:65534:65534::/:/bin/sh\n"
                                      "wheel:x:9:0::/:/bin/sh\nmysql:x:107:115::/:/bin/sh\n"
                                      "db:x:1000:1000::/:/bin/sh\n"},
                             {.path = "/etc/systemd/system/x@.service", .text = unit});
        const Config *config =
                config_make(arena, "a.conf",
                            arena_printf(arena, "[Instance]\nUnit=x@1.service\n%s", text), NULL);
        const Dropins dropins = askers_make(arena, config, sources);

        if (dropins.n == 0)
                return NULL;
        assert_int_equal(dropins.n, 1);
        assert_text(dropins.items[0].unit, "hugeplan-ask@a.service");
        const char *user = strstr(dropins.items[0].text, "\n[Service]\nDynamicUser=no\nUser=");

        assert_non_null(user);
        return strstr(user, "User=no\nUser=") + strlen("User=no\nUser=");
}

static void test_order(void **state) {
        const char *unit = "[Service]\nUser=db\n";

        assert_text(user_of(*state, unit, "Engine=mysql\nUser=other\n"), "other\n");
        assert_text(user_of(*state, unit, "Engine=mysql\n"), "db\n");
        assert_text(user_of(*state, "[Service]\n", "Engine=mysql\n"), "mysql\n");
        assert_text(user_of(*state, "[Service]\nUser=%i\n", "Engine=mysql\nUser=1000\n"), "1000\n");
        /* No such account, and an engine that has no usual user. */
        assert_null(user_of(*state, "[Service]\n", "Engine=postgresql\n"));
        assert_null(user_of(*state, "[Service]\n", "Engine=jvm\n"));
}

static void test_never_root(void **state) {
        static const char *const names[] = {"root", "0",  "toor",   "wheel", "%n",
                                            "a b",  "00", "nobody", "65534"};

        for (size_t i = 0; i < ARRAY_LEN(names); i++)
                assert_null(user_of(*state, arena_printf(*state, "[Service]\nUser=%s\n", names[i]),
                                    "Engine=mysql\n"));
}

static void test_who_is_asked(void **state) {
        const char *unit = "[Service]\nUser=db\n";

        assert_null(user_of(*state, unit, "Engine=mysql\nMemory=1G\n"));
        assert_null(user_of(*state, unit, "Engine=mysql\nPages=nonsense\n"));
        assert_null(user_of(*state, unit, "Engine=mongodb\n")); /* for its version anybody does */
        /* One that can be asked is, however its size is given. */
        assert_text(user_of(*state, unit, "Engine=postgresql\nMemory=1G\n"), "db\n");
}

/* Who looks goes with the unit, and is stopped before it. */
static void test_who_is_looked_at(void **state) {
        const Config *config = config_make(
                *state, "a.conf", "[Instance]\nPages=1\nUnit=db@15\\x2dmain.service\n", "b.conf",
                "[Instance]\nPages=1\n", "c.conf", "[Instance]\nPages=0\nUnit=c.service\n",
                "d.conf", "[Instance]\nEngine=mongodb\nUnit=d.service\n", NULL);
        const Dropins dropins = lookers_make(*state, config);

        assert_int_equal(dropins.n, 1);
        assert_text(dropins.items[0].unit, "hugeplan-look@a.service");
        assert_contains(dropins.items[0].text, "\n[Unit]\nBindsTo=db@15\\x2dmain.service\n"
                                               "After=db@15\\x2dmain.service\n");
}

TEST_FILE(asker) {
        const struct CMUnitTest tests[] = {
                TEST(test_order),
                TEST(test_never_root),
                TEST(test_who_is_asked),
                TEST(test_who_is_looked_at),
        };

        return RUN_TESTS(tests);
}
