/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Rules about the pools: pages that are not wanted, used by others, or beyond the pool; and about hugetlb limits
 * (units/hugetlb_limit.h): units without their limit or with that of an earlier plan, and programs that may take the
 * pages of instances because they have no limit. Sources: Documentation/admin-guide/mm/hugetlbpage.rst, mm/hugetlb.c
 * set_max_huge_pages(). */

#include "base/text.h"
#include "check/idle_pages.h"
#include "check/rule_run.h"
#include "model/names.h"
#include "plan/idle.h"
#include "units/hugetlb_limit.h"

/* Returns the pages of a size that all instances want. */
static uint64_t wanted_pages(const RuleRun *run, uint64_t page_size_bytes) {
        return ARRAY_SUM(instance, run->instances, run->n_instances,
                         instance->planned->page_size_bytes == page_size_bytes
                                 ? instance->planned->pages_wanted
                                 : 0);
}

/* ---- idle pages ---- */

static void add_idle(RuleRun *run, uint64_t page_size_bytes) {
        IdlePages idle = idle_pages_find(run->arena, run->input, page_size_bytes);
        const SettingSource *source = idle.source;
        Diag diag = {};

        if (idle.pages == 0)
                return;
        if (source)
                diag = (Diag){.file = source->file, .line = source->line, .key = source->key};
        rule_report(
                run, diag,
                arena_printf(
                        run->arena, "%sgive them back: %s",
                        !source ? ""
                        : source->source == SETTING_SOURCE_KERNEL_COMMAND_LINE
                                ? "take the words off the kernel command line, or the next boot "
                                  "brings them again; and "
                                : "take the line out, or they come back; and ",
                        idle.command),
                "%s lie idle, which no instance wants and nobody uses: %s%s%s",
                format_page_count_and_size(run->arena, idle.pages, page_size_bytes), idle.where,
                idle.origin ? "; " : "", idle.origin ? idle.origin : "");
}

/* Surplus pages are beyond the pool, and so in use. */
static void add_surplus(RuleRun *run, const PlanPool *planned) {
        const Pool *now =
                topology_pool(run->input->topology, planned->node, planned->page_size_bytes);

        if (!now || mul_saturated(now->surplus_pages, now->page_size_bytes) < IDLE_BYTES_MIN)
                return;
        rule_add_as(
                run, SEVERITY_NOTICE,
                &(Diag){.text = arena_printf(
                                run->arena,
                                "%s on node %u are surplus: in use beyond the pool, and gone "
                                "when the programs that use them release them",
                                format_page_count_and_size(run->arena, now->surplus_pages,
                                                           now->page_size_bytes),
                                planned->node),
                        .remedy = "they need no command; where they come again, set "
                                  "vm.nr_overcommit_hugepages to 0, or describe who uses them"});
}

static void find_idle_pages(RuleRun *run) {
        const Topology *topology = run->input->topology;
        const Plan *plan = run->input->plan;

        if (run->n_instances == 0 || run->input->config->host.existing_pages != EXISTING_USE)
                return;
        ARRAY_FOREACH(size, topology->page_sizes, topology->n_page_sizes)
                add_idle(run, size->bytes);
        ARRAY_FOREACH(pool, plan->pools, plan->n_pools)
                add_surplus(run, pool);
}

static void find_boot_pages(RuleRun *run) {
        bool is_kept = run->input->config->host.existing_pages == EXISTING_KEEP;

        if (!run->input->boot_line || run->n_instances == 0)
                return;
        VEC_FOREACH(boot, &run->input->boot_line->pages) {
                uint64_t wanted = wanted_pages(run, boot->page_size_bytes);
                IdlePages idle = idle_pages_find(run->arena, run->input, boot->page_size_bytes);

                /* If these pages are idle, idle-pages has named the command line already. */
                if (wanted == 0 || (!is_kept && boot->pages <= wanted) ||
                    (idle.source && idle.source->source == SETTING_SOURCE_KERNEL_COMMAND_LINE))
                        continue;
                rule_report(
                        run, (Diag){.file = PATH_CMDLINE, .key = boot->words},
                        "take the words off the kernel command line: hugeplan reserves them "
                        "early enough (for gigantic pages see hugeplanctl cmdline)",
                        "the kernel reserves %s at boot, and %s %s",
                        format_page_count_and_size(run->arena, boot->pages, boot->page_size_bytes),
                        is_kept ? "with ExistingPages=keep the instances get theirs on top:"
                                : "the instances want only",
                        format_page_count_and_size(run->arena, wanted, boot->page_size_bytes));
        }
}

/* ---- beyond the pools ---- */

static void find_overcommit(RuleRun *run) {
        const SettingSources *sources = run->input->setting_sources;

        VEC_FOREACH(overcommit, &run->input->facts->overcommits) {
                uint64_t bytes = overcommit->page_size_bytes;
                const char *path = page_size_path(run->arena, PATH_HUGEPAGES, bytes,
                                                  "nr_overcommit_hugepages");
                const char *shown = arena_printf(run->arena, "%" PRIu64, overcommit->pages);
                /* What set it: an entry for the file of its size or, for the default size, for sysctl. */
                const SettingSource *source =
                        sources ? setting_source_for_path(sources, path, shown) : NULL;

                if (!source && sources && bytes == run->input->topology->default_page_size_bytes)
                        source = setting_source_for_path(sources, PATH_NR_OVERCOMMIT, shown);
                if (wanted_pages(run, bytes) == 0)
                        continue;
                rule_report(
                        run, (Diag){.file = path},
                        arena_printf(run->arena, "%srun: echo 0 > %s",
                                     source ? "take that out, then " : "", path),
                        "programs may take %s beyond the pools%s%s: a database that is short starts all the same, from memory that others need, and not at the next boot",
                        format_page_count_and_size(run->arena, overcommit->pages, bytes),
                        source ? ", because of " : "",
                        source ? setting_source_format(run->arena, source) : "");
        }
}

/* ---- users of the pools ---- */

/* Adds the problems that `verify` has for this rule. */
static void add_proved(RuleRun *run, const RuleInstance *instance) {
        const Proof *proof = !run->input->proofs ? NULL
                                                 : VEC_FIND(each, run->input->proofs,
                                                            text_equals(each->instance->name,
                                                                        instance->config->name));
        Diags problems = diags_in(run->arena);

        if (proof)
                proof_add_problems(proof, SEVERITY_WARNING, &problems);
        VEC_FOREACH(problem, &problems.list)
                if (text_equals(problem->id, rules[run->row->kind].id))
                        rule_add(run, problem);
}

/* Returns the pages of the pools once the plan is applied. */
static uint64_t planned_pool_pages(const RuleRun *run, uint64_t page_size_bytes) {
        const Plan *plan = run->input->plan;
        return ARRAY_SUM(pool, plan->pools, plan->n_pools,
                         pool->page_size_bytes == page_size_bytes ? pool->to_pages : 0);
}

/* Returns whether the pages certainly belong to a living program that is no instance. */
static bool is_other_program(const RuleRun *run, const PageUser *user) {
        /* Pages of an instance without Unit= cannot be told from others. */
        uint64_t segment;

        return !page_user_segment(run->arena, user, &segment) &&
               !ARRAY_ANY(instance, run->instances, run->n_instances,
                          instance->config->unit
                                  ? text_equals(instance->config->unit, user->unit)
                                  : instance->planned->page_size_bytes == user->page_size_bytes);
}

/* Returns whether the planned pool is too small for USER's pages and those of the instances. */
static bool is_in_need(const RuleRun *run, const PageUser *user) {
        return add_saturated(wanted_pages(run, user->page_size_bytes), page_user_kept_pages(user)) >
               planned_pool_pages(run, user->page_size_bytes);
}

static void add_held(RuleRun *run, const PageUser *user) {
        uint64_t pages = MIN(plan_held_by_others(run->input->plan, user->page_size_bytes),
                             page_user_kept_pages(user));

        if (pages > 0 && (user->unit || user->pid > 0)) {
                const Diag held = page_user_held(run->arena, user, pages);

                rule_add_as(run, SEVERITY_NOTICE, &held);
        }
}

static void find_taken(RuleRun *run) {
        if (!run->input->page_users)
                return;
        VEC_FOREACH(user, &run->input->page_users->list) {
                uint64_t wanted = wanted_pages(run, user->page_size_bytes);
                uint64_t pool = planned_pool_pages(run, user->page_size_bytes);

                if (!is_other_program(run, user))
                        continue;
                if (wanted == 0 || !is_in_need(run, user)) {
                        add_held(run, user);
                        continue;
                }
                rule_report(
                        run, (Diag){},
                        "describe it in /etc/hugeplan.d with its Unit=, or keep "
                        "it from huge pages",
                        "%s belong to no instance's unit, and the instances want %s; the pool is to have %s, too few for all",
                        page_user_format(run->arena, user), format_count(run->arena, wanted),
                        format_count(run->arena, pool));
        }
}

static void find_left_segments(RuleRun *run) {
        if (!run->input->page_users)
                return;
        VEC_FOREACH(user, &run->input->page_users->list) {
                uint64_t id;

                if (!page_user_segment(run->arena, user, &id))
                        continue;
                rule_report(
                        run, (Diag){.file = PATH_SYSV_SHM},
                        arena_printf(run->arena,
                                     "ipcrm -m %" PRIu64
                                     ", once you are sure that its database is down",
                                     id),
                        "segment %" PRIu64
                        " has no process attached (nattch 0) and holds %s: what a database that was killed leaves behind",
                        id,
                        format_page_count_and_size(run->arena, page_user_kept_pages(user),
                                                   user->page_size_bytes));
        }
}

/* ---- units that should have a hugetlb limit ---- */

/* Returns the unit of the instance if it should have a limit: it runs, and the host has the controller. */
static const UnitFacts *limited_unit(const RuleRun *run, const RuleInstance *instance) {
        const UnitFacts *unit = instance->facts->unit;

        /* The first instance of a unit stands for all of its instances. */
        if (!unit || !unit->is_running || !run->input->facts->has_hugetlb_limits ||
            hugetlb_limit_preference(run->input->config, instance->config->unit) == TRI_NO ||
            ARRAY_FIND(other, run->instances, run->n_instances,
                       text_equals(other->config->unit, instance->config->unit)) != instance)
                return NULL;
        return unit;
}

static const GroupLimit *find_own_limit(const UnitFacts *unit, const char *file) {
        return VEC_FIND(limit, &unit->limits,
                        text_equals(limit->file, file) && hugetlb_limit_is_limit(limit->bytes));
}

/* Returns what all instances of the unit were granted. */
static uint64_t planned_bytes(const RuleRun *run, const char *unit, uint64_t page_size_bytes) {
        return ARRAY_SUM(instance, run->instances, run->n_instances,
                         text_equals(instance->config->unit, unit) &&
                                         instance->planned->page_size_bytes == page_size_bytes
                                 ? mul_saturated(instance->planned->pages_granted, page_size_bytes)
                                 : 0);
}

/* Returns whether all pages of the instance are reserved already. */
static bool is_reserved(const RuleRun *run, const RuleInstance *instance) {
        const PlanInstance *planned = instance->planned;

        ARRAY_FOREACH(grant, planned->grants, planned->n_grants) {
                const PlanPool *pool =
                        plan_pool(run->input->plan, grant->node, planned->page_size_bytes);

                if (!pool || pool->to_pages > pool->from_pages)
                        return false;
        }
        return planned->n_grants > 0;
}

static void find_missing(RuleRun *run, const RuleInstance *instance) {
        const UnitFacts *unit = limited_unit(run, instance);
        uint64_t page_size_bytes = instance->planned->page_size_bytes;

        /* A limit is set at the first start after the plan was applied. */
        if (!unit || page_size_bytes == 0 || !is_reserved(run, instance))
                return;
        const char *file = rule_limit_file(run, unit, page_size_bytes);

        if (find_own_limit(unit, file))
                return;
        rule_report(
                run, (Diag){.file = file},
                "restart it: hugeplan sets the hugetlb limit at each start; "
                "its log says why where it does not",
                "%s runs without a hugetlb limit: it may take pages of %s that are reserved for others",
                unit->name, format_page_size(run->arena, page_size_bytes));
}

static void find_wrong(RuleRun *run, const RuleInstance *instance) {
        const UnitFacts *unit = limited_unit(run, instance);
        const Topology *topology = run->input->topology;

        for (size_t i = 0; unit && i < topology->n_page_sizes; i++) {
                uint64_t page_size_bytes = topology->page_sizes[i].bytes;
                uint64_t planned = planned_bytes(run, unit->name, page_size_bytes);
                const char *file = rule_limit_file(run, unit, page_size_bytes);
                const GroupLimit *limit = find_own_limit(unit, file);

                if (limit && limit->bytes != planned)
                        rule_report(run, (Diag){.file = file},
                                    "restart it: its hugetlb limit is set anew at each start",
                                    "the hugetlb limit of %s is at %s, and the plan has %s for it",
                                    unit->name, format_size(run->arena, limit->bytes),
                                    format_size(run->arena, planned));
        }
}

/* ---- programs without a limit ---- */

/* If such a program has taken too many pages already, pool-taken says so. */
static void find_unlimited(RuleRun *run) {
        if (!run->input->page_users || !run->input->facts->has_hugetlb_limits ||
            !ARRAY_ANY(instance, run->instances, run->n_instances,
                       instance->config->unit &&
                               hugetlb_limit_preference(run->input->config,
                                                        instance->config->unit) != TRI_NO))
                return;
        VEC_FOREACH(user, &run->input->page_users->list) {
                if (user->is_limited || page_user_kept_pages(user) == 0 ||
                    wanted_pages(run, user->page_size_bytes) == 0 || !is_other_program(run, user) ||
                    is_in_need(run, user))
                        continue;
                rule_report(
                        run, (Diag){},
                        "describe it in /etc/hugeplan.d with its Unit=, so that "
                        "it has pages and a hugetlb limit of its own",
                        "%s belong to no instance, and no hugetlb limit keeps it from taking more: the instances' own limits do not keep others out",
                        page_user_format(run->arena, user));
        }
}

/* ---- programs that a limit kills ---- */

/* Returns whether the limit hurts: its page size exists or is planned. For an instance's unit there is cgroup-max. */
static bool does_hurt(const RuleRun *run, const GroupLimit *limit) {
        const Topology *topology = run->input->topology;
        bool has_pages = wanted_pages(run, limit->page_size_bytes) > 0 ||
                         ARRAY_ANY(size, topology->page_sizes, topology->n_page_sizes,
                                   size->bytes == limit->page_size_bytes && size->total_pages > 0);

        return has_pages &&
               !ARRAY_ANY(instance, run->instances, run->n_instances,
                          instance->facts->unit && VEC_ANY(own, &instance->facts->unit->limits,
                                                           text_equals(own->file, limit->file)));
}

static void find_sigbus(RuleRun *run) {
        const GroupLimits *traps = &run->input->facts->group_traps;
        const GroupLimit *first = VEC_FIND(limit, traps, does_hurt(run, limit));
        size_t n_others = VEC_SUM(limit, traps, limit != first && does_hurt(run, limit));

        if (first)
                rule_report(
                        run, (Diag){.file = first->file},
                        "have whatever set it limit what is reserved, too (hugetlb.SIZE.rsvd.max; runc does so from "
                        "1.1.10 on), or switch huge pages off in there",
                        "a process in here%s may reserve huge pages, and is killed by SIGBUS when it touches more "
                        "than %s of them; PostgreSQL does so by default, initdb too",
                        n_others > 0 ? arena_printf(run->arena, ", and in %zu other group%s,",
                                                    n_others, n_others == 1 ? "" : "s")
                                     : "",
                        format_size(run->arena, first->bytes));
}

static const RuleRow rows[] = {
        {RULE_HUGETLB_LIMIT_MISSING, NULL, find_missing, NULL},
        {RULE_HUGETLB_LIMIT_WRONG, NULL, find_wrong, NULL},
        {RULE_HUGETLB_UNLIMITED, NULL, NULL, find_unlimited},
        {RULE_HUGETLB_SIGBUS, NULL, NULL, find_sigbus},
        {RULE_IDLE_PAGES, NULL, NULL, find_idle_pages},
        {RULE_BOOT_PAGES, NULL, NULL, find_boot_pages},
        {RULE_OVERCOMMIT_PAGES, NULL, NULL, find_overcommit},
        {RULE_FELL_BACK, NULL, add_proved, NULL},
        {RULE_OFF_PLAN, NULL, add_proved, NULL},
        {RULE_POOL_TAKEN, NULL, NULL, find_taken},
        {RULE_SYSV_LEFT, NULL, NULL, find_left_segments},
};

const RuleFamily rules_pools = {rows, ARRAY_LEN(rows)};
