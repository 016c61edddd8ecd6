/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "units/loaded_unit.h"

#include "base/text.h"
#include "config/config.h"
#include "model/names.h"
#include "model/problem.h"

#include <string.h>

static const char reload_remedy[] = "run 'systemctl daemon-reload'";

/* ---- gates ---- */

/* A gate written by hand may be in a shell's command line, and a variable may hold any name. */
static bool has_gate(const LoadedUnit *unit, const InstanceConfig *instance) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        VEC_FOREACH(command_line, &unit->pre_starts) {
                enum { PROGRAM, VERB, NAME } wanted = PROGRAM;

                TEXT_FOREACH(word, arena, *command_line, " \t'\"();&|")
                        if (text_equals(text_base_name(word + strspn(word, "-+!@:")),
                                        "hugeplanctl"))
                                wanted = VERB;
                        else if (wanted == VERB && text_equals(word, "wait"))
                                wanted = NAME;
                        else if (wanted == NAME && (text_equals(word, instance->name) ||
                                                    *word == '$' || text_equals(word, "--all")))
                                return true;
        }
        return false;
}

/* Returns "a, b", the instances whose gate is missing, or NULL if none is. */
static const char *names_without_gate(Arena *arena, const Config *config, const LoadedUnit *unit) {
        Text names = text_in(arena);

        ARRAY_FOREACH(instance, config->instances, config->n_instances)
                if (text_equals(instance->unit, unit->name) && !has_gate(unit, instance))
                        text_add_item(&names, instance->name);
        return names.string;
}

bool loaded_unit_has_gates(const Config *config, const LoadedUnit *unit) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        return !names_without_gate(arena, config, unit);
}

void loaded_unit_judge_gates(const Config *config, const LoadedUnit *unit, Diags *problems) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const char *names = names_without_gate(arena, config, unit);
        const char *dropin =
                arena_printf(arena, PATH_GENERATOR_DIR "/%s.d/" NAME_DROPIN, unit->name);
        Text later = text_in(arena);
        bool is_later = false;

        if (!names || VEC_FIND(problem, &problems->list,
                               text_equals(problem->id, problem_id(PROBLEM_DROPIN_MISSING)) &&
                                       text_equals(problem->file, dropin)))
                return;
        const char *what = arena_printf(arena, "%s starts without asking for the pages of %s",
                                        unit->name, names);
        /* Another drop-in of the same name replaces ours. */
        const char **path =
                VEC_FIND(each, &unit->dropins, text_equals(text_base_name(*each), NAME_DROPIN));
        const char *override = path ? *path : unit->override;

        if (override && !source_names_have(&unit->dropins, dropin)) {
                diags_report(problems,
                             problem_of(PROBLEM_GATE_MASKED, text_printable(arena, override), NULL),
                             "%s: this file replaces the gate, which is allowed", what);
                return;
        }
        Diag diag = problem_of(PROBLEM_GATE_MISSING, dropin, reload_remedy);

        diag.text = arena_printf(arena, "%s: systemd has not read its gate", what);
        /* One of the drop-ins after ours must have removed the gate. */
        VEC_FOREACH(each, &unit->dropins) {
                if (is_later)
                        text_add_item(&later, text_printable(arena, *each));
                is_later = is_later || text_equals(*each, dropin);
        }
        if (later.length > 0) {
                diag.text = arena_printf(arena, "%s: its gate is read, but not in effect after %s",
                                         what, text_string(&later));
                diag.remedy = arena_printf(
                        arena,
                        "remove the empty ExecStartPre= that 'systemctl cat %s' shows, or write the "
                        "gate again below it (hugeplan.d(5), THE GATE); then run 'systemctl daemon-reload'",
                        unit->name);
        }
        diags_add(problems, &diag);
}

/* ---- a start ---- */

bool loaded_unit_starts_by(const LoadedUnit *unit, uint64_t pid) {
        if (!text_equals(unit->active_state, "activating"))
                return false;
        if (text_equals(unit->sub_state, "condition") || text_equals(unit->sub_state, "start-pre"))
                return unit->control_pid != 0;
        if (!text_equals(unit->sub_state, "start"))
                return false;
        return pid == unit->control_pid || pid == unit->main_pid ||
               (unit->control_pid != 0 && unit->main_pid == 0);
}

/* ---- settings that an instance needs ---- */

typedef struct Need {
        Arena *arena;
        const LoadedUnitInput *input;
        const LoadedUnit *unit;
        const InstanceConfig *instance;
        const PlanInstance *planned;
} Need;

static void add_setting(const Need *need, const char *key, const char *text, const char *remedy,
                        Diags *problems) {
        Diag diag = problem_of(PROBLEM_UNIT_SETTING, need->instance->file, remedy);

        diag.key = key;
        diags_report(problems, diag, "%s", text);
}

static void judge_nodes(const Need *need, Diags *problems) {
        const PlanInstance *planned = need->planned;
        const MemoryPolicy *policy = &need->unit->policy;

        if (policy->kind != MEMORY_POLICY_BIND || id_set_is_empty(&policy->nodes))
                return;
        uint64_t pages = planned->pages_granted - pages_within(&planned->grants, &policy->nodes);

        if (pages == 0)
                return;
        const char *nodes = id_set_format(need->arena, &policy->nodes);

        add_setting(
                need, "Nodes",
                arena_printf(
                        need->arena,
                        "%s may use memory of node %s only, and %s has %s elsewhere: it cannot use "
                        "these, and starts only if as many more can be reserved on its own nodes",
                        need->unit->name, nodes, need->instance->name,
                        format_page_count(need->arena, pages, planned->page_size_bytes)),
                arena_printf(need->arena,
                             "write Nodes=%s here, or let the unit use all nodes of the instance",
                             nodes),
                problems);
}

/* NAME may be a number. */
static bool is_group(const char *name, const Account *group) {
        uint64_t id;

        return text_equals(name, group->name) || (parse_u64(name, &id) == 0 && id == group->id);
}

/* On older kernels a memlock limit of at least the segment's size suffices. */
static void judge_right(const Need *need, Diags *problems) {
        const LoadedUnit *unit = need->unit;
        const Account *group =
                account_find_group(need->arena, need->input->accounts, NAME_HUGETLB_GROUP);
        bool is_by_limit = topology_kernel_is_before_5_16(need->input->topology);
        uint64_t bytes = plan_wanted_bytes(need->planned);

        if (!instance_needs_group(need->instance) || unit->may_lock || !group)
                return;
        const Account *user = account_find_user(need->arena, need->input->accounts, unit->user);

        if (TEXT_IS_ANY(unit->user, "", "root", "0") ||
            VEC_FIND(name, &unit->groups, is_group(*name, group)) ||
            (*unit->group ? is_group(unit->group, group) : user && user->group_id == group->id) ||
            account_has_member(need->arena, group, unit->user) ||
            (is_by_limit && unit->memory_lock_bytes >= bytes))
                return;
        const char *lacks = is_by_limit ? arena_printf(need->arena,
                                                       "with LimitMEMLOCK=%" PRIu64
                                                       ", and not in the group " NAME_HUGETLB_GROUP,
                                                       unit->memory_lock_bytes)
                                        : "without the group " NAME_HUGETLB_GROUP;

        add_setting(
                need, "SharedMemory",
                arena_printf(need->arena,
                             "%s is loaded %s: the kernel refuses %s its System V segment of %s",
                             unit->name, lacks, need->instance->name,
                             format_page_count(need->arena, need->planned->pages_wanted,
                                               need->planned->page_size_bytes)),
                arena_printf(need->arena,
                             "systemctl edit %s: [Service] SupplementaryGroups=" NAME_HUGETLB_GROUP,
                             unit->name),
                problems);
}

/* hugeplan.service is ordered before sysinit.target, which nearly every unit is after by default. */
static void judge_order(const Need *need, Diags *problems) {
        const SourceNames *after = &need->unit->after;

        if (!has_gate(need->unit, need->instance) ||
            VEC_FIND(name, after, TEXT_IS_ANY(*name, NAME_UNIT, "sysinit.target", "basic.target")))
                return;
        add_setting(need, "Unit",
                    arena_printf(need->arena,
                                 "%s is not ordered after " NAME_UNIT
                                 ": at boot its gate may ask before anything is reserved",
                                 need->unit->name),
                    arena_printf(need->arena,
                                 "systemctl edit %s: [Unit] Wants=" NAME_UNIT
                                 " and After=" NAME_UNIT,
                                 need->unit->name),
                    problems);
}

/* ---- units ---- */

void loaded_unit_judge_state(const Config *config, const UnitSearch *search, const LoadedUnit *unit,
                             Diags *problems) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const char *state = unit->load_state;

        ARRAY_FOREACH(instance, config->instances, config->n_instances) {
                if (text_equals(state, "loaded") || !text_equals(instance->unit, unit->name))
                        continue;
                Diag diag = config_diag(instance, PROBLEM_UNIT_NOT_LOADED, "Unit", NULL, NULL);

                if (text_equals(state, "not-found")) {
                        const char *nearest = search ? search->find_nearest(arena, search->sources,
                                                                            config, instance)
                                                     : NULL;

                        diag.text = arena_printf(
                                arena,
                                "systemd does not know %s, which is to wait for the pages of %s",
                                unit->name, instance->name);
                        diag.remedy =
                                arena_printf(arena, "%s%s%s; then run 'systemctl daemon-reload'",
                                             nearest ? "did you mean " : "", nearest ? nearest : "",
                                             nearest ? "? Correct the line, or install the unit"
                                                     : "name an existing unit, or install it");
                } else if (text_equals(state, "masked")) {
                        diag.severity = SEVERITY_NOTICE;
                        diag.text = arena_printf(
                                arena,
                                "%s is masked and cannot be started; the pages of %s stay reserved",
                                unit->name, instance->name);
                        diag.remedy = arena_printf(
                                arena, "remove the instance's file, or run 'systemctl unmask %s'",
                                unit->name);
                } else {
                        diag.text = arena_printf(
                                arena, "systemd does not accept %s (%s): it cannot be started",
                                unit->name, text_printable(arena, state));
                        diag.remedy =
                                arena_printf(arena, "run 'systemd-analyze verify %s'", unit->name);
                }
                diags_add(problems, &diag);
        }
}

void loaded_unit_judge_access(const LoadedUnitInput *input, const LoadedUnit *unit,
                              Diags *problems) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        ARRAY_FOREACH(instance, input->config->instances, input->config->n_instances) {
                const Need need = {arena, input, unit, instance,
                                   plan_find(input->plan, instance->name)};

                if (!text_equals(instance->unit, unit->name) || instance->refusal || !need.planned)
                        continue;
                judge_nodes(&need, problems);
                judge_right(&need, problems);
        }
}

void loaded_units_judge(const LoadedUnitInput *input, const LoadedUnits *units, Diags *problems) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        VEC_FOREACH(unit, units) {
                if (!text_equals(unit->load_state, "loaded")) {
                        loaded_unit_judge_state(input->config, NULL, unit, problems);
                        continue;
                }
                if (unit->is_outdated)
                        diags_report(
                                problems, problem_of(PROBLEM_UNIT_CHANGED, NULL, reload_remedy),
                                "the files of %s have changed since systemd read them", unit->name);
                loaded_unit_judge_gates(input->config, unit, problems);
                ARRAY_FOREACH(instance, input->config->instances, input->config->n_instances)
                        if (text_equals(instance->unit, unit->name))
                                judge_order(&(Need){arena, input, unit, instance}, problems);
                loaded_unit_judge_access(input, unit, problems);
        }
        unit_match_judge(arena, input, units, problems);
}
