/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "support/testing.h"
#include "units/hugetlb_limit.h"

#define HOST "sizes 1G 2M\nnode 0 total=16G free=15G\n"

/* ---- who is limited ---- */

typedef struct Preference {
        const char *a; /* lines of an instance of x.service */
        const char *b; /* of another instance */
        TriState expects;
} Preference;

static const Preference preferences[] = {
        {"Pages=1", NULL, TRI_NO},
        {"Pages=1", "Pages=1", TRI_AUTO}, /* an instance without a unit takes pages, too */
        {"Pages=1", "Pages=1\nUnit=y.service", TRI_AUTO},
        {"Pages=1", "Pages=1\nUnit=x.service", TRI_NO}, /* the same unit */
        {"Pages=1", "Engine=mongodb", TRI_NO},
        {"Engine=mongodb", "Pages=1", TRI_NO},
        {"Pages=1\nIsolate=no", "Pages=1", TRI_NO},
        {"Pages=1\nIsolate=yes", NULL, TRI_YES},
        {"Engine=mongodb\nIsolate=yes", NULL, TRI_YES},
        {"Pages=1\nIsolate=yes", "Pages=1\nUnit=x.service\nIsolate=no", TRI_YES},
        {"Pages=1\nIsolate=yes", "Pages=1\nUnit=x.service", TRI_YES},
        /* Page sizes: "default" may be any. */
        {"Pages=1\nPageSize=1G", "Pages=1\nPageSize=2M", TRI_NO},
        {"Pages=1\nPageSize=1G,2M", "Pages=1\nPageSize=2M", TRI_AUTO},
        {"Pages=1\nPageSize=1G", "Pages=1", TRI_AUTO},
        {"Pages=1", "Pages=1\nPageSize=1G", TRI_AUTO},
        /* The demand of a neighbour's broken file is unknown. */
        {"Pages=1\nPageSize=1G", "Pages=x", TRI_AUTO},
        {"Pages=x\nIsolate=yes", "Pages=1", TRI_NO},
};

TEST(preference) {
        for (size_t i = 0; i < ARRAY_LEN(preferences); i++) {
                const Preference *preference = &preferences[i];
                const char *a =
                        arena_printf(arena, "[Instance]\nUnit=x.service\n%s\n", preference->a);
                const char *b =
                        arena_printf(arena, "[Instance]\n%s\n", preference->b ? preference->b : "");
                const Config *config =
                        config_make(arena, "a.conf", a, preference->b ? "b.conf" : NULL, b, NULL);

                if (hugetlb_limit_preference(config, "x.service") != preference->expects)
                        fail_msg("%s | %s", preference->a, preference->b ? preference->b : "-");
        }
}

/* An instance without a limit leaves its unit without one. */
TEST(preference_of_shared_unit) {
        const Config *config = config_line(
                arena, "a Pages=1 Unit=x.service; b Pages=1 Unit=x.service Isolate=no; c Pages=1 "
                       "Unit=y.service");

        assert_int_equal(hugetlb_limit_preference(config, "x.service"), TRI_NO);
        assert_int_equal(hugetlb_limit_preference(config, "y.service"), TRI_AUTO);
        assert_int_equal(hugetlb_limit_preference(config, "nobody.service"), TRI_NO);
}

/* ---- how many pages ---- */

static const char *limits_text(Arena *arena, const Status *status, const char *unit) {
        PageCounts limits = hugetlb_limit_counts(arena, host_make(arena, HOST), status, unit);
        Text text = text_in(arena);

        VEC_FOREACH(limit, &limits)
                text_printf(&text, "%s%s:%" PRIu64, text.length > 0 ? " " : "",
                            format_page_size(arena, limit->page_size_bytes), limit->pages);
        return text_string(&text);
}

TEST(limits) {
        StatusInstance instances[] = {
                {.name = "a",
                 .unit = "x.service",
                 .page_size_bytes = 2 * MIB,
                 .pages_wanted = 140,
                 .pages_granted = 140},
                {.name = "b",
                 .unit = "x.service",
                 .page_size_bytes = 2 * MIB,
                 .pages_wanted = 60,
                 .pages_granted = 10},
                {.name = "c",
                 .unit = "x.service",
                 .page_size_bytes = GIB,
                 .pages_wanted = 3,
                 .pages_granted = 3},
                {.name = "d", .unit = "y.service", .page_size_bytes = 2 * MIB, .pages_wanted = 7},
                {.name = "e", .page_size_bytes = 2 * MIB, .pages_granted = 99},
        };
        const Status status = {.instances = instances, .n_instances = ARRAY_LEN(instances)};

        /* One limit for a unit's instances. Other page sizes are not allowed at all. */
        assert_text(limits_text(arena, &status, "x.service"), "1G:3 2M:150");
        assert_text(limits_text(arena, &status, "y.service"), "1G:0 2M:0");
        /* Of an unknown unit, nothing. */
        assert_text(limits_text(arena, &status, "z.service"), "");
}

/* hugetlb_cgroup.c, mem_fmt() */
TEST(path) {
        assert_text(hugetlb_limit_path(arena, "/g", 2 * MIB), "/g/hugetlb.2MB.rsvd.max");
        assert_text(hugetlb_limit_path(arena, "/g", 16 * GIB), "/g/hugetlb.16GB.rsvd.max");
        assert_text(hugetlb_limit_path(arena, "/g", 64 * KIB), "/g/hugetlb.64KB.rsvd.max");
        assert_text(hugetlb_limit_path(arena, "/g", 512 * MIB), "/g/hugetlb.512MB.rsvd.max");
}
