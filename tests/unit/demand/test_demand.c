/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "base/size.h"
#include "support/testing.h"

static const char two_nodes[] = "sizes 1G 2M\n"
                                "node 0 total=16G free=15G\n"
                                "node 1 total=16G free=15G\n";

static const DemandInstance *demand_of(Arena *arena, const char *host, const char *lines) {
        const Config *config = config_line(arena, "pg %s", lines);
        const Demand *demand = demand_compute(arena, config, host_make(arena, host), NULL);

        assert_text(problems_text(arena, &config->problems), "");
        assert_int_equal(demand->n_instances, 1);
        return &demand->instances[0];
}

static void assert_reason(const DemandInstance *demand, ReasonKind kind, const char *text) {
        assert_text(reason_id(demand->reason.kind), reason_id(kind));
        assert_contains(demand->reason.text, text);
        assert_non_null(demand->reason.remedy);
        assert_int_equal(demand->n_options, 0);
}

/* Memory= is the engine's own setting: PostgreSQL needs more than its shared_buffers. */
TEST(engine_rule) {
        const DemandInstance *demand = demand_of(arena, two_nodes, "Engine=postgresql\nMemory=1G");

        assert_true(demand->options[0].pages > 512);
        assert_true(demand->options[0].sizing.steps.n > 1);
        assert_text(demand->options[0].sizing.steps.items[0].what, "shared_buffers");
}

/* The unit's name tells the version, and explain says so. */
TEST(version_of_unit) {
        const DemandOption *any =
                demand_of(arena, two_nodes, "Engine=postgresql\nMemory=4G\nUnit=pg.service")
                        ->options;
        const DemandOption *named = demand_of(arena, two_nodes,
                                              "Engine=postgresql\nMemory=4G\n"
                                              "Unit=postgresql@10-main.service")
                                            ->options;

        assert_true(named->pages < any->pages);
        assert_contains(
                named->sizing.caveat,
                "for version 10, as in the name of postgresql@10-main.service: an upper bound");
        assert_contains(any->sizing.caveat, "an upper bound");
}

/* ---- Memory=auto ---- */

static Figure figure_of(const char *instance, uint64_t page_size_bytes, uint64_t pages) {
        return (Figure){
                .instance = instance,
                .sizing = {.page_size_bytes = page_size_bytes, .pages = pages, .caveat = "found"}};
}

static const DemandInstance *automatic(Arena *arena, const char *learned, const Figures *figures) {
        const Config *config = config_make(
                arena, "pg.conf", "[Instance]\nEngine=postgresql\nMemory=auto\nUnit=pg.service\n",
                "pg.conf.d/90-learned.conf", arena_printf(arena, "[Instance]\n%s\n", learned),
                NULL);

        assert_text(problems_text(arena, &config->problems), "");
        return &demand_compute(arena, config, host_make(arena, two_nodes), figures)->instances[0];
}

/* A figure belongs to one instance and one page size. Without figures there is no plan. */
TEST(figures) {
        Figures figures = {};
        const DemandInstance *demand = automatic(arena, "", NULL);

        assert_reason(demand, REASON_SIZE_UNKNOWN, "nothing was learned at an earlier start");
        assert_contains(demand->reason.remedy, "start pg.service");
        *vec_push((Arena *) arena, &figures) = figure_of("other", 2 * MIB, 50);
        *vec_push((Arena *) arena, &figures) = figure_of("pg", GIB, 3);
        assert_reason(automatic(arena, "", &figures), REASON_SIZE_UNKNOWN, "nothing was learned");
        *vec_push((Arena *) arena, &figures) = figure_of("pg", 2 * MIB, 120);
        demand = automatic(arena, "", &figures);
        assert_int_equal(demand->options[0].pages, 120);
        assert_text(demand->options[0].sizing.caveat, "found");
}

/* A reason for a missing figure applies to all page sizes. */
TEST(wrong_figure) {
        Figures figures = {};
        Figure *wrong = vec_push((Arena *) arena, &figures);

        *wrong = (Figure){.instance = "other", .wrong = "of another one"};
        assert_reason(automatic(arena, "", &figures), REASON_SIZE_UNKNOWN, "nothing was learned");
        *wrong = (Figure){.instance = "pg",
                          .wrong = "it has no files",
                          .gathered = &(Gathered){.remedy = "make some"}};
        const DemandInstance *demand = automatic(arena, "", &figures);

        assert_reason(demand, REASON_SIZE_UNKNOWN, "its size is not known yet: it has no files");
        assert_text(demand->reason.remedy, "make some");
}

/* Learned pages are used if no figure is better, even a single page. */
TEST(learned) {
        Figures figures = {};
        const DemandInstance *demand =
                automatic(arena, "Pages=2M:1\nX-Exact=no\nX-Rule=2M:1", &figures);

        assert_int_equal(demand->options[0].pages, 1);
        assert_false(demand->options[0].sizing.is_exact);
        assert_contains(demand->options[0].sizing.caveat, "Learned at the last start");
        assert_true(automatic(arena, "Pages=2M:1\nX-Exact=yes\nX-Rule=2M:1", &figures)
                            ->options[0]
                            .sizing.is_exact);
        *vec_push((Arena *) arena, &figures) = (Figure){.instance = "pg", .wrong = "unknown now"};
        assert_int_equal(automatic(arena, "Pages=2M:70\nX-Exact=yes\nX-Rule=2M:70", &figures)
                                 ->options[0]
                                 .pages,
                         70);
        figures.items[0] = figure_of("pg", 2 * MIB, 120);
        assert_int_equal(automatic(arena, "Pages=2M:70\nX-Exact=yes\nX-Rule=2M:70", &figures)
                                 ->options[0]
                                 .pages,
                         120);
}

/* ---- what else limits it ---- */

TEST(refused_file) {
        const Config *config = config_line(arena, "pg Memory=x; ok Pages=1");
        const Demand *demand = demand_compute(arena, config, host_make(arena, two_nodes), NULL);

        assert_text(demand->instances[0].config->name, "ok");
        assert_int_equal(demand->instances[0].reason.kind, REASON_NONE);
        assert_reason(&demand->instances[1], REASON_CONFIG,
                      "/etc/hugeplan.d/pg.conf:2: Memory: 'x' is not valid here");
}
