/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Rules about the instances and the host: memory, pools, control groups, units.
 * Sources: Documentation/admin-guide/mm/hugetlbpage.rst, mm/overcommit-accounting.rst, cgroup-v2.rst (hugetlb, memory),
 * cgroup v2's memory_hugetlb_accounting, systemd.exec(5), systemd.resource-control(5), logind.conf(5). */

#include "base/text.h"
#include "check/rule_run.h"
#include "model/names.h"

#include <string.h>

/* ---- memory ---- */

static void find_70(RuleRun *run) {
        uint64_t memory = topology_memory_bytes(run->input->topology);
        uint64_t planned =
                ARRAY_SUM(instance, run->instances, run->n_instances, rule_planned_bytes(instance));

        if (planned > share_of(memory, 7000) && planned <= memory)
                rule_report(
                        run, (Diag){},
                        "compare the rest with work_mem (or the equivalent) times the number of sessions",
                        "the instances want %s of %s; sessions, sorts and the page cache use the rest",
                        format_size(run->arena, planned), format_size(run->arena, memory));
}

static void find_commit_limit(RuleRun *run) {
        const Topology *topology = run->input->topology;
        const Plan *plan = run->input->plan;
        const CommitLimit *commit = &topology->commit;
        uint64_t huge = ARRAY_SUM(pool, plan->pools, plan->n_pools,
                                  mul_saturated(pool->to_pages, pool->page_size_bytes));
        uint64_t others = sub_floored(topology_memory_bytes(topology), huge);
        uint64_t allocatable =
                add_saturated(mul_div(others, commit->percent, 100), topology->swap_bytes);
        /* What programs should be able to allocate: all but what is to stay free. */
        uint64_t wanted = sub_floored(others, plan->keep_free_bytes);

        if (commit->percent > 0 && huge > 0 && allocatable < wanted)
                rule_report(
                        run, (Diag){.file = PATH_OVERCOMMIT_RATIO},
                        arena_printf(
                                run->arena, "raise vm.overcommit_ratio to %" PRIu64,
                                mul_div_up(sub_floored(wanted, topology->swap_bytes), 100, others)),
                        "huge pages lower what programs may allocate with vm.overcommit_memory=2: %" PRIu64
                        "%% of the other %s%s. Allocations beyond these %s fail, though memory is free",
                        commit->percent, format_size(run->arena, others),
                        topology->swap_bytes > 0
                                ? arena_printf(run->arena, ", and %s of swap",
                                               format_size(run->arena, topology->swap_bytes))
                                : "",
                        format_size(run->arena, allocatable));
}

static void find_memory_errors(RuleRun *run) {
        uint64_t bytes = run->input->topology->failed_bytes;

        if (bytes > 0)
                rule_report(
                        run, (Diag){.file = PATH_MEMINFO},
                        "find the module by 'journalctl -k -g \"Memory failure\"', and replace it",
                        "the kernel has stopped using %s because of memory errors (HardwareCorrupted). An error takes a whole huge page; hugeplan reserves another one while there is memory",
                        format_size(run->arena, bytes));
}

/* ---- what the unit forbids its gate ---- */

static const UnitAssignment *find_forbidding(const UnitFile *file, const char *key,
                                             const char *words) {
        return unit_allows(file, key, words, true) ? NULL : unit_file_find(file, "Service", key);
}

/* Settings that hide paths, or show what others hide. A root directory may have the program of the gate. */
enum { OF_SOCKET = 1, OF_GATE = 2 };

static const struct {
        const char *key, *hides; /* "/": all; "": the paths in the value; NULL: it shows these */
        int of;
} path_settings[] = {
        {"RootDirectory", "/", OF_SOCKET},
        {"RootImage", "/", OF_SOCKET},
        {"TemporaryFileSystem", "", OF_SOCKET | OF_GATE},
        {"InaccessiblePaths", "", OF_SOCKET | OF_GATE},
        {"NoExecPaths", "", OF_GATE},
        {"BindPaths", NULL, OF_SOCKET | OF_GATE},
        {"BindReadOnlyPaths", NULL, OF_SOCKET | OF_GATE},
        {"ExecPaths", NULL, OF_GATE},
};

/* Returns the path in WORD, without a "/" at its end, or NULL: "-/path", "/path:options", "/from:/path:options". */
static const char *named_path(Arena *arena, const char *hides, const char *word) {
        const char *rest = word + strspn(word, "-+");
        char *first = text_next_word(arena, &rest, ":");
        char *path = (hides ? NULL : text_next_word(arena, &rest, ":")) ?: first;

        if (path && text_ends_with(path, "/"))
                path[strlen(path) - 1] = '\0';
        return hides && *hides ? "" : path;
}

/* Returns the line that hides PATH: of all that name a directory of it, the deepest decides. */
static const UnitAssignment *find_hiding(Arena *arena, const UnitFile *file, const char *path,
                                         int of) {
        const UnitAssignment *hiding = NULL;
        size_t deepest = 0;

        ARRAY_FOREACH(setting, path_settings, ARRAY_LEN(path_settings)) {
                const UnitAssignments lines = unit_file_list(file, "Service", setting->key);

                VEC_FOREACH(line, &lines)
                        TEXT_FOREACH(word, arena, (*line)->value, " \t") {
                                const char *named = named_path(arena, setting->hides, word);

                                if (!(setting->of & of) || !named || strlen(named) < deepest ||
                                    !text_is_within(path, named))
                                        continue;
                                deepest = strlen(named);
                                hiding = setting->hides ? *line : NULL;
                        }
        }
        return hiding;
}

/* Each process of ExecStartPre= may take as long as TimeoutStartSec=, in the unit or, as TimeoutSec=, also for its stop. */
static void find_killed(RuleRun *run, const InstanceConfig *config, const UnitFile *file) {
        const UnitAssignment *limit = NULL;
        bool is_oneshot = text_equals(unit_file_value(file, "Service", "Type"), "oneshot");
        uint64_t usec = is_oneshot ? UINT64_MAX : 90 * USEC_PER_SEC;

        VEC_FOREACH(line, &file->assignments)
                if (TEXT_IS_ANY(line->key, "TimeoutStartSec", "TimeoutSec"))
                        limit = line;
        if (!limit && !is_oneshot)
                limit = run->input->facts->start_timeout;
        if ((limit && parse_duration_usec(limit->value, &usec) < 0) || usec == 0 ||
            usec == UINT64_MAX || usec > config->wait_timeout_usec)
                return;
        rule_report(run, limit ? rule_at_unit(limit) : (Diag){.file = file->fragment_path},
                    arena_printf(run->arena,
                                 "make WaitTimeout= of %s less than TimeoutStartSec= of %s",
                                 config->name, file->name),
                    "systemd kills the gate of %s after %s, before its log has a reason",
                    file->name, format_duration(run->arena, usec));
}

static void find_cut_off(RuleRun *run, const RuleInstance *instance) {
        const UnitFacts *unit = instance->facts->unit;

        if (!unit)
                return;
        const UnitAssignments gates = unit_file_list(unit->file, "Service", "ExecStartPre");
        const UnitAssignment *hiding = find_hiding(run->arena, unit->file, PATH_SOCKET, OF_SOCKET);
        const struct {
                const UnitAssignment *at;
                const char *line;
        } ways[] = {
                {hiding, "BindPaths=" PATH_RUNTIME},
                {find_forbidding(unit->file, "RestrictAddressFamilies", "AF_UNIX AF_LOCAL"),
                 "RestrictAddressFamilies=AF_UNIX"},
                {find_forbidding(unit->file, "SystemCallFilter",
                                 "socket connect @network-io @system-service @known"),
                 "SystemCallFilter=@network-io"},
        };

        ARRAY_FOREACH(way, ways, ARRAY_LEN(ways))
                if (way->at)
                        rule_report(
                                run, rule_at_unit(way->at),
                                arena_printf(run->arena, "add %s to %s", way->line, unit->name),
                                "the gate of %s cannot reach hugepland: it decides by the kernel's files, does not determine the size before a start, and no hugetlb limit is set%s",
                                unit->name,
                                text_equals(way->at->key, "SystemCallFilter")
                                        ? "; unless an error number is set, the kernel kills it"
                                        : "");
        find_killed(run, instance->config, unit->file);
        VEC_FOREACH(gate, &gates) {
                const SourceNames words = unit_file_command(unit->file, (*gate)->value);

                if (words.n > 0 && text_ends_with(words.items[0], "/hugeplanctl") &&
                    (hiding = find_hiding(run->arena, unit->file, words.items[0], OF_GATE)))
                        rule_report(run, rule_at_unit(hiding),
                                    "remove the line, or let the unit have that program",
                                    "%s cannot start: it may not execute %s, its gate", unit->name,
                                    words.items[0]);
        }
}

/* ---- nodes ---- */

/* Instances that name their nodes are meant to be there. */
static void find_no_cpu(RuleRun *run, const RuleInstance *instance) {
        const PlanInstance *planned = instance->planned;
        const InstanceConfig *config = instance->config;
        const IdSet *nodes = &run->input->facts->cpu_nodes;
        IdSet all = *nodes, others = {};
        uint64_t memory = 0, pages = 0;

        if (id_set_is_empty(nodes) || config->has_nodes || config->n_node_memory > 0)
                return;
        ID_SET_FOREACH(id, nodes)
                memory += topology_node(run->input->topology, id)->memory_bytes;
        VEC_FOREACH(grant, &planned->grants)
                if (!id_set_has(nodes, grant->node)) {
                        id_set_add(&others, grant->node);
                        pages += grant->pages;
                }
        id_set_add_all(&all, &others);
        if (pages > 0)
                rule_report(
                        run, (Diag){.file = config->file},
                        arena_printf(
                                run->arena, "write Nodes=%s (%s), or Nodes=%s if that is intended",
                                id_set_format(run->arena, nodes), format_size(run->arena, memory),
                                id_set_format(run->arena, &all)),
                        "%s has %s of its %s on %s without CPUs: such memory (CXL) is usually slower",
                        config->name, format_count(run->arena, pages),
                        rule_planned_pages(run->arena, instance),
                        topology_format_nodes(run->arena, &others));
}

/* ---- limits of the unit ---- */

/* Judges each limit once, by all instances that are planned to run below it. */
static void find_group_max(RuleRun *run) {
        const HostFacts *facts = run->input->facts;
        MemoryLimits limits = {};
        MemoryUses uses = {};

        ARRAY_FOREACH(instance, run->instances, run->n_instances) {
                const UnitFacts *unit = instance->facts->unit;

                if (!unit)
                        continue;
                *vec_push(run->arena, &uses) = (MemoryUse){
                        instance->config->name,
                        arena_printf(run->arena, "%s%s", facts->hierarchy, unit->group),
                        instance->planned->page_size_bytes, rule_planned_bytes(instance)};
                VEC_FOREACH(limit, &unit->limits)
                        if ((limit->page_size_bytes > 0) == (run->row->kind == RULE_CGROUP_MAX) &&
                            !memory_limits_find(&limits, limit->path, limit->key))
                                *vec_push(run->arena, &limits) = *limit;
        }
        VEC_FOREACH(limit, &limits) {
                const MemoryLimits one = {limit, 1, 1};
                const Reason reason = memory_limits_judge(run->arena, &one, &uses);

                if (reason.kind != REASON_NONE)
                        rule_report(run, (Diag){.file = limit->file, .line = limit->line},
                                    reason.remedy, "%s", reason.text);
        }
}

/* ---- what was learned ---- */

/* An upper bound exceeds the figure of the server itself and proves nothing: proof is that the same rule gave less when
 * the size was learned, or else the bytes that the settings give directly. */
static void find_stale(RuleRun *run, const RuleInstance *instance) {
        const Learned *learned = &instance->config->learned;
        const Sizing *sizing = instance->sizing;
        const char *word = "";

        if (instance->config->memory_kind != MEMORY_AUTO || learned->pages.n == 0 || !sizing ||
            run->input->is_aside)
                return;
        uint64_t known = page_counts_find(&learned->pages, sizing->page_size_bytes);
        uint64_t by_rule = page_counts_find(&learned->by_rule, sizing->page_size_bytes);
        uint64_t needed = sizing->pages;

        if (learned->is_exact && !sizing->is_exact && by_rule > 0) {
                word = "about ";
                needed = add_saturated(known, sub_floored(sizing->pages, by_rule));
        } else if (learned->is_exact && !sizing->is_exact) {
                word = "more than ";
                /* Steps without a formula are taken from the settings directly; formulas are estimates. */
                needed =
                        div_round_up(VEC_SUM(step, &sizing->steps, step->formula ? 0 : step->bytes),
                                     sizing->page_size_bytes);
        }
        if (known == 0 || needed <= known)
                return;
        rule_report(
                run, (Diag){.file = instance->config->file},
                "restart it before the next reboot: its gate stores the new size",
                "the learned size of %s is %s, and its settings have changed since: %s%s. The next boot reserves too few pages, and its gate must then find the others in memory that has been used",
                instance->config->name,
                format_page_count_and_size(run->arena, known, sizing->page_size_bytes), word,
                format_count(run->arena, needed));
}

/* ---- the next boots ---- */

static void find_uncounted(RuleRun *run) {
        const char *why = run->input->facts->boot_uncounted;

        if (why)
                rule_report(
                        run, (Diag){.file = PATH_BOOT_COUNT},
                        "make room on that disk, or make it writable, then 'systemctl restart hugeplan.service'",
                        "could not be written: %s. The boot guard has not counted this boot, so a boot that fails because of the reservation would fail again and again",
                        why);
}

/* ---- logins ---- */

/* systemd keeps the shared memory of system users, whose uids are below 1000. */
static void find_remove_ipc(RuleRun *run, const RuleInstance *instance) {
        const HostFacts *facts = run->input->facts;
        const OwnerFacts *owner = &instance->facts->owner;
        const char *name = instance->config->engine->name;
        bool removes = true;

        if (facts->remove_ipc)
                parse_boolean(facts->remove_ipc->value, &removes);
        if (!removes || !owner->has_ids || owner->uid < 1000 ||
            !(rule_uses_sysv(instance) || text_equals(name, "postgresql")))
                return;
        rule_report(
                run,
                facts->remove_ipc ? rule_at_unit(facts->remove_ipc)
                                  : (Diag){.file = "/etc/systemd/logind.conf", .key = "RemoveIPC"},
                "write RemoveIPC=no, then restart systemd-logind",
                "%s: when the last login of %s (uid %" PRIu64
                ", not a system user) ends, logind removes the shared memory and semaphores of a running %s%s",
                instance->config->name, owner->name, owner->uid, instance->config->engine->title,
                facts->remove_ipc
                        ? ""
                        : ": RemoveIPC=yes is systemd's default; some distributions change it to no");
}

/* ---- transparent huge pages ---- */

/* Compares the policy with what each database asks for; the vendors' advice is beside the engines. Planning finds
 * instances that disagree with each other. */

static void find_thp(RuleRun *run) {
        const HostConfig *host = &run->input->config->host;
        const char *kernels = run->input->topology->thp_enabled;
        bool is_always = run->row->kind == RULE_THP_ALWAYS;
        /* The policy after the plan is applied: the plan's, or the kernel's if the plan keeps it. */
        ThpPolicy policy = run->input->thp->policy;

        if (policy == THP_KEEP && (!kernels || thp_policy_from_name(kernels, &policy) < 0))
                policy = THP_AUTO;
        /* If the policy is made from the preferences, thp-conflict names the instances that do not get theirs. */
        if (host->thp == THP_AUTO)
                return;
        ARRAY_FOREACH(instance, run->instances, run->n_instances) {
                ThpPolicy preference = thp_preference_of(instance->config);

                if (is_always ? !thp_is_served_by_unit(preference, policy)
                              : policy == THP_AUTO || preference <= policy ||
                                        preference < THP_MADVISE)
                        continue;
                rule_report(
                        run, (Diag){.file = instance->config->file},
                        is_always
                                ? "write TransparentHugePages=auto in [Host], or, from systemd 260 on, MemoryTHP=disable for its unit"
                                : "write TransparentHugePages=auto in [Host], and, from systemd 260 on, MemoryTHP=disable for the units that want none",
                        "%s (%s) prefers transparent huge pages '%s', and [Host] %s '%s': %s",
                        instance->config->name, instance->config->engine->title,
                        thp_policy_name(preference),
                        host->thp == THP_KEEP ? "keeps the kernel's" : "gives it",
                        thp_policy_name(policy),
                        is_always
                                ? "its private memory grows, and it stalls while the kernel compacts"
                                : "it gets small pages and runs slower");
        }
}

static const RuleRow rows[] = {
        {RULE_PLAN_70, NULL, NULL, find_70},
        {RULE_COMMIT_LIMIT, NULL, NULL, find_commit_limit},
        {RULE_MEMORY_ERRORS, NULL, NULL, find_memory_errors},
        {RULE_NODE_NO_CPU, NULL, find_no_cpu, NULL},
        {RULE_CGROUP_MAX, NULL, NULL, find_group_max},
        {RULE_MEMORY_MAX, NULL, NULL, find_group_max},
        {RULE_LEARNED_STALE, NULL, find_stale, NULL},
        {RULE_GATE_CUT_OFF, NULL, find_cut_off, NULL},
        {RULE_REMOVE_IPC, NULL, find_remove_ipc, NULL},
        {RULE_BOOT_UNCOUNTED, NULL, NULL, find_uncounted},
        {RULE_THP_ALWAYS, NULL, NULL, find_thp},
        {RULE_THP_NEVER, NULL, NULL, find_thp},
};

const RuleFamily rules_host = {rows, ARRAY_LEN(rows)};
