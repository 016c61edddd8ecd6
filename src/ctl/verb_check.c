/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `hugeplanctl check`: without arguments it judges the whole host by the rules of hugeplan-rules(7), as the host is
 * once the plan is applied; with files it judges only these. It changes nothing. */
#include "base/text.h"
#include "check/conflict.h"
#include "check/host_after.h"
#include "config/config.h"
#include "ctl/observe/journal_read.h"
#include "ctl/observe/observe.h"
#include "ctl/verbs.h"
#include "host/config_dirs.h"
#include "host/host_sources.h"
#include "host/mounts.h"
#include "host/unit_facts.h"
#include "inspect/gather.h"
#include "inspect/oracle_files.h"
#include "inspect/pages/page_users.h"
#include "inspect/setting_sources.h"
#include "model/exit_code.h"
#include "model/names.h"
#include "model/problem.h"
#include "render/status_json.h"
#include "render/views.h"
#include "runtime/log.h"
#include "systemd/dropin_check.h"
#include "units/unit_match.h"
#include "units/unit_search.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
        const Look *look;
        Accounts accounts; /* read if an instance needs the group */
        Figures figures;
        Dropins dropins;
        HostFacts *facts; /* once the plan is applied */
        const SettingSources *setting_sources;
        const Sources *sources; /* the present ones */
} Check;

static void add_reason(const Reason *reason, Severity severity, const char *file, const char *key,
                       Diags *problems) {
        if (reason->kind != REASON_NONE)
                diags_add(problems, &(Diag){severity, reason_id(reason->kind), file, 0, key,
                                            reason->text, reason->remedy});
}

/* Adds instances that are valid, and that this host cannot serve. */
static void add_shortages(const Plan *plan, const Topology *topology, Diags *problems) {
        ARRAY_FOREACH(planned, plan->instances, plan->n_instances) {
                const InstanceConfig *config = planned->demand->config;

                if (!config->refusal && !config->unit && config->engine->reserves)
                        diags_report(problems,
                                     config_diag(config, PROBLEM_NO_UNIT, "Unit", NULL,
                                                 "name the database's service in Unit="),
                                     "no unit waits for this reservation");
                if (!config->refusal && config->isolate == TRI_YES)
                        add_reason(&topology->no_hugetlb_limit, SEVERITY_ERROR, config->file,
                                   "Isolate", problems);
                if (!config->refusal)
                        add_reason(&planned->reason,
                                   plan_verdict(planned) == VERDICT_DEGRADED ? SEVERITY_WARNING
                                                                             : SEVERITY_ERROR,
                                   config->file, NULL, problems);
        }
}

/* Returns the figures of all instances whose product's files are read, even if the configuration gives the size: the
 * rules compare both. */
static Figures derive_figures(Command *command, const Look *look) {
        OwnerGatherer owner = gather_as_owner(command->root);
        Figures figures = figures_derive(command->arena, look->config, look->topology,
                                         &owner.gatherer, FIGURES_ALL);

        ARRAY_FOREACH(instance, look->config->instances, look->config->n_instances)
                if (!instance->refusal && instance->engine->has_auto &&
                    instance->memory_kind != MEMORY_AUTO)
                        figures_add(command->arena, instance, look->topology, &owner.gatherer,
                                    &figures);
        return figures;
}

/* Returns the units of the instances by their files, as systemd has them after it has read these. The status judges the
 * units that systemd has loaded. */
static LoadedUnits list_units(const Check *check) {
        LoadedUnits units = {};

        ARRAY_FOREACH(instance, check->facts->instances, check->facts->n_instances) {
                const UnitFacts *unit = instance->unit;
                bool is_listed =
                        VEC_ANY(other, &units, (unit && text_equals(other->name, unit->name)));

                if (unit && !is_listed)
                        *vec_push(check->arena, &units) =
                                unit_search_loaded(check->arena, unit->name, unit->file);
        }
        return units;
}

/* Adds units that do not exist, or that do not start what their instance is for. */
static void add_matches(const Check *check, Diags *problems) {
        const UnitSearch search = unit_search(check->sources);
        const UnitMatchInput match = {
                .config = check->look->config,
                .plan = check->look->plan,
                .search = &search,
                .is_asked = true,
        };
        LoadedUnits units = list_units(check);
        SourceNames names = source_list(check->sources, check->arena, "/usr/lib/systemd/system");
        SourceNames more = source_list(check->sources, check->arena, "/lib/systemd/system");

        /* A captured host may have no unit files. */
        vec_push_all(check->arena, &names, &more);
        if (VEC_ANY(name, &names, text_ends_with(*name, ".service")))
                VEC_FOREACH(unit, &units)
                        loaded_unit_judge_state(check->look->config, &search, unit, problems);
        unit_match_judge(check->arena, &match, &units, problems);
}

/* Adds missing or outdated gates and mounts. */
static void add_units(const Check *check, Diags *problems) {
        const Command *command = check->command;
        Diags found = diags_in(check->arena);
        Text unread = text_in(check->arena);
        MountUnits mounts =
                mounts_of(command->root, check->arena, check->look->config, check->look->topology);

        if (!root_is_directory(command->root, PATH_SYSTEMD_RUNS))
                return;
        if (!command->draft) { /* a draft has none yet */
                dropin_check(command->root, &check->dropins, &found);
                mounts_check(command->root, &mounts, &found);
        }
        VEC_FOREACH(problem, &found.list)
                if (text_equals(problem->id, problem_id(PROBLEM_DROPIN_MISSING)))
                        text_add_item(&unread, problem->file + strlen(PATH_GENERATOR_DIR "/"));
                else
                        diags_add(problems, problem);
        LoadedUnits units = list_units(check);

        dropin_explain(check->command->root, check->arena, check->look->config, &units);
        VEC_FOREACH(unit, &units)
                if (text_equals(unit->load_state, "loaded"))
                        loaded_unit_judge_gates(check->look->config, unit, problems);
        /* Drop-ins that are missing or of another configuration are one finding, because one command cures them all. */
        if (unread.length > 0)
                diags_report(
                        problems,
                        (Diag){.severity = SEVERITY_NOTICE,
                               .id = problem_id(PROBLEM_DROPIN_MISSING),
                               .file = PATH_GENERATOR_DIR,
                               .remedy = "run 'systemctl daemon-reload'"},
                        "systemd has not read this configuration yet; missing, or of another one: %s",
                        unread.string);
}

/* A reload cures this, so it is a notice only. Mistakes in the files are found by check itself. */
static void add_pending(const Status *status, Diags *problems) {
        VEC_FOREACH(problem, &status->problems.list)
                if (text_equals(problem->id, problem_id(PROBLEM_RELOAD_PENDING))) {
                        Diag pending = *problem;

                        pending.severity = SEVERITY_NOTICE;
                        diags_add(problems, &pending);
                }
}

/* Reads the host once, and derives it as it is after the plan. */
static void read_facts(Check *check, Diags *problems) {
        const Sources *sources = check->sources;
        const Command *command = check->command;
        Arena *arena = check->arena;
        const Config *config = check->look->config;
        const DropinInput dropin = dropin_input(command->root, arena, config, HUGEPLANCTL);

        check->accounts = accounts_for_limits(command->root, arena, config);
        check->figures = derive_figures(check->command, check->look);
        /* Problems that the plan leaves; check/conflict.h reports the group that it replaces. */
        VEC_FOREACH(problem, &check->look->host_problems.list)
                if (!text_equals(problem->id, problem_id(PROBLEM_SHM_GROUP_REPLACED)))
                        diags_add(problems, problem);
        check->dropins = dropins_make(arena, &dropin);
        check->setting_sources = setting_sources_find(command->root, arena, check->look->topology);
        Overlay overlay = host_after(arena, sources, config, check->look->plan,
                                     &check->look->host.writes, &check->dropins);

        check->facts = host_facts_read(arena, &overlay.sources, config, check->look->topology,
                                       &check->figures);
        alert_logs_read(command->root, arena, check->facts);
}

/* Adds problems in the databases' own files, if an instance's size depends on them. */
static void add_gathered(const Check *check, Diags *problems) {
        const Gathered *last = NULL;

        VEC_FOREACH(figure, &check->figures) {
                if (figure->gathered != last && figure->gathered &&
                    config_find(check->look->config, figure->instance)->memory_kind == MEMORY_AUTO)
                        diags_add_all(problems, &figure->gathered->problems);
                last = figure->gathered;
        }
}

static void add_command_line(Command *command, const Look *look, Diags *problems) {
        const KernelAdvice *advice = cmdline_advise(command, look);

        /* The reasons of instances, which are no rules, are reported already. */
        VEC_FOREACH(problem, &advice->problems.list)
                if (rule_may_be_silenced(problem->id))
                        diags_add(problems, problem);
}

Findings findings_now(Command *command, const Status *status, const ProofList *proofs,
                      const Look **ret_look) {
        Arena *arena = command->arena;
        Check check = {.command = command, .arena = arena, .look = local_load(command)};
        const Look *look = check.look;
        HostSources sources = host_sources(command->root, arena);
        Overlay overlay = overlay_over(&sources.sources);
        Diags problems = diags_in(arena);
        const ProofList own = status && !proofs
                                      ? prove_all(command, status, look->config, look->topology)
                                      : (ProofList){};

        diags_add_all(&problems, &look->config->problems);
        diags_add_all(&problems, &look->guard_problems);
        oracle_files_add(command->root, arena, &overlay);
        check.sources = &overlay.sources;
        read_facts(&check, &problems);
        add_shortages(look->plan, look->topology, &problems);
        VEC_FOREACH(exposure, &look->plan->exposures)
                status_add_exposure(exposure, &problems);
        HostView view = local_view(look);

        view.figures = &check.figures;
        view.facts = check.facts;
        view.accounts = &check.accounts;
        view.setting_sources = check.setting_sources;
        conflicts_add(arena, &view, &problems);
        if (look->config->n_instances > 0) {
                add_matches(&check, &problems);
                add_units(&check, &problems);
                add_command_line(command, look, &problems);
        }
        add_gathered(&check, &problems);
        if (status)
                add_pending(status, &problems);
        view.page_users = page_users_find(command->root, arena, look->topology);
        view.proofs = proofs ? proofs : &own;
        view.history = journal_read(command);
        view.boot_line =
                kernel_line_read(arena, look->topology->kernel_command_line, NULL, look->topology);
        *ret_look = look;
        Findings findings = rules_judge(arena, &view, &problems);

        /* Only root can read other users' processes and the files of their databases. */
        findings.is_incomplete = (root_is_host(command->root) && geteuid() != 0) ||
                                 gather_was_denied(&check.figures);
        return findings;
}

static int check_host(Command *command) {
        const Look *look;
        const Status *status = command->draft ? NULL : status_now(command, NULL);
        const Findings findings = findings_now(command, status, NULL, &look);

        if (command->json != JSON_OFF)
                print_json(command, findings_to_json(&findings));
        else
                fputs(render_findings(command->arena, &findings, &command->render), stdout);
        if (findings_count_mistakes(&findings) > 0)
                return EXIT_FAILED;
        return findings_count_hurting(&findings) > 0 ? EXIT_NOT_READY : EXIT_DONE;
}

int verb_check(Command *command) {
        if (command->n_arguments > 0 && command->draft) {
                log_line(LOG_ERR, "--draft is for the whole host; name files without it");
                return EXIT_USAGE;
        }
        return command->n_arguments > 0 ? check_files(command) : check_host(command);
}
