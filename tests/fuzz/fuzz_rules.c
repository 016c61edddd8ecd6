/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The files that `hugeplanctl check` reads: limits, groups, units, files of databases; packed as in support/sources.h.
 * "/sysctl" is a file of sysctl.d. The first byte ('0' to '5') selects the engine of the only instance, because several
 * take much longer.
 *
 * Conditions: the function returns, findings have an identifier of the table and printable texts, they are sorted, and
 * they can be rendered as text and as JSON. */

#include "base/text.h"
#include "check/host_facts.h"
#include "check/rules.h"
#include "fuzz/fuzz.h"
#include "render/views.h"
#include "support/gatherer.h"
#include "support/sources.h"
#include "support/testing.h"
#include "units/loaded_unit.h"

static const struct {
        const char *file, *lines;
} instances[] = {
        {"20-pg.conf", "Engine=postgresql\nUnit=postgresql@15-main.service\nPages=1081\n"},
        {"30-db.conf", "Engine=oracle\nUnit=oracle.service\nPages=4101\n"},
        {"40-maria.conf", "Engine=mariadb\nPages=512\n"},
        {"50-my.conf", "Engine=mysql\nUnit=mysql.service\nPages=6336\n"},
        {"60-pg-b.conf", "Engine=postgresql\nUnit=postgresql@15-man.service\nPages=10\n"},
        {"70-maria-b.conf", "Engine=mariadb\nUnit=mariadb@b.service\nPages=10\n"},
};

/* The part that does not depend on the input, made once. */
typedef struct Host {
        const Config *config;
        const Topology *topology;
        const Plan *plan;
        Ledger *ledger;
        HostUse use;
} Host;

static const Host *find_host(size_t which) {
        static Host hosts[ARRAY_LEN(instances)];
        Host *host = &hosts[which];

        if (host->config)
                return host;
        Arena *lasting = fuzz_lasting();
        Topology *topology = host_make(lasting,
                                       "sizes 1G 2M\nnode 0 total=64G free=60G 1G=1/1/0 2M=0/0/0\n"
                                       "node 1 total=64G free=60G 1G=0/0/0 2M=0/0/0\nthp always\n");

        topology->limits = (KernelLimits){32 * MIB, 8192, 54322};
        host->topology = topology;
        host->config = config_make(
                lasting, "00-host.conf", "[Host]\nTransparentHugePages=keep\nSilenceRules=pg-off\n",
                instances[which].file,
                arena_printf(lasting, "[Instance]\n%s", instances[which].lines), NULL);
        host->ledger = ledger_new(lasting, topology->boot_id);
        host->plan = plan_with(lasting, host->config, topology, host->ledger, NULL);
        return host;
}

static Figures make_figures(Arena *arena, const Config *config, const Topology *topology,
                            const Sources *sources) {
        const SourcesGatherer here = figures_gatherer(sources);
        Figures figures = {};

        for (size_t i = 0; i < config->n_instances; i++)
                if (config->instances[i].engine->has_auto)
                        figures_add(arena, &config->instances[i], topology, &here.gatherer,
                                    &figures);
        return figures;
}

static void check_text(const char *text) {
        require(!text || (text_is_utf8(text, strlen(text)) && !strpbrk(text, "\033\r\n\t")));
}

static void check_findings(const FindingList *list) {
        bool is_rest = false;

        VEC_FOREACH(finding, list) {
                bool is_first = finding->diag.severity == SEVERITY_ERROR ||
                                rule_hurts(&finding->diag);

                require(rule_may_be_silenced(finding->diag.id) && finding->diag.remedy);
                check_text(finding->diag.file);
                check_text(finding->diag.key);
                check_text(finding->diag.text);
                check_text(finding->diag.remedy);
                require(!is_first || !is_rest);
                is_rest = !is_first;
        }
}

/* The plan and the generated drop-ins for these files. */
static const Overlay *make_after(Arena *arena, const Sources *sources, const Config *config,
                                 const Plan *plan, const Topology *topology,
                                 const Accounts *accounts) {
        Diags ignored = diags_in(arena);
        HostPlan *host = ARENA_NEW(arena, HostPlan);
        Dropins *dropins = ARENA_NEW(arena, Dropins);
        Overlay *after = ARENA_NEW(arena, Overlay);

        *host = host_plan_make(
                arena,
                &(HostPlanInput){
                        .config = config, .plan = plan, .topology = topology, .accounts = accounts},
                &ignored);
        *dropins = dropins_make(
                arena, &(DropinInput){.config = config,
                                      .ctl = "hugeplanctl",
                                      .has_group = account_find_group(arena, accounts, "hugetlb")});
        *after = host_after(arena, sources, config, plan, &host->writes, dropins);
        return after;
}

static const SettingSources *make_setting_sources(Arena *arena, const Sources *sources,
                                                  const Topology *topology) {
        SettingSources *setting_sources = setting_sources_new(arena, topology);
        SourceText text = source_read(sources, arena, "/sysctl");

        if (text.text)
                setting_sources_add_file(
                        setting_sources,
                        &(SettingSourceFile){SETTING_SOURCE_SYSCTL, "/etc/sysctl.d/99.conf", text});
        setting_sources_finish(setting_sources);
        return setting_sources;
}

static void judge_units(Arena *arena, const Sources *sources, const Config *config,
                        const Plan *plan, const HostFacts *facts, Diags *problems) {
        const UnitSearch search = unit_search(sources);
        const LoadedUnitInput input = {
                .config = config,
                .plan = plan,
                .search = &search,
        };
        LoadedUnits units = {};

        for (size_t i = 0; i < facts->n_instances; i++)
                if (facts->instances[i].unit)
                        *vec_push(arena, &units) =
                                unit_search_loaded(arena, facts->instances[i].unit->name,
                                                   facts->instances[i].unit->file);
        VEC_FOREACH(unit, &units)
                loaded_unit_judge_state(config, &search, unit, problems);
        unit_match_judge(arena, &input, &units, problems);
}

FUZZ(arena, data, size) {
        const Sources *sources = test_sources_unpack(arena, data, size);
        const Host *host = find_host(size > 0 ? data[0] % ARRAY_LEN(instances) : 0);
        const Config *config = host->config;
        const Topology *topology = host->topology;
        const Plan *plan = host->plan;
        Diags problems = diags_in(arena);
        ThpPlan thp = thp_plan_make(arena, config, topology, 0, &problems);
        Figures figures = make_figures(arena, config, topology, sources);
        Accounts accounts = accounts_read(arena, sources);
        const Overlay *after = make_after(arena, sources, config, plan, topology, &accounts);
        HostFacts *facts = host_facts_read(arena, &after->sources, config, topology, &figures);
        const SettingSources *setting_sources = make_setting_sources(arena, sources, topology);

        judge_units(arena, sources, config, plan, facts, &problems);
        conflicts_add(arena,
                      &(HostView){.config = config,
                                  .topology = topology,
                                  .plan = plan,
                                  .thp = &thp,
                                  .facts = facts,
                                  .accounts = &accounts,
                                  .setting_sources = setting_sources},
                      &problems);
        const HostView input = {
                .config = config,
                .topology = topology,
                .plan = plan,
                .ledger = host->ledger,
                .use = &host->use,
                .thp = &thp,
                .figures = &figures,
                .facts = facts,
                .page_users = &(PageUsers){},
                .setting_sources = setting_sources,
        };
        Findings findings = rules_judge(arena, &input, &problems);
        json_t *json = findings_to_json(&findings);

        check_findings(&findings.list);
        require(json_array_size(json_object_get(json, "problems")) == findings.list.n);
        json_decref(json);
        render_findings(arena, &findings, &(RenderOptions){});
}
