/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Rules about the pools: pages that are used by others, or beyond the pool; and about hugetlb limits
 * (units/hugetlb_limit.h): units without their limit or with that of an earlier plan, and programs that may take the
 * pages of instances because they have no limit. Sources: Documentation/admin-guide/mm/hugetlbpage.rst, mm/hugetlb.c
 * set_max_huge_pages(). */

#include "base/text.h"
#include "check/kernel_args.h"
#include "check/rule_run.h"
#include "model/names.h"
#include "plan/idle.h"
#include "units/hugetlb_limit.h"

/* ---- idle pages as text ---- */

/* If the kernel does not count for a unit, its mappings are used instead. */
static void count_mappings(Arena *arena, const HostView *input, Ledger *ledger, HostUse *use) {
        const Demand *demand = input->plan->demand;

        VEC_FOREACH(user, &input->page_users->list) {
                const DemandInstance *instance =
                        user->unit ? ARRAY_FIND(each, demand->instances, demand->n_instances,
                                                each->n_options > 0 &&
                                                        text_equals(each->config->unit, user->unit))
                                   : NULL;
                bool is_one_node = input->topology->n_nodes == 1;

                if (!instance || (user->nodes.n == 0 && !is_one_node && user->pages > 0))
                        continue;
                const InstanceConfig *config = instance->config;
                LedgerHold *hold = ledger_hold(ledger, config->unit, NULL);
                UnitUse *unit = VEC_FIND(each, &use->units, text_equals(each->unit, user->unit));

                /* If the unit was not started by its gate, its hold has what its instance wants and, as in the plan, no
                 * known policy: pages that the plan keeps for it are not idle. */
                if (!hold) {
                        hold = vec_push(arena, &ledger->holds);
                        *hold = (LedgerHold){
                                .unit = config->unit,
                                .run = "",
                                .is_assumed = true,
                                .granted = {.name = config->name,
                                            .page_size_bytes = instance->options[0].page_size_bytes,
                                            .pages_wanted = instance->options[0].pages},
                        };
                }
                if (!unit) {
                        unit = vec_push(arena, &use->units);
                        *unit = (UnitUse){.unit = user->unit, .is_running = true};
                }
                if (hold->is_counted && unit_use_charge(unit, user->page_size_bytes))
                        continue;
                UnitCharge *charge = vec_push(arena, &unit->charges);

                hold->is_counted = true;
                charge->page_size_bytes = user->page_size_bytes;
                charge->reserved_pages = page_user_kept_pages(user);
                charge->used = user->nodes;
                if (user->nodes.n == 0)
                        pages_add_on(arena, &charge->used, input->topology->nodes[0].id,
                                     user->pages);
        }
}

IdlePages idle_pages_find(Arena *arena, const HostView *input, uint64_t page_size_bytes) {
        Ledger *ledger = ledger_copy(arena, input->ledger);
        HostUse use = *input->use;

        use.units.items = arena_memdup(arena, use.units.items, use.units.n * sizeof(UnitUse));
        use.units.capacity = use.units.n;
        if (input->page_users)
                count_mappings(arena, input, ledger, &use);
        const PlanInput plan_input = {
                .host = &input->config->host,
                .demand = input->plan->demand,
                .topology = input->topology,
                .ledger = ledger,
                .use = &use,
                .is_incomplete = input->config->is_incomplete,
        };
        const IdlePools pools = idle_pools_find(arena, &plan_input, input->plan);
        Text where = text_in(arena), command = text_in(arena);
        /* The pools before hugeplan added pages to them. */
        Topology *found = kernel_args_boot_topology(arena, input->topology);
        const SettingSource *source = NULL; /* of one of the pools */
        const Plan *plan = input->plan;
        IdlePages idle = {};

        ARRAY_FOREACH(pool, plan->pools, plan->n_pools) {
                int k = topology_page_size_index(found, pool->page_size_bytes);
                size_t n = topology_node_index(found, pool->node);

                if (k >= 0 && n < found->n_nodes)
                        found->nodes[n].pools[k].total_pages = pool->found_pages;
        }
        VEC_FOREACH(each, &pools) {
                const PlanPool *planned = each->planned;
                uint64_t pages = each->pages;

                if (planned->page_size_bytes != page_size_bytes)
                        continue;
                idle.pages += pages;
                text_add_item(&where, arena_printf(arena, "%s on node %u",
                                                   format_count(arena, pages), planned->node));
                text_printf(&command, "%secho %" PRIu64 " > %s", command.length > 0 ? "; " : "",
                            planned->to_pages - pages,
                            topology_pool_path(arena, input->topology, planned->node,
                                               page_size_bytes, "nr_hugepages"));
                if (!source)
                        source = setting_source_for_pool(input->setting_sources, found,
                                                         planned->node, page_size_bytes);
        }
        idle.where = text_string(&where);
        idle.command = text_string(&command);
        if (source)
                idle.origin = arena_printf(arena, "they come from %s",
                                           setting_source_format(arena, source));
        return mul_saturated(idle.pages, page_size_bytes) < IDLE_BYTES_MIN ? (IdlePages){} : idle;
}

/* ---- rules ---- */

/* Returns the pages of a size that all instances want. */
static uint64_t wanted_pages(const RuleRun *run, uint64_t page_size_bytes) {
        return ARRAY_SUM(instance, run->instances, run->n_instances,
                         instance->planned->page_size_bytes == page_size_bytes
                                 ? instance->planned->pages_wanted
                                 : 0);
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
                                     source ? "remove that setting, then " : "", path),
                        "programs may take %s beyond the pools%s%s: a database that lacks pages starts anyway, with memory that others need, and may not start after the next boot",
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

/* Judges each living program that is certainly no instance and has pages: whether it has taken too many, or may do so. */
static void find_others(RuleRun *run) {
        const Plan *plan = run->input->plan;
        bool is_limiting =
                run->input->facts->has_hugetlb_limits &&
                ARRAY_ANY(instance, run->instances, run->n_instances,
                          instance->config->unit &&
                                  hugetlb_limit_preference(run->input->config,
                                                           instance->config->unit) != TRI_NO);

        for (size_t i = 0; run->input->page_users && i < run->input->page_users->list.n; i++) {
                const PageUser *user = &run->input->page_users->list.items[i];
                uint64_t size_bytes = user->page_size_bytes, kept = page_user_kept_pages(user);
                uint64_t wanted = wanted_pages(run, size_bytes);
                uint64_t pool = ARRAY_SUM(each, plan->pools, plan->n_pools,
                                          each->page_size_bytes == size_bytes ? each->to_pages : 0);
                bool has_process = user->unit || user->pid > 0;
                /* The planned pool is too small for these pages and those of the instances. */
                bool is_taking = wanted > 0 && add_saturated(wanted, kept) > pool;

                /* Pages of an instance without Unit= cannot be told from others. */
                if (user->is_segment ||
                    ARRAY_ANY(instance, run->instances, run->n_instances,
                              instance->config->unit
                                      ? text_equals(instance->config->unit, user->unit)
                                      : instance->planned->page_size_bytes == size_bytes))
                        continue;
                if (run->row->kind == RULE_HUGETLB_UNLIMITED) {
                        if (is_limiting && has_process && !user->is_limited && kept > 0 &&
                            wanted > 0 && !is_taking)
                                rule_report(
                                        run, (Diag){},
                                        "describe it in /etc/hugeplan.d with its Unit=, so that "
                                        "it has pages and a hugetlb limit of its own",
                                        "%s belong to no instance, and no hugetlb limit keeps it from taking more: the limits of instances do not restrict other units",
                                        page_user_format(run->arena, user));
                } else if (is_taking) {
                        rule_report(
                                run, (Diag){},
                                has_process
                                        ? "describe it in /etc/hugeplan.d with its Unit=, or disable "
                                          "huge pages in its settings"
                                        : "remove what is not needed any more: see 'ipcs -m', and the "
                                          "files on mounts of type hugetlbfs; describe the rest in "
                                          "/etc/hugeplan.d, without Unit=",
                                "%s belong to no instance's unit, and the instances need %s; the pool is planned to have %s, too few for all",
                                page_user_format(run->arena, user),
                                format_count(run->arena, wanted), format_count(run->arena, pool));
                }
        }
}

/* ---- units that should have a hugetlb limit ---- */

/* Returns whether POOL has all of its planned pages. */
static bool is_filled(const PlanPool *pool) {
        return pool && pool->to_pages <= pool->from_pages;
}

/* Compares the limits of the instance's unit with the plan, if it should have some: it runs, the host has the controller,
 * and a restart, which sets them, would be allowed. */
static void find_limits(RuleRun *run, const RuleInstance *instance) {
        const UnitFacts *unit = instance->facts->unit;
        const PlanInstance *planned = instance->planned;
        const Topology *topology = run->input->topology;

        /* The first instance of a unit stands for all of its instances. */
        if (!unit || !unit->is_running || run->input->is_aside ||
            !run->input->facts->has_hugetlb_limits || !verdict_lets_start(plan_verdict(planned)) ||
            hugetlb_limit_preference(run->input->config, instance->config->unit) == TRI_NO ||
            ARRAY_FIND(other, run->instances, run->n_instances,
                       text_equals(other->config->unit, instance->config->unit)) != instance)
                return;
        const char *group =
                arena_printf(run->arena, "%s%s", run->input->facts->hierarchy, unit->group);

        ARRAY_FOREACH(size, topology->page_sizes, topology->n_page_sizes) {
                const char *file = hugetlb_limit_path(run->arena, group, size->bytes);
                const MemoryLimit *limit =
                        VEC_FIND(each, &unit->limits, text_equals(each->file, file));
                /* What all instances of the unit were granted. */
                uint64_t granted =
                        ARRAY_SUM(each, run->instances, run->n_instances,
                                  text_equals(each->config->unit, unit->name) &&
                                                  each->planned->page_size_bytes == size->bytes
                                          ? mul_saturated(each->planned->pages_granted, size->bytes)
                                          : 0);
                bool is_reserved =
                        planned->page_size_bytes == size->bytes && planned->grants.n > 0 &&
                        !VEC_ANY(grant, &planned->grants,
                                 !is_filled(plan_pool(run->input->plan, grant->node, size->bytes)));

                if (run->row->kind == RULE_HUGETLB_LIMIT_MISSING && !limit && is_reserved)
                        rule_report(
                                run, (Diag){.file = file},
                                "restart it: hugeplan sets the hugetlb limit at each start; if it "
                                "cannot, the unit's log says why",
                                "%s runs without a hugetlb limit: it may take pages of %s that are reserved for others",
                                unit->name, format_page_size(run->arena, size->bytes));
                if (run->row->kind == RULE_HUGETLB_LIMIT_WRONG && limit && limit->bytes != granted)
                        rule_report(run, (Diag){.file = file},
                                    "restart it: its hugetlb limit is set again at each start",
                                    "the hugetlb limit of %s is %s, and the plan has %s for it",
                                    unit->name, format_size(run->arena, limit->bytes),
                                    format_size(run->arena, granted));
        }
}

/* ---- programs that a limit kills ---- */

/* Returns whether the limit hurts: its page size exists or is planned. For an instance's unit there is cgroup-max. */
static bool does_hurt(const RuleRun *run, const MemoryLimit *limit) {
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
        const MemoryLimits *traps = &run->input->facts->group_traps;
        const MemoryLimit *first = VEC_FIND(limit, traps, does_hurt(run, limit));
        size_t n_others = VEC_SUM(limit, traps, limit != first && does_hurt(run, limit));

        if (first)
                rule_report(run, (Diag){.file = first->file},
                            "limit reserved pages, too, where this limit is set "
                            "(hugetlb.SIZE.rsvd.max; runc does so from 1.1.10 on), or disable "
                            "huge pages in this group",
                            "a process in this group%s may reserve huge pages, and is killed "
                            "by SIGBUS when it touches more than %s of them; PostgreSQL and "
                            "initdb use huge pages by default",
                            n_others > 0 ? arena_printf(run->arena, ", and in %zu other group%s,",
                                                        n_others, n_others == 1 ? "" : "s")
                                         : "",
                            format_size(run->arena, first->bytes));
}

static const RuleRow rows[] = {
        {RULE_HUGETLB_LIMIT_MISSING, NULL, find_limits, NULL},
        {RULE_HUGETLB_LIMIT_WRONG, NULL, find_limits, NULL},
        {RULE_HUGETLB_UNLIMITED, NULL, NULL, find_others},
        {RULE_HUGETLB_SIGBUS, NULL, NULL, find_sigbus},
        {RULE_OVERCOMMIT_PAGES, NULL, NULL, find_overcommit},
        {RULE_FELL_BACK, NULL, add_proved, NULL},
        {RULE_OFF_PLAN, NULL, add_proved, NULL},
        {RULE_POOL_TAKEN, NULL, NULL, find_others},
};

const RuleFamily rules_pools = {rows, ARRAY_LEN(rows)};
