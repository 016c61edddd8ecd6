/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/fit.h"

#include "base/size.h"
#include "support/testing.h"

static Settings settings_of(Arena *arena, const char *name, const char *value) {
        Settings settings = {};

        if (name)
                settings_add(arena, &settings, name, value, "postgresql.conf:1");
        return settings;
}

/* The value fits, and a mebibyte more does not. */
static void assert_largest(Arena *arena, const Engine *engine, const Settings *settings,
                           uint64_t page_size_bytes, uint64_t pages) {
        Settings more = {};
        Sizing sizing;
        Fit fit = {};

        assert_null(fit_setting(arena, engine, settings, page_size_bytes, pages, &fit));
        assert_true(fit.sizing.pages <= pages);
        VEC_FOREACH(setting, settings)
                *vec_push(arena, &more) = *setting;
        settings_add(arena, &more, engine->memory_setting,
                     arena_printf(arena, "%" PRIu64 "%s", fit.value_bytes / MIB + 1,
                                  engine->mebibyte_suffix),
                     "more");
        assert_null(engine->size(arena, &more, page_size_bytes, &sizing));
        assert_true(sizing.pages > pages);
}

static void test_largest(void **state) {
        static const uint64_t pages[] = {300, 1081, 66913, 1000000};

        for (size_t i = 0; i < n_engines; i++)
                for (size_t k = 0; engines[i]->memory_setting && k < ARRAY_LEN(pages); k++) {
                        Settings settings = {};

                        assert_largest(*state, engines[i], &settings, 2 * MIB, pages[k]);
                }
}

/* Other settings take their part first. */
static void test_other_settings(void **state) {
        const Engine *engine = engine_find("postgresql");
        Settings few = settings_of(*state, "max_connections", "100");
        Settings many = settings_of(*state, "max_connections", "5000");
        Fit with_few, with_many;

        assert_null(fit_setting(*state, engine, &few, 2 * MIB, 2000, &with_few));
        assert_null(fit_setting(*state, engine, &many, 2 * MIB, 2000, &with_many));
        assert_true(with_many.value_bytes + 300 * MIB < with_few.value_bytes);
        assert_text(with_few.setting, "shared_buffers");
        assert_text(with_few.value,
                    arena_printf(*state, "%" PRIu64 "MB", with_few.value_bytes / MIB));
}

static void test_nothing_fits(void **state) {
        const Engine *engine = engine_find("postgresql");
        Settings settings = {}, wrong = settings_of(*state, "max_connections", "many");
        Fit fit = {.value = "untouched"};

        assert_text(fit_setting(*state, engine, &settings, 2 * MIB, 3, &fit),
                    "PostgreSQL does not fit into 3 pages of 2M at any size");
        assert_contains(fit_setting(*state, engine, &wrong, 2 * MIB, 3000, &fit),
                        "max_connections (postgresql.conf:1)");
        assert_contains(fit_setting(*state, engine_find("generic"), &settings, 2 * MIB, 3, &fit),
                        "has no setting");
        assert_text(fit.value, "untouched");
}

static PlanInput input_of(Arena *arena, const Config *config, const Topology *host) {
        Ledger *ledger = ledger_new(arena, "");

        ledger_observe(arena, ledger, host, NULL);
        return (PlanInput){&config->host, demand_compute(arena, config, host, NULL), host, ledger,
                           NULL};
}

/* What the plan gives whole, and not a page more; nobody else may lose by it. */
static void test_pages(void **state) {
        const Topology *host =
                host_make(*state, "sizes 2M\nnode 0 total=10G free=8G\nnode 1 total=10G free=8G\n");
        const Config *alone = config_make(*state, "20-a.conf", "[Instance]\nPages=10\n", NULL);
        const Config *two = config_make(*state, "20-a.conf", "[Instance]\nPages=10\nPriority=90\n",
                                        "30-b.conf", "[Instance]\nPages=1000\n", NULL);
        const Config *bound = config_make(*state, "20-a.conf",
                                          "[Instance]\nPages=10\nPlacement=bind\nNodes=1\n", NULL);
        PlanInput input = input_of(*state, alone, host);
        uint64_t pages = fit_pages(*state, &input, "a", 2 * MIB);

        /* 10 % of 10G are kept free on each. */
        assert_int_equal(pages, 2 * (uint64_t) (7 * GIB / (2 * MIB)));
        input = input_of(*state, two, host);
        assert_int_equal(fit_pages(*state, &input, "a", 2 * MIB), pages - 1000);
        input = input_of(*state, bound, host);
        assert_int_equal(fit_pages(*state, &input, "a", 2 * MIB), pages / 2);
        assert_int_equal(fit_pages(*state, &input, "nobody", 2 * MIB), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(test_largest),
                TEST(test_other_settings),
                TEST(test_nothing_fits),
                TEST(test_pages),
        };

        return RUN_TESTS(tests);
}
