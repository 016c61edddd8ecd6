/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What `hugeplanctl check` reads of a host: limits, groups, units, databases' own files; packed as
 * support/sources.h says. "/alert" is the end of Oracle's alert log.
 *
 * Whatever they hold: it ends, findings have an id that the table has and texts that can be printed,
 * they are in order, and they can be shown as text and as JSON. */

#include "base/text.h"
#include "render/render_findings.h"
#include "support/sources.h"
#include "support/testing.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
        if (!holds)
                abort();
}

static const Config *make_config(Arena *arena) {
        return config_make(
                arena, "00-host.conf", "[Host]\nTransparentHugePages=keep\nSilenceRules=pg-dash\n",
                "20-pg.conf",
                "[Instance]\nEngine=postgresql\nUnit=postgresql@15-main.service\nPages=1081\n",
                "30-db.conf", "[Instance]\nEngine=oracle\nUnit=oracle.service\nPages=4101\n",
                "40-maria.conf", "[Instance]\nEngine=mariadb\nPages=512\n", "50-my.conf",
                "[Instance]\nEngine=mysql\nUnit=mysql.service\nPages=6336\n", NULL);
}

static Figures make_figures(Arena *arena, const Config *config, const Topology *topology,
                            const Sources *sources) {
        Figures figures = {};

        for (size_t i = 0; i < config->n_instances; i++)
                if (config->instances[i].engine->gather)
                        figures_add(arena, &config->instances[i], topology, sources, &figures);
        return figures;
}

static void check_text(const char *text) {
        require(!text || (text_is_utf8(text, strlen(text)) && !strpbrk(text, "\033\r\n\t")));
}

static void check_findings(const FindingList *list) {
        const Finding *last = NULL;

        VEC_FOREACH(finding, list) {
                require(rule_may_be_silenced(finding->diag.id) && finding->diag.remedy);
                check_text(finding->diag.file);
                check_text(finding->diag.key);
                check_text(finding->diag.text);
                check_text(finding->diag.remedy);
                require(!last || last->diag.severity <= finding->diag.severity);
                last = finding;
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const Sources *sources = test_sources_unpack(arena, data, size);
        const Config *config = make_config(arena);
        Topology *topology = host_make(arena,
                                       "sizes 1G 2M\nnode 0 total=64G free=60G 1G=1/1/0 2M=0/0/0\n"
                                       "node 1 total=64G free=60G 1G=0/0/0 2M=0/0/0\nthp always\n");
        Diags problems = diags_in(arena);
        Plan *plan = plan_simple(arena, config, topology);
        ThpPlan thp = thp_plan_make(arena, config, topology, 0, &problems);
        Figures figures = make_figures(arena, config, topology, sources);
        HostFacts *facts = host_facts_read(arena, sources, config, topology, &figures);
        SourceText alert = source_read(sources, arena, "/alert");

        if (alert.text)
                host_facts_add_alert(arena, facts, "DB", "/alert", &alert);
        const RuleInput input = {
                .config = config,
                .topology = topology,
                .plan = plan,
                .thp = &thp,
                .figures = &figures,
                .facts = facts,
                .holders = &(Holders){.is_complete = true},
                .boot_line = kernel_line_read(arena, "hugepages=9000", NULL, topology),
                .problems = &(Diags){.arena = arena},
        };
        Findings findings = rules_judge(arena, &input);
        json_t *json = findings_to_json(&findings);

        check_findings(&findings.list);
        require(json_array_size(json_object_get(json, "problems")) == findings.list.n);
        json_decref(json);
        render_findings(arena, &findings, &(RenderOptions){});
        return 0;
}
