/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What who may look into processes says, on its way to root: all of it arrives, or none. */

#include "demand/seen_json.h"
#include "support/testing.h"

static const InstanceConfig *instance_of(Arena *arena) {
        return config_find(
                config_make(arena, "20-db.conf", "[Instance]\nEngine=postgresql\nUnit=db.service\n",
                            "20-db.conf.d/90-learned.conf",
                            "[Instance]\nPages=2M:600\nX-Version=14.5\nX-Settings=0a\n", NULL),
                "db");
}

static const Topology *topology_of(Arena *arena) {
        static PageSize sizes[] = {{.bytes = GIB}, {.bytes = 2 * MIB}};
        Topology *topology = ARENA_NEW(arena, Topology);

        topology->page_sizes = sizes;
        topology->n_page_sizes = ARRAY_LEN(sizes);
        return topology;
}

static int take(Arena *arena, json_t *json, Seen *ret, bool *ret_is_last) {
        int r = seen_from_json(arena, json, instance_of(arena), topology_of(arena), ret,
                               ret_is_last);

        json_decref(json);
        return r;
}

static void test_round_trip(void **state) {
        Seen seen = {.command = "/usr/bin/db 0123456789abcdef", .is_exact = true, .is_whole = true},
             told = {};
        bool is_last = false;

        *vec_push(*state, &seen.pages) = (PageCount){2 * MIB, 540};
        *vec_push(*state, &seen.pages) = (PageCount){GIB, 3};
        assert_int_equal(take(*state, seen_to_json(*state, &seen, true), &told, &is_last), 0);
        assert_true(is_last);
        assert_true(told.is_exact && told.is_whole);
        assert_text(told.command, seen.command);
        assert_int_equal(told.pages.n, 2);
        assert_int_equal(page_counts_find(&told.pages, 2 * MIB), 540);
        assert_int_equal(page_counts_find(&told.pages, GIB), 3);
        /* For what that holds is not the other side's to say. */
        assert_text(told.unit, "db.service");
        assert_text(told.version, "14.5");
        assert_text(told.settings, "0a");
        assert_int_equal(page_counts_find(&told.base, 2 * MIB), 600);
        /* With small pages alone. */
        seen.pages.n = 0;
        seen.small_tables = (SmallTables){8192, 40, NULL};
        assert_int_equal(take(*state, seen_to_json(*state, &seen, true), &told, &is_last), 0);
        assert_int_equal(told.pages.n, 0);
        assert_int_equal(told.small_tables.bytes, 8192);
        assert_int_equal(told.small_tables.n_processes, 40);
        *vec_push(*state, &seen.pages) = (PageCount){2 * MIB, 540};
        seen.command = NULL;
        seen.is_exact = seen.is_whole = false;
        assert_int_equal(take(*state, seen_to_json(*state, &seen, false), &told, &is_last), 0);
        assert_false(is_last || told.is_exact || told.is_whole);
        assert_null(told.command);
}

#define REST \
        ",\"exact\":true,\"whole\":false,\"command\":null,\"tables\":0,\"processes\":0,\"last\":false}"
#define PAGES "{\"pages\":[{\"pageSizeBytes\":2097152,\"pages\":7}]"

static void test_refusals(void **state) {
        static const char *const bad[] = {
                "{}",
                "[]",
                "{\"pages\":null" REST,
                "{\"pages\":{}" REST,
                "{\"pages\":[]" REST,
                "{\"pages\":[7]" REST,
                "{\"pages\":[{\"pageSizeBytes\":2097152}]" REST,
                "{\"pages\":[{\"pageSizeBytes\":4096,\"pages\":7}]" REST,
                "{\"pages\":[{\"pageSizeBytes\":2097152,\"pages\":0}]" REST,
                "{\"pages\":[{\"pageSizeBytes\":2097152,\"pages\":-7}]" REST,
                "{\"pages\":[{\"pageSizeBytes\":2097152,\"pages\":7.5}]" REST,
                "{\"pages\":[{\"pageSizeBytes\":2097152,\"pages\":4398046511104}]" REST,
                "{\"pages\":[{\"pageSizeBytes\":2097152,\"pages\":7,\"node\":0}]" REST,
                "{\"pages\":[{\"pageSizeBytes\":2097152,\"pages\":7},"
                "{\"pageSizeBytes\":2097152,\"pages\":7}]" REST,
                PAGES ",\"unit\":\"x\"" REST,
                PAGES
                ",\"exact\":1,\"whole\":false,\"command\":null,\"tables\":0,\"processes\":0,\"last\":false}",
                PAGES
                ",\"exact\":true,\"whole\":1,\"command\":null,\"tables\":0,\"processes\":0,\"last\":false}",
                PAGES
                ",\"exact\":false,\"whole\":true,\"command\":null,\"tables\":0,\"processes\":0,\"last\":false}",
                PAGES
                ",\"exact\":true,\"command\":null,\"tables\":0,\"processes\":0,\"last\":false}",
                PAGES
                ",\"exact\":true,\"whole\":false,\"command\":null,\"tables\":0,\"processes\":3,\"last\":false}",
                PAGES
                ",\"exact\":true,\"whole\":false,\"command\":7,\"tables\":0,\"processes\":0,\"last\":false}",
                PAGES
                ",\"exact\":true,\"whole\":false,\"command\":null,\"tables\":0,\"processes\":0,\"last\":0}",
                PAGES
                ",\"exact\":true,\"whole\":false,\"command\":null,\"tables\":0,\"processes\":0}",
        };
        Seen seen = {};
        bool is_last;

        assert_int_equal(take(*state, json_loads(PAGES REST, 0, NULL), &seen, &is_last), 0);
        seen = (Seen){};
        for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
                json_t *json = json_loads(bad[i], 0, NULL);

                assert_non_null(json);
                assert_int_equal(take(*state, json, &seen, &is_last), -EINVAL);
                assert_int_equal(seen.pages.n, 0);
        }
}

/* It cannot begin a line of its own in the file, nor make that grow. */
static void test_command(void **state) {
        char *command = arena_printf(*state, "%0*d", 200, 7);
        Seen seen = {}, told = {};
        bool is_last;

        *vec_push(*state, &seen.pages) = (PageCount){2 * MIB, 1};
        seen.command = command;
        assert_int_equal(take(*state, seen_to_json(*state, &seen, false), &told, &is_last), 0);
        seen.command = arena_printf(*state, "%s0", command);
        assert_int_equal(take(*state, seen_to_json(*state, &seen, false), &told, &is_last),
                         -EINVAL);
        seen.command = "x\nPages=2M:99999";
        assert_int_equal(take(*state, seen_to_json(*state, &seen, false), &told, &is_last), 0);
        assert_null(strchr(told.command, '\n'));
}

TEST_FILE(seen_json) {
        const struct CMUnitTest tests[] = {
                TEST(test_round_trip),
                TEST(test_refusals),
                TEST(test_command),
        };

        return RUN_TESTS(tests);
}
