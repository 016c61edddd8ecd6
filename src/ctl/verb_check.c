/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `hugeplanctl check`: without arguments it judges the whole host by the rules of hugeplan-rules(7), as the host is
 * once the plan is applied; with files it judges only these. It changes nothing. */
#include "base/text.h"
#include "check/rules.h"
#include "config/config.h"
#include "ctl/observe/observe.h"
#include "ctl/verbs.h"
#include "host/config_load.h"
#include "host/host_sources.h"
#include "host/mounts.h"
#include "host/unit_facts.h"
#include "inspect/gather.h"
#include "inspect/pages/page_users.h"
#include "inspect/setting_sources.h"
#include "model/exit_code.h"
#include "model/names.h"
#include "model/problem.h"
#include "render/status_json.h"
#include "render/views.h"
#include "systemd/dropin_check.h"
#include "units/loaded_unit.h"

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
                fputs(render_problems(command->arena, &problems, false, &command->render), stdout);
        return diags_count(&problems, SEVERITY_ERROR) > 0 ? EXIT_FAILED : EXIT_DONE;
}

/* ---- the host ---- */

typedef struct Check {
        Command *command;
        HostView *view;
        Dropins dropins;
        const Sources *sources; /* the present ones */
} Check;

static void add_reason(const Reason *reason, Severity severity, const char *file, const char *key,
                       Diags *problems) {
        if (reason->kind != REASON_NONE)
                diags_add(problems, &(Diag){severity, reason_id(reason->kind), file, 0, key,
                                            reason->text, reason->remedy});
}

/* Adds instances that are valid, and that this host cannot serve. */
static void add_shortages(const Plan *plan, Diags *problems) {
        ARRAY_FOREACH(planned, plan->instances, plan->n_instances) {
                const InstanceConfig *config = planned->demand->config;

                if (config->refusal || planned->reason.kind == REASON_STANDS_ASIDE)
                        continue;
                if (!config->unit && config->engine->reserves)
                        diags_report(
                                problems,
                                config_diag(config, PROBLEM_NO_UNIT, "Unit", NULL,
                                            "name the database's service in Unit="),
                                "hugeplan adds no gate, so units wait for these pages only by a gate written by hand");
                add_reason(&planned->no_hugetlb_limit, SEVERITY_ERROR, config->file, "Isolate",
                           problems);
                add_reason(&planned->reason,
                           plan_verdict(planned) == VERDICT_DEGRADED ? SEVERITY_WARNING
                                                                     : SEVERITY_ERROR,
                           config->file, NULL, problems);
        }
}

/* Returns the figures of all instances whose product's files are read, even if the configuration gives the size: the
 * rules compare both. */
static const Figures *derive_figures(Command *command, const Config *config,
                                     const Topology *topology) {
        Arena *arena = command->arena;
        OwnerGatherer owner = gather_as_owner(command->root);
        Figures *figures = ARENA_NEW(arena, Figures);

        *figures = figures_derive(arena, config, topology, &owner.gatherer, FIGURES_ALL);
        ARRAY_FOREACH(instance, config->instances, config->n_instances)
                if (!instance->refusal && instance->engine->has_auto &&
                    instance->memory_kind != MEMORY_AUTO)
                        figures_add(arena, instance, topology, &owner.gatherer, figures);
        return figures;
}

/* Adds units that do not exist, or that do not start what their instance is for, and missing or outdated gates and
 * mounts. */
static void add_units(const Check *check, Diags *problems) {
        const Command *command = check->command;
        Arena *arena = command->arena;
        const Config *config = check->view->config;
        const HostFacts *facts = check->view->facts;
        const UnitSearch search = unit_search(check->sources);
        const LoadedUnitInput match = {
                .config = config,
                .plan = check->view->plan,
                .topology = check->view->topology,
                .accounts = check->view->accounts,
                .search = &search,
        };
        SourceNames names = source_list(check->sources, arena, "/usr/lib/systemd/system");
        SourceNames more = source_list(check->sources, arena, "/lib/systemd/system");
        SourceNames generated = source_list(check->sources, arena, PATH_GENERATOR_DIR);
        Diags found = diags_in(arena);
        Text unread = text_in(arena);
        LoadedUnits units = {};
        const char *remedy = NULL;

        /* The units by their files, as systemd has them after it has read these. The status judges the units that
         * systemd has loaded. */
        ARRAY_FOREACH(instance, facts->instances, facts->n_instances) {
                const UnitFacts *unit = instance->unit;

                if (unit && !VEC_ANY(other, &units, text_equals(other->name, unit->name)))
                        *vec_push(arena, &units) = unit_facts_loaded(arena, unit);
        }
        /* A captured host may have no unit files. */
        vec_push_all(arena, &names, &more);
        if (VEC_ANY(name, &names, text_ends_with(*name, ".service")))
                VEC_FOREACH(unit, &units)
                        loaded_unit_judge_state(config, &search, unit, problems);
        VEC_FOREACH(unit, &units)
                if (text_equals(unit->load_state, "loaded"))
                        loaded_unit_judge_access(&match, unit, problems);
        unit_match_judge(arena, &match, &units, problems);
        if (!root_is_directory(command->root, PATH_SYSTEMD_RUNS))
                return;
        if (!command->draft) { /* a draft has none yet */
                const MountUnits mounts =
                        mounts_of(command->root, arena, config, check->view->topology);

                dropin_check(command->root, &check->dropins, &found);
                mounts_check(command->root, &mounts, &found);
        }
        /* The gate of a removed instance refuses each start of its unit. */
        VEC_FOREACH(name, &generated)
                if (!command->draft &&
                    root_exists(
                            command->root,
                            arena_printf(arena, PATH_GENERATOR_DIR "/%s/" NAME_DROPIN, *name)) &&
                    !VEC_ANY(dropin, &check->dropins,
                             text_equals(arena_printf(arena, "%s.d", dropin->unit), *name)))
                        text_add_item(&unread, arena_printf(arena, "%s/" NAME_DROPIN, *name));
        VEC_FOREACH(problem, &found.list)
                if (text_equals(problem->id, problem_id(PROBLEM_DROPIN_MISSING))) {
                        /* Without "generator" or "generator.late". */
                        text_add_item(&unread,
                                      strchr(problem->file + strlen(PATH_GENERATOR_DIR), '/') + 1);
                        remedy = remedy ? remedy : problem->remedy;
                } else {
                        diags_add(problems, problem);
                }
        dropin_explain(command->root, arena, config, &units);
        VEC_FOREACH(unit, &units)
                if (text_equals(unit->load_state, "loaded"))
                        loaded_unit_judge_gates(config, unit, problems);
        /* Drop-ins that are missing or of another configuration are one finding, because one command cures them all. */
        if (unread.length > 0)
                diags_report(
                        problems,
                        (Diag){.severity = SEVERITY_NOTICE,
                               .id = problem_id(PROBLEM_DROPIN_MISSING),
                               .file = PATH_GENERATOR_DIR,
                               .remedy = remedy ? remedy : "run 'systemctl daemon-reload'"},
                        "systemd has not read this configuration yet; missing or out of date: %s",
                        unread.string);
}

/* Reads the host once, and derives it as it is after the plan and its WRITES. */
static void read_facts(Check *check, const HostWrites *writes) {
        Command *command = check->command;
        HostView *view = check->view;
        Arena *arena = command->arena;
        const DropinInput dropin = dropin_input(command->root, arena, view->config, HUGEPLANCTL);
        Accounts *accounts = ARENA_NEW(arena, Accounts);

        *accounts = accounts_for_limits(command->root, arena, view->config);
        view->accounts = accounts;
        view->figures = derive_figures(command, view->config, view->topology);
        check->dropins = dropins_make(arena, &dropin);
        view->setting_sources = setting_sources_find(command->root, arena, view->topology);
        Overlay *after = ARENA_NEW(arena, Overlay); /* rules read files that units name */

        *after = host_after(arena, check->sources, view->config, view->plan, writes,
                            &check->dropins);
        view->facts = host_facts_read(arena, &after->sources, view->config, view->topology,
                                      view->figures);
}

/* Adds problems in the databases' own files, if an instance's size depends on them. */
static void add_gathered(const HostView *view, Diags *problems) {
        const Gathered *last = NULL;

        VEC_FOREACH(figure, view->figures) {
                if (figure->gathered != last && figure->gathered &&
                    config_find(view->config, figure->instance)->memory_kind == MEMORY_AUTO)
                        diags_add_all(problems, &figure->gathered->problems);
                last = figure->gathered;
        }
}

Findings findings_now(Command *command, const Status *status, const ProofList *proofs,
                      HostView *view) {
        Arena *arena = command->arena;
        const Look *look = local_load(command, true, NULL);
        const Reason *aside = stands_aside(command);
        HostSources sources = host_sources(command->root, arena);
        Check check = {.command = command, .view = view, .sources = &sources.sources};
        Diags problems = diags_in(arena);
        ProofList *own = ARENA_NEW(arena, ProofList);

        if (status && !proofs)
                *own = prove_all(command, status, NULL, look->config, look->topology);
        *view = local_view(look);
        view->is_aside = aside != NULL;
        diags_add_all(&problems, &look->config->problems);
        diags_add_all(&problems, &look->guard_problems);
        read_facts(&check, &look->host.writes);
        diags_add_all(&problems, &look->host_problems);
        add_shortages(look->plan, &problems);
        VEC_FOREACH(exposure, &look->plan->exposures)
                status_add_exposure(exposure, &problems);
        const PlanInstance *without = ARRAY_FIND(each, look->plan->instances,
                                                 look->plan->n_instances,
                                                 each->reason.kind == REASON_STANDS_ASIDE);

        if (aside || without)
                status_add_aside(aside ? aside : &without->reason, &problems);
        if (!aside) { /* otherwise what others set may be all that the databases have */
                conflicts_add(arena, view, &problems);
                add_units(&check, &problems);
        }
        if (look->config->n_instances > 0 && !aside) {
                const KernelAdvice *advice = cmdline_advise(command, look);

                /* The reasons of instances, which are no rules, are reported already. */
                VEC_FOREACH(problem, &advice->problems.list)
                        if (rule_may_be_silenced(problem->id))
                                diags_add(&problems, problem);
        }
        add_gathered(view, &problems);
        /* A reload cures this, so it is a notice only. Mistakes in the files are found by check itself. */
        for (size_t i = 0; status && i < status->problems.list.n; i++) {
                Diag pending = status->problems.list.items[i];

                pending.severity = SEVERITY_NOTICE;
                if (text_equals(pending.id, problem_id(PROBLEM_RELOAD_PENDING)))
                        diags_add(&problems, &pending);
        }
        view->page_users = page_users_find(command->root, arena, look->topology);
        view->proofs = proofs ? proofs : own;
        Findings findings = rules_judge(arena, view, &problems);

        /* Only root can read other users' processes and the files of their databases. */
        findings.is_incomplete = (root_is_host(command->root) && geteuid() != 0) ||
                                 gather_was_denied(view->figures);
        return findings;
}

int verb_check(Command *command) {
        HostView view;

        if (command->n_arguments > 0 && command->draft)
                return log_failure(EXIT_USAGE,
                                   "--draft is for the whole host; name files without it");
        if (command->n_arguments > 0)
                return check_files(command);
        const Status *status = command->draft ? NULL : status_now(command, NULL);
        const Findings findings = findings_now(command, status, NULL, &view);

        if (command->json != JSON_OFF)
                print_json(command, findings_to_json(&findings));
        else
                printf("%s%s",
                       view.config->n_instances == 0
                               ? "No instances are described in /etc/hugeplan.d.\n"
                               : "",
                       render_findings(command->arena, &findings, &command->render));
        return findings_count_mistakes(&findings) > 0  ? EXIT_FAILED
               : findings_count_hurting(&findings) > 0 ? EXIT_NOT_READY
                                                       : EXIT_DONE;
}
