/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `hugeplanctl check`: the linter. Without arguments it judges the whole host by the rules of
 * hugeplan-rules(7), with files only these. Changes nothing. */
#include "base/text.h"
#include "config/config_parse.h"
#include "ctl/verbs.h"
#include "host/config_dirs.h"
#include "host/host_plan_read.h"
#include "host/host_sources.h"
#include "host/log.h"
#include "host/mounts.h"
#include "inspect/alert_logs.h"
#include "inspect/culprits.h"
#include "inspect/holders.h"
#include "model/exit_code.h"
#include "model/names.h"
#include "model/problem.h"
#include "render/render_findings.h"
#include "render/status_json.h"
#include "systemd/dropin_check.h"

#include <stdio.h>

/* ---- files ---- */

static int check_files(Command *command) {
        Diags problems = diags_in(command->arena);

        for (size_t i = 0; i < command->n_arguments; i++) {
                const Config *config = config_parse(
                        command->arena,
                        config_dirs_read_one(command->root, command->arena,
                                             absolute_path(command, command->arguments[i])));

                diags_add_all(&problems, &config->problems);
        }
        if (command->json != JSON_OFF)
                print_json(command, json_pack("{so}", "problems", problems_to_json(&problems)));
        else if (problems.list.n == 0)
                puts("No problems found.");
        else
                fputs(render_problems(command->arena, &problems, &command->render), stdout);
        return diags_count(&problems, SEVERITY_ERROR) > 0 ? EXIT_FAILED : EXIT_AS_WISHED;
}

/* ---- the host ---- */

static void add_no_unit(const InstanceConfig *config, Diags *problems) {
        if (!config->refusal && !config->unit && config->engine->reserves)
                diags_add(problems, &(Diag){.severity = SEVERITY_NOTICE,
                                            .id = problem_id(PROBLEM_NO_UNIT),
                                            .file = config->file,
                                            .key = "Unit",
                                            .text = "no unit waits for this reservation",
                                            .remedy = "name the database's service in Unit="});
}

static void add_no_fence(const InstanceConfig *config, const Reason *no_fence, Diags *problems) {
        if (!config->refusal && config->isolate == TRI_YES && no_fence->kind != REASON_NONE)
                diags_add(problems, &(Diag){.severity = SEVERITY_ERROR,
                                            .id = reason_id(no_fence->kind),
                                            .file = config->file,
                                            .key = "Isolate",
                                            .text = no_fence->text,
                                            .remedy = no_fence->remedy});
}

/* What the files say is fine, but this host cannot give. */
static void add_shortages(const Plan *plan, const Topology *topology, Diags *problems) {
        for (size_t i = 0; i < plan->n_instances; i++) {
                const PlanInstance *planned = &plan->instances[i];
                const InstanceConfig *config = planned->demand->config;

                add_no_unit(config, problems);
                add_no_fence(config, &topology->no_fence, problems);
                if (config->refusal || planned->reason.kind == REASON_NONE)
                        continue;
                diags_add(problems, &(Diag){.severity = config->shortage == SHORTAGE_DEGRADE
                                                                ? SEVERITY_WARNING
                                                                : SEVERITY_ERROR,
                                            .id = reason_id(planned->reason.kind),
                                            .file = config->file,
                                            .text = planned->reason.text,
                                            .remedy = planned->reason.remedy});
        }
}

/* Of all instances whose product can be asked, also where the configuration gives the size: the
 * rules compare the two. */
static Figures derive_figures(Command *command, const Local *local, const Sources *sources) {
        Figures figures = figures_derive(command->arena, local->config, local->topology, sources,
                                         FIGURES_ALL);

        for (size_t i = 0; i < local->config->n_instances; i++) {
                const InstanceConfig *instance = &local->config->instances[i];

                if (!instance->refusal && instance->engine->gather &&
                    instance->memory_kind != MEMORY_AUTO)
                        figures_add(command->arena, instance, local->topology, sources, &figures);
        }
        return figures;
}

/* Where the size depends on it. */
static void add_gathered_problems(const Config *config, const Figures *figures, Diags *problems) {
        const Gathered *last = NULL;

        VEC_FOREACH(figure, figures) {
                if (figure->gathered != last && figure->gathered &&
                    config_find(config, figure->instance)->memory_kind == MEMORY_AUTO)
                        diags_add_all(problems, &figure->gathered->problems);
                last = figure->gathered;
        }
}

static void add_command_line(Command *command, const Local *local, Diags *problems) {
        BootLoader loader;
        const KernelAdvice *advice = cmdline_advise(command, local, &loader);

        /* Why an instance has no part in it is said already. */
        VEC_FOREACH(problem, &advice->problems.list)
                if (rule_may_be_silenced(problem->id))
                        diags_add(problems, problem);
}

static const UnitFile *find_unit_file(const HostFacts *facts, const char *name) {
        for (size_t i = 0; i < facts->n_instances; i++)
                if (facts->instances[i].unit && text_equals(facts->instances[i].unit->name, name))
                        return facts->instances[i].unit->file;
        return NULL;
}

/* As the files say, whether or not systemd has read them; what it has in effect is in the status. */
static void add_gates(Command *command, const Config *config, const HostFacts *facts,
                      const Dropins *dropins, Diags *problems) {
        LoadedUnits units = {};

        if (!root_is_directory(command->root, PATH_SYSTEMD_RUNS))
                return;
        VEC_FOREACH(dropin, dropins) {
                const UnitFile *file = find_unit_file(facts, dropin->unit);

                if (file && file->fragment_path && !file->is_masked)
                        *vec_push(command->arena, &units) =
                                loaded_unit_of_files(command->arena, dropin->unit, file);
        }
        dropin_explain(command->root, command->arena, config, &units);
        VEC_FOREACH(unit, &units)
                loaded_unit_judge_gates(config, unit, problems);
}

/* Gates and mounts that systemd's generator has not made, or made of another configuration; and gates
 * that do not come into effect. */
static void add_missing_units(Command *command, const Local *local, const HostFacts *facts,
                              Diags *problems) {
        const DropinInput dropin =
                dropin_input(command->root, command->arena, local->config, HUGEPLANCTL);
        Dropins dropins = dropins_make(command->arena, &dropin);
        MountUnits mounts =
                mounts_of(command->root, command->arena, local->config, local->topology);

        dropin_check(command->root, &dropins, problems);
        add_gates(command, local->config, facts, &dropins, problems);
        mounts_check(command->root, &mounts, problems);
}

/* What other programs set against the plan, and gates that are not there. */
static void add_others(Command *command, const Local *local, const ThpPlan *thp,
                       const HostFacts *facts, Diags *problems) {
        const ConflictInput input = {
                .config = local->config,
                .topology = local->topology,
                .plan = local->plan,
                .thp = thp,
                .culprits = culprits_find(command->root, command->arena, local->topology),
        };

        conflicts_add(command->arena, &input, problems);
        if (local->config->n_instances == 0)
                return;
        if (!command->draft) /* whose gates and mounts are yet to be made */
                add_missing_units(command, local, facts, problems);
        add_command_line(command, local, problems);
}

static int print_findings(Command *command, const Findings *findings) {
        if (command->json != JSON_OFF)
                print_json(command, findings_to_json(findings));
        else
                fputs(render_findings(command->arena, findings, &command->render), stdout);
        if (findings_count_mistakes(findings) > 0)
                return EXIT_FAILED;
        return findings_count_hurting(findings) > 0 ? EXIT_NOT_READY : EXIT_AS_WISHED;
}

static int check_host(Command *command) {
        Arena *arena = command->arena;
        Local local = local_load(command);
        HostSources sources = host_sources(command->root);
        Figures figures = derive_figures(command, &local, &sources.sources);
        Diags problems = diags_in(arena);
        HostFacts *facts =
                host_facts_read(arena, &sources.sources, local.config, local.topology, &figures);

        alert_logs_read(command->root, arena, facts);
        diags_add_all(&problems, &local.config->problems);
        diags_add_all(&problems, &local.guard_problems);
        HostPlan host = host_plan_read(command->root, arena, local.config, local.plan,
                                       local.topology, &problems);

        add_shortages(local.plan, local.topology, &problems);
        add_others(command, &local, &host.thp, facts, &problems);
        add_gathered_problems(local.config, &figures, &problems);
        const RuleInput input = {
                .config = local.config,
                .topology = local.topology,
                .plan = local.plan,
                .thp = &host.thp,
                .figures = &figures,
                .facts = facts,
                .holders = holders_find(command->root, arena, local.topology),
                .boot_line = kernel_line_read(arena, local.topology->kernel_command_line, NULL,
                                              local.topology),
                .problems = &problems,
        };
        Findings findings = rules_judge(arena, &input);

        return print_findings(command, &findings);
}

int verb_check(Command *command) {
        if (command->n_arguments > 0 && command->draft) {
                log_line(LOG_ERR, "--draft is for the whole host; name files without it");
                return EXIT_USAGE;
        }
        return command->n_arguments > 0 ? check_files(command) : check_host(command);
}
