/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/parameters.h"
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

        assert_null(fit_setting(arena, engine, engine_formula(engine), settings, page_size_bytes,
                                pages, &fit));
        assert_true(fit.sizing.pages <= pages);
        VEC_FOREACH(setting, settings)
                *vec_push(arena, &more) = *setting;
        settings_add(arena, &more, engine->memory_setting,
                     arena_printf(arena, "%" PRIu64 "%s", fit.value_bytes / MIB + 1,
                                  engine->mebibyte_suffix),
                     "more");
        assert_null(engine_size(engine, arena, &more, page_size_bytes, &sizing));
        assert_true(sizing.pages > pages);
}

TEST(largest) {
        static const uint64_t pages[] = {300, 1081, 66913, 1000000};

        for (size_t i = 0; i < n_engines; i++)
                for (size_t k = 0; engines[i]->memory_setting && k < ARRAY_LEN(pages); k++) {
                        Settings settings = {};

                        assert_largest(arena, engines[i], &settings, 2 * MIB, pages[k]);
                }
}

/* Other settings need their part first. */
TEST(other_settings) {
        const Engine *engine = engine_find("postgresql");
        Settings few = settings_of(arena, "max_connections", "100");
        Settings many = settings_of(arena, "max_connections", "5000");
        Fit with_few, with_many;

        assert_null(
                fit_setting(arena, engine, engine_formula(engine), &few, 2 * MIB, 2000, &with_few));
        assert_null(fit_setting(arena, engine, engine_formula(engine), &many, 2 * MIB, 2000,
                                &with_many));
        assert_true(with_many.value_bytes + 300 * MIB < with_few.value_bytes);
        assert_text(with_few.value,
                    arena_printf(arena, "%" PRIu64 "MB", with_few.value_bytes / MIB));
}

TEST(nothing_fits) {
        const Engine *engine = engine_find("postgresql");
        Settings settings = {}, wrong = settings_of(arena, "max_connections", "many");
        Fit fit = {.value = "untouched"};

        assert_text(fit_setting(arena, engine, engine_formula(engine), &settings, 2 * MIB, 3, &fit),
                    "PostgreSQL does not fit into 3 pages of 2M at any size");
        assert_contains(
                fit_setting(arena, engine, engine_formula(engine), &wrong, 2 * MIB, 3000, &fit),
                "max_connections (postgresql.conf:1)");
        assert_contains(fit_setting(arena, engine_find("generic"),
                                    engine_formula(engine_find("generic")), &settings, 2 * MIB, 3,
                                    &fit),
                        "has no setting");
        assert_text(fit.value, "untouched");
}

/* ---- at the edges ---- */

/* Engines that need exactly what their setting says; "plain" needs 3M more, and a setting of at least 2M. */
static const char *add_own(const Settings *settings, uint64_t more_mebibytes, Sizing *sizing) {
        uint64_t mebibytes = strtoull(settings->items[settings->n - 1].value, NULL, 10);

        if (mebibytes < (more_mebibytes > 0 ? 2 : 0))
                return "less than 2M";
        sizing->bytes = (mebibytes + more_mebibytes) * MIB;
        return NULL;
}

static const char *add_plainly(Arena *arena, const Settings *settings, const ParameterValue *values,
                               Sizing *sizing) {
        (void) arena;
        (void) values;
        return add_own(settings, 3, sizing);
}

static const char *add_exactly(Arena *arena, const Settings *settings, const ParameterValue *values,
                               Sizing *sizing) {
        (void) arena;
        (void) values;
        return add_own(settings, 0, sizing);
}

static const ParameterTable any = {};
static const Engine plain = {.title = "Plain", .memory_setting = "pool", .mebibyte_suffix = "M"};
static const EngineFormula sizes_plainly = {add_plainly, &any};
static const Engine exact = {.title = "Exact", .memory_setting = "pool", .mebibyte_suffix = "M"};
static const EngineFormula sizes_exactly = {add_exactly, &any};

/* From a single mebibyte to all pages. */
TEST(edges) {
        const Settings settings = {};
        Fit fit = {};

        assert_null(fit_setting(arena, &exact, &sizes_exactly, &settings, 2 * MIB, 10, &fit));
        assert_text(fit.value, "20M");
        assert_int_equal(fit.value_bytes, 20 * MIB);
        assert_int_equal(fit.sizing.pages, 10);
        assert_null(fit_setting(arena, &exact, &sizes_exactly, &settings, MIB, 1, &fit));
        assert_text(fit.value, "1M");
        assert_text(fit_setting(arena, &exact, &sizes_exactly, &settings, 2 * MIB, 0, &fit),
                    "Exact does not fit into 0 pages of 2M at any size");
        assert_null(fit_setting(arena, &plain, &sizes_plainly, &settings, MIB, 5, &fit));
        assert_text(fit.value, "2M");
}

/* The value need not be too small for the engine: the problem is that a large one does not fit. */
TEST(too_small_for_engine) {
        const Settings settings = {};
        Fit fit = {};

        assert_text(fit_setting(arena, &plain, &sizes_plainly, &settings, MIB, 4, &fit),
                    "Plain does not fit into 4 pages of 1M at any size");
        assert_text(fit_setting(arena, &plain, &sizes_plainly, &settings, MIB, 0, &fit),
                    "Plain does not fit into 0 pages of 1M at any size");
}

/* ---- what the host could give ---- */

static PlanInput input_of(Arena *arena, const Config *config, const Topology *host) {
        Ledger *ledger = ledger_new(arena, "");

        ledger_observe(arena, ledger, host, NULL);
        return (PlanInput){&config->host, demand_compute(arena, config, host, NULL), host, ledger,
                           NULL};
}

/* What the plan grants whole, and not a page more, without another instance losing by it. */
TEST(pages) {
        const Topology *host =
                host_make(arena, "sizes 2M\nnode 0 total=10G free=8G\nnode 1 total=10G free=8G\n");
        const Config *alone = config_line(arena, "20-a Pages=10");
        const Config *two = config_line(arena, "20-a Pages=10 Priority=90; 30-b Pages=1000");
        const Config *bound = config_line(arena, "20-a Pages=10 Placement=bind Nodes=1");
        PlanInput input = input_of(arena, alone, host);
        uint64_t pages = fit_pages(arena, &input, "a", 2 * MIB);

        /* 10 % of 10G are kept free on each. */
        assert_int_equal(pages, 2 * (uint64_t) (7 * GIB / (2 * MIB)));
        input = input_of(arena, two, host);
        assert_int_equal(fit_pages(arena, &input, "a", 2 * MIB), pages - 1000);
        input = input_of(arena, bound, host);
        assert_int_equal(fit_pages(arena, &input, "a", 2 * MIB), pages / 2);
        assert_int_equal(fit_pages(arena, &input, "nobody", 2 * MIB), 0);
}

/* The question changes nothing. */
TEST(demand_is_not_changed) {
        const Topology *host = host_make(arena, "sizes 2M\nnode 0 total=10G free=8G\n");
        const Config *config = config_line(arena, "a Pages=10");
        const PlanInput input = input_of(arena, config, host);

        assert_int_equal(fit_pages(arena, &input, "a", 2 * MIB), 7 * GIB / (2 * MIB));
        assert_int_equal(input.demand->instances[0].n_options, 1);
        assert_int_equal(input.demand->instances[0].options[0].pages, 10);
}

/* Of the requested page size, even if another size, or none, serves the instance today. */
TEST(pages_of_another_size) {
        const Topology *host = host_make(arena, "sizes 1G 2M\nnode 0 total=10G free=8G\n");
        static const char *const lines[] = {"Memory=1G\nPageSize=1G,2M", "Memory=1G\nPageSize=64K"};

        for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
                const Config *config = config_line(arena, "a %s", lines[i]);
                const PlanInput input = input_of(arena, config, host);

                assert_int_equal(fit_pages(arena, &input, "a", 2 * MIB), 7 * GIB / (2 * MIB));
                assert_int_equal(fit_pages(arena, &input, "a", GIB), 7);
        }
}

/* From no page to all memory, with all of it in the pool. */
TEST(pages_of_full_hosts) {
        const Config *config = config_line(arena, "a Pages=1");
        PlanInput input =
                input_of(arena, config, host_make(arena, "sizes 2M\nnode 0 total=10G free=10M\n"));

        assert_int_equal(fit_pages(arena, &input, "a", 2 * MIB), 0);
        input = input_of(arena, config,
                         host_make(arena, "sizes 2M\nnode 0 total=20M free=0 2M=10\n"));
        assert_int_equal(fit_pages(arena, &input, "a", 2 * MIB), 10);
}
