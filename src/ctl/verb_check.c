/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `hugeplanctl check`: the linter. Without arguments it judges the whole host by the rules of
 * hugeplan-rules(7), as it will be once the plan is applied; with files only these. Changes nothing. */
#include "base/text.h"
#include "check/host_after.h"
#include "check/shm_group.h"
#include "config/config_parse.h"
#include "ctl/verbs.h"
#include "host/config_dirs.h"
#include "host/host_plan_read.h"
#include "host/host_sources.h"
#include "host/mounts.h"
#include "host/unit_facts.h"
#include "inspect/alert_logs.h"
#include "inspect/gather.h"
#include "inspect/oracle_files.h"
#include "inspect/page_users.h"
#include "inspect/setting_sources.h"
#include "model/exit_code.h"
#include "model/names.h"
#include "model/problem.h"
#include "render/render_findings.h"
#include "render/status_json.h"
#include "runtime/log.h"
#include "systemd/dropin_check.h"
#include "units/unit_match.h"

#include <stdio.h>
#include <string.h>

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
        return diags_count(&problems, SEVERITY_ERROR) > 0 ? EXIT_FAILED : EXIT_DONE;
}

/* ---- the host ---- */

typedef struct Check {
        Command *command;
        Arena *arena;
        Local local;
        Accounts accounts; /* where an instance needs the group */
        Figures figures;
        HostPlan host;
        Dropins dropins;
        HostFacts *facts; /* as they will be */
        const SettingSources *setting_sources;
        const Sources *sources; /* as they are */
} Check;

static void add_no_hugetlb_limit(const InstanceConfig *config, const Reason *no_hugetlb_limit,
                                 Diags *problems) {
        if (!config->refusal && config->isolate == TRI_YES && no_hugetlb_limit->kind != REASON_NONE)
                diags_add(problems, &(Diag){.severity = SEVERITY_ERROR,
                                            .id = reason_id(no_hugetlb_limit->kind),
                                            .file = config->file,
                                            .key = "Isolate",
                                            .text = no_hugetlb_limit->text,
                                            .remedy = no_hugetlb_limit->remedy});
}

/* What the files say is fine, but this host cannot give. */
static void add_shortages(const Plan *plan, const Topology *topology, Diags *problems) {
        for (size_t i = 0; i < plan->n_instances; i++) {
                const PlanInstance *planned = &plan->instances[i];
                const InstanceConfig *config = planned->demand->config;

                if (!config->refusal && !config->unit && config->engine->reserves)
                        diags_add(problems,
                                  &(Diag){.severity = SEVERITY_NOTICE,
                                          .id = problem_id(PROBLEM_NO_UNIT),
                                          .file = config->file,
                                          .key = "Unit",
                                          .text = "no unit waits for this reservation",
                                          .remedy = "name the database's service in Unit="});
                add_no_hugetlb_limit(config, &topology->no_hugetlb_limit, problems);
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
static Figures derive_figures(Command *command, const Local *local) {
        OwnerGatherer owner = gather_as_owner(command->root);
        Figures figures = figures_derive(command->arena, local->config, local->topology,
                                         &owner.gatherer, FIGURES_ALL);

        for (size_t i = 0; i < local->config->n_instances; i++) {
                const InstanceConfig *instance = &local->config->instances[i];

                if (!instance->refusal && instance->engine->has_auto &&
                    instance->memory_kind != MEMORY_AUTO)
                        figures_add(command->arena, instance, local->topology, &owner.gatherer,
                                    &figures);
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
        const KernelAdvice *advice = cmdline_advise(command, local);

        /* Why an instance has no part in it is said already. */
        VEC_FOREACH(problem, &advice->problems.list)
                if (rule_may_be_silenced(problem->id))
                        diags_add(problems, problem);
}

/* The units that instances name, as the files will say once systemd has read them; what it has in effect
 * is in the status. */
static LoadedUnits list_units(const Check *check) {
        LoadedUnits units = {};

        for (size_t i = 0; i < check->facts->n_instances; i++) {
                const UnitFacts *unit = check->facts->instances[i].unit;
                bool is_listed = false;

                VEC_FOREACH(other, &units)
                        is_listed = is_listed || (unit && text_equals(other->name, unit->name));
                if (unit && !is_listed)
                        *vec_push(check->arena, &units) =
                                loaded_unit_of_files(check->arena, unit->name, unit->file);
        }
        return units;
}

/* On a captured host, the units may have been left out. */
static bool has_unit_files(const Check *check) {
        static const char *const directories[] = {"/usr/lib/systemd/system", "/lib/systemd/system"};

        for (size_t i = 0; i < ARRAY_LEN(directories); i++) {
                SourceNames names = source_list(check->sources, check->arena, directories[i]);

                VEC_FOREACH(name, &names)
                        if (text_ends_with(*name, ".service"))
                                return true;
        }
        return false;
}

/* Whether they are there, and start what they are named for. */
static void add_matches(const Check *check, Diags *problems) {
        const UnitMatchInput match = {
                .config = check->local.config,
                .plan = check->local.plan,
                .sources = check->sources,
                .has_disks = true,
                .is_asked = true,
        };
        LoadedUnits units = list_units(check);

        if (has_unit_files(check))
                VEC_FOREACH(unit, &units)
                        loaded_unit_judge_state(check->local.config, check->sources, unit,
                                                problems);
        unit_match_judge(check->arena, &match, &units, problems);
}

/* Units that the generator has not written yet, or of another configuration: one finding for all, for
 * one command cures them. */
static void add_unread(Arena *arena, const Diags *unread, Diags *problems) {
        Text names = text_in(arena);

        VEC_FOREACH(problem, &unread->list)
                text_add_item(&names, problem->file + strlen(PATH_GENERATOR_DIR "/"));
        if (unread->list.n > 0)
                diags_add(
                        problems,
                        &(Diag){.severity = SEVERITY_NOTICE,
                                .id = problem_id(PROBLEM_DROPIN_MISSING),
                                .file = PATH_GENERATOR_DIR,
                                .text = arena_printf(
                                        arena,
                                        "systemd has not read this configuration yet; missing, or "
                                        "of another one: %s",
                                        text_string(&names)),
                                .remedy = "run 'systemctl daemon-reload'"});
}

/* Gates and mounts. */
static void add_units(const Check *check, Diags *problems) {
        const Command *command = check->command;
        Diags found = diags_in(check->arena), unread = diags_in(check->arena);
        MountUnits mounts =
                mounts_of(command->root, check->arena, check->local.config, check->local.topology);

        if (!root_is_directory(command->root, PATH_SYSTEMD_RUNS))
                return;
        if (!command->draft) { /* whose gates and mounts are yet to be made */
                dropin_check(command->root, &check->dropins, &found);
                mounts_check(command->root, &mounts, &found);
        }
        VEC_FOREACH(problem, &found.list)
                diags_add(text_equals(problem->id, problem_id(PROBLEM_DROPIN_MISSING)) ? &unread
                                                                                       : problems,
                          problem);
        LoadedUnits units = list_units(check);

        dropin_explain(check->command->root, check->arena, check->local.config, &units);
        VEC_FOREACH(unit, &units)
                if (text_equals(unit->load_state, "loaded"))
                        loaded_unit_judge_gates(check->local.config, unit, problems);
        add_unread(check->arena, &unread, problems);
}

/* What other programs set against the plan. */
static void add_others(const Check *check, Diags *problems) {
        const Account *own = account_find_group(check->arena, &check->accounts, NAME_HUGETLB_GROUP);
        const ShmGroupInput group = {
                .config = check->local.config,
                .topology = check->local.topology,
                .facts = check->facts,
                .accounts = &check->accounts,
                .setting_sources = check->setting_sources,
        };
        const ConflictInput input = {
                .config = check->local.config,
                .topology = check->local.topology,
                .plan = check->local.plan,
                .thp = &check->host.thp,
                .setting_sources = check->setting_sources,
                .own_group = own ? own->id : 0,
                .replaced_group = shm_group_replaced(&group),
        };

        conflicts_add(check->arena, &input, problems);
        shm_group_judge(check->arena, &group, problems);
}

/* A reload cures it, so it is no more than worth knowing; of mistakes these very files tell. */
static void add_pending(const Check *check, Diags *problems) {
        Diags found = diags_in(check->arena);
        const char *why;
        const Status *running = check->command->draft ? NULL : ask_status(check->command, &why);

        if (running)
                find_pending(check->command, running, check->local.config, &found);
        VEC_FOREACH(problem, &found.list)
                if (text_equals(problem->id, problem_id(PROBLEM_RELOAD_PENDING))) {
                        problem->severity = SEVERITY_NOTICE;
                        diags_add(problems, problem);
                }
}

static int print_findings(Command *command, const Findings *findings) {
        if (command->json != JSON_OFF)
                print_json(command, findings_to_json(findings));
        else
                fputs(render_findings(command->arena, findings, &command->render), stdout);
        if (findings_count_mistakes(findings) > 0)
                return EXIT_FAILED;
        return findings_count_hurting(findings) > 0 ? EXIT_NOT_READY : EXIT_DONE;
}

/* The host, read once, and as it will be. */
static void look(Check *check, Diags *problems) {
        const Sources *sources = check->sources;
        const Command *command = check->command;
        Arena *arena = check->arena;
        const Config *config = check->local.config;
        const DropinInput dropin = dropin_input(command->root, arena, config, HUGEPLANCTL);

        check->accounts = accounts_for_limits(command->root, arena, config);
        check->figures = derive_figures(check->command, &check->local);
        Diags found = diags_in(arena);

        check->host = host_plan_read(command->root, arena, config, check->local.plan,
                                     check->local.topology, &found);
        /* What it leaves unsolved; of the group that it replaces check/shm_group.h tells. */
        VEC_FOREACH(problem, &found.list)
                if (!text_equals(problem->id, problem_id(PROBLEM_SHM_GROUP_REPLACED)))
                        diags_add(problems, problem);
        check->dropins = dropins_make(arena, &dropin);
        check->setting_sources = setting_sources_find(command->root, arena, check->local.topology);
        const HostAfterInput after = {
                .sources = sources,
                .config = config,
                .plan = check->local.plan,
                .host = &check->host,
                .dropins = &check->dropins,
        };
        Overlay overlay = host_after(arena, &after);

        check->facts = host_facts_read(arena, &overlay.sources, config, check->local.topology,
                                       &check->figures);
        alert_logs_read(command->root, arena, check->facts);
}

static int check_host(Command *command) {
        Arena *arena = command->arena;
        Check check = {.command = command, .arena = arena, .local = local_load(command)};
        const Local *local = &check.local;
        HostSources sources = host_sources(command->root);
        Overlay overlay = overlay_over(&sources.sources);
        Diags problems = diags_in(arena);

        diags_add_all(&problems, &local->config->problems);
        diags_add_all(&problems, &local->guard_problems);
        oracle_files_add(command->root, arena, &overlay);
        check.sources = &overlay.sources;
        look(&check, &problems);
        add_shortages(local->plan, local->topology, &problems);
        VEC_FOREACH(exposure, &local->plan->exposures)
                status_add_exposure(exposure, &problems);
        add_others(&check, &problems);
        if (local->config->n_instances > 0) {
                add_matches(&check, &problems);
                add_units(&check, &problems);
                add_command_line(command, local, &problems);
        }
        add_gathered_problems(local->config, &check.figures, &problems);
        add_pending(&check, &problems);
        const RuleInput input = {
                .config = local->config,
                .topology = local->topology,
                .plan = local->plan,
                .thp = &check.host.thp,
                .figures = &check.figures,
                .facts = check.facts,
                .page_users = page_users_find(command->root, arena, local->topology),
                .setting_sources = check.setting_sources,
                .boot_line = kernel_line_read(arena, local->topology->kernel_command_line, NULL,
                                              local->topology),
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
