/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What must hold after every step: the definition of what hugeplan promises. */
#include "history/history.h"

#include "base/size.h"
#include "base/text.h"
#include "demand/unit_policy.h"
#include "model/problem.h"

/* ---- 1: every process can touch all that it has mapped, in any order ---- */

static const char *process_name(const History *history, size_t i) {
        return i < UNITS ? history->units[i].name
                         : arena_printf(history->arena, "the other process with pid %" PRIu64,
                                        kernel_pid(history->others[i - UNITS].process));
}

/* Whether the status reports that others may take the pages of UNIT, or have taken them. */
static bool is_reported_exposed(const Status *status, const char *unit) {
        return ARRAY_ANY(instance, status->instances, status->n_instances,
                         text_equals(instance->unit, unit) && instance->verdict == VERDICT_LOST) ||
               VEC_ANY(problem, &status->problems.list,
                       text_equals(problem->id, problem_id(PROBLEM_PAGES_EXPOSED)) &&
                               strstr(problem->text, unit));
}

/* Whether the hugetlb controller counts for UNIT. Otherwise hugeplan attributes to UNIT, up to its grant, pages
 * that other users have reserved or that came into use since UNIT started. */
static bool is_counted(const History *history, const char *unit) {
        const LedgerHold *hold = ledger_hold(keeper_look(history->keeper)->ledger, unit, NULL);
        const char *group = arena_printf(history->arena, "/system.slice/%s", unit);
        KernelCharge charge;

        return hold && hold->is_counted &&
               kernel_group_charge(history->kernel, group, 2 * MIB, &charge) == 0 &&
               charge.is_counted;
}

/* If others have switched the controller off and on, it counts for some units only. */
static bool has_uncounted(const History *history) {
        return ARRAY_ANY(unit, history->units, UNITS,
                         unit->state != UNIT_DOWN && unit->was_gated &&
                                 !is_counted(history, unit->name));
}

bool is_all_known(const History *history) {
        return !ARRAY_ANY(unit, history->units, UNITS,
                          unit->state != UNIT_DOWN && !is_counted(history, unit->name)) &&
               !has_other_users(history);
}

/* Whether a gated unit without the controller has not mapped all its pages yet while there are other users. hugeplan
 * may attribute their reservations to that unit, which then maps its pages besides. */
static bool is_owner_guessed(const History *history) {
        return ARRAY_ANY(unit, history->units, UNITS,
                         (unit->state == UNIT_ADMITTED || unit_maps_more(unit)) &&
                                 unit->was_gated && !is_counted(history, unit->name)) &&
               has_other_users(history);
}

/* What hugeplan does makes no safe process unsafe, not even a process of no unit or an ungated unit. There are two
 * exceptions. If other users have left a process without its pages (BEFORE is not empty), other processes live
 * on the pages that this process would leave when it is killed; once a repair gives it its pages back, they may
 * miss them. And a process that could have died before was not safe: BEFORE results from a few orders of
 * touching, so many more are tried. */
static void check_still_safe(History *history, ProcessSet before, ProcessSet now) {
        for (size_t i = 0; i < UNITS + OTHERS; i++) {
                ProcessSet process = (ProcessSet) 1 << i;

                if (before & process || !(now & history->checked & process) ||
                    is_owner_guessed(history))
                        continue;
                if ((before && has_other_users(history)) ||
                    could_have_died(history, i, SUPPOSE_OTHERS_TOUCH)) {
                        if (has_other_users(history))
                                history->harmed |= process;
                } else
                        report_failure(history, "safety",
                                       "%s was safe, and may die now when all touch their pages",
                                       process_name(history, i));
        }
}

/* Whether a unit was admitted although pages are missing. With Isolate=no, no hugetlb limit keeps such a unit
 * from pages of others, and the status reports whose pages it may take only once they are mapped. */
static bool has_short_unit(const History *history) {
        return ARRAY_ANY(unit, history->units, UNITS, unit->state != UNIT_DOWN && unit->is_short);
}

/* Whether surplus pages have disappeared since the daemon last settled. The kernel frees unused surplus pages when
 * any reservation is given up (return_unused_surplus_pages()), whichever process they would have served. */
static bool has_surplus_gone(History *history) {
        PoolCounts now = pool_counts(history);
        uint64_t surplus = 0;

        for (unsigned i = 0; i < history->n_sizes; i++)
                for (unsigned node = 0; node < history->n_nodes; node++)
                        surplus += now.surplus[i][node];
        if (history->is_settled)
                history->settled_surplus = surplus;
        return surplus < history->settled_surplus;
}

/* An admitted unit is safe from all users that hugeplan knows. It is also safe from other users, or the status
 * reports the exposure once the unit has mapped its pages. If the hugetlb controller does not count for the unit,
 * the owners of pages are estimates of the last look: the check then needs a settled daemon and no other users. */
static void check_admitted(History *history, const Status *status) {
        ProcessSet unsafe = has_surplus_gone(history) ||
                                            (history->is_ledger_lost && has_other_users(history)) ||
                                            (has_uncounted(history) && has_other_users(history))
                                    ? 0
                                    : history->unsafe & ~history->harmed;

        for (size_t i = 0; i < UNITS; i++) {
                const Unit *unit = &history->units[i];
                ProcessSet process = unit_bit(history, unit);
                bool is_any_mapped = unit->state == UNIT_UP && unit->process &&
                                     kernel_mapping_at(unit->process, 0);

                /* The gate of a short unit has reported what others may take of it, and what it may take of others. */
                if (!(unsafe & process) || !unit->was_gated ||
                    (has_short_unit(history) && !is_counted(history, unit->name)) ||
                    is_reported_exposed(status, unit->name) ||
                    (!is_counted(history, unit->name) &&
                     (has_other_users(history) || !history->is_settled)))
                        continue;
                if (history->unsafe_without_others & process &&
                    (is_any_mapped || !has_short_unit(history)))
                        report_failure(
                                history, "unsafe start",
                                "%s was admitted, and may die when all units touch their pages",
                                unit->name);
                else if (unit->state == UNIT_UP && !unit_maps_more(unit))
                        report_failure(
                                history, "not reported",
                                "others may take the pages of %s, and the status does not say so",
                                unit->name);
        }
}

/* Surplus pages are no reservation. A process that lives only because the kernel would make a surplus page at its
 * fault or mmap(2) can lose that page to any process that maps, and to any page that becomes free on another
 * node, because the kernel then makes none. No write of hugeplan is to blame for that. Safety is therefore also
 * checked for the pages that exist alone, as if the kernel could make no surplus pages. */
static void check_safety(History *history, Actor actor) {
        ProcessSet before = history->unsafe, before_without_others = history->unsafe_without_others;
        ProcessSet before_no_surplus = history->unsafe_no_surplus;

        history->unsafe = find_unsafe(history, SUPPOSE_OTHERS_TOUCH | SUPPOSE_SURPLUS_PAGES);
        history->unsafe_without_others =
                history->unsafe ? find_unsafe(history, SUPPOSE_SURPLUS_PAGES) : 0;
        history->unsafe_no_surplus = may_overcommit(history)
                                             ? find_unsafe(history, SUPPOSE_OTHERS_TOUCH)
                                             : history->unsafe;
        /* While other users have left too few pages for all, the first processes to touch get them. */
        bool is_for_few = actor == ACTOR_OTHER || history->harmed != 0;

        if (is_for_few &&
            has_short_unit(history)) /* which may have taken the pages that others take now */
                before = before_without_others = 0;
        if (is_for_few)
                history->harmed |= (history->unsafe & ~before) |
                                   (history->unsafe_without_others & ~before_without_others);
        else if (actor == ACTOR_HUGEPLAN)
                check_still_safe(history, before | before_no_surplus, history->unsafe);
        if (is_for_few || history->harmed_no_surplus != 0)
                history->harmed_no_surplus |= history->unsafe_no_surplus & ~before_no_surplus;
        else if (actor == ACTOR_HUGEPLAN)
                check_still_safe(history, before_no_surplus, history->unsafe_no_surplus);
        /* Other users had left the process nothing but surplus pages, and those are gone. */
        history->harmed |= history->unsafe & history->harmed_no_surplus & ~before;
        history->harmed &= history->unsafe;
        history->harmed_no_surplus &= history->unsafe_no_surplus;
        history->checked = find_checked(history);
        kernel_free(history->last_checked);
        history->last_checked = kernel_copy(history->kernel);
}

void check_between(History *history, Actor actor) {
        if (!history->failure && !kernel_has_miscounted(history->kernel))
                check_safety(history, actor);
}

/* ---- 2: a ready instance can start ---- */

static bool is_unit_down(const History *history, const char *name) {
        return ARRAY_ANY(unit, history->units, UNITS,
                         unit->state == UNIT_DOWN && text_equals(unit->name, name));
}

static void check_ready(History *history, const Status *status) {
        const Config *config = keeper_config(history->keeper);

        for (size_t i = 0; i < status->n_instances; i++) {
                const StatusInstance *instance = &status->instances[i];

                if (instance->verdict != VERDICT_READY || instance->pages_wanted == 0 ||
                    instance->is_running || mount_may_differ(history, instance->name) ||
                    (instance->unit && !is_unit_down(history, instance->unit)))
                        continue;
                /* An instance without a unit may already run, and be one of the other users. */
                if (!instance->unit && has_other_users(history))
                        continue;
                MemoryPolicy policy = instance->unit ? unit_policy(config, instance->unit)
                                                     : (MemoryPolicy){.kind = MEMORY_POLICY_ANY};

                const Claim claim = {instance->page_size_bytes, instance->pages_wanted,
                                     mount_of(history, instance->name)};

                if (!could_start(history, &policy, &claim, false))
                        report_failure(history, "ready", "%s is ready, and cannot start",
                                       instance->name);
                /* hugeplan can allow only for users whose pages it knows. */
                else if (is_all_known(history) && !could_start(history, &policy, &claim, true))
                        report_failure(history, "ready",
                                       "%s is ready, and others may take its pages",
                                       instance->name);
        }
}

/* ---- 3: at rest the pools are the plan ---- */

static bool is_at_rest(const History *history) {
        return !ARRAY_ANY(unit, history->units, UNITS, unit->state != UNIT_DOWN) &&
               history->is_settled && !has_other_users(history) &&
               keeper_config(history->keeper)->host.on_drift == DRIFT_REPAIR;
}

static uint64_t granted_on(const Plan *plan, unsigned node, uint64_t page_bytes) {
        uint64_t pages = 0;

        for (size_t i = 0; i < plan->n_instances; i++)
                if (plan->instances[i].page_size_bytes == page_bytes)
                        pages += pages_on(&plan->instances[i].grants, node);
        return pages;
}

/* At rest, pages that are reserved or in use belong to mounts: to min_size=, or to files that servers have left.
 * Pools hold these pages besides the plan, as surplus pages if memory is short. */
static uint64_t kept_by_mounts(const History *history, unsigned size) {
        KernelPool pool =
                kernel_pool(history->kernel, KERNEL_HOST, kernel_page_bytes(history->kernel, size));

        return ARRAY_ANY(mounted, history->mounts, MOUNTS, mounted->mount)
                       ? pool.total_pages - pool.free_pages + pool.reserved_pages
                       : 0;
}

static void check_rest(History *history) {
        const Plan *plan = keeper_look(history->keeper)->plan;
        bool is_kept = keeper_config(history->keeper)->host.existing_pages == EXISTING_KEEP;
        PoolCounts now = pool_counts(history);

        if (!is_at_rest(history))
                return;
        for (unsigned i = 0; i < history->n_sizes; i++)
                for (unsigned node = 0; node < history->n_nodes; node++) {
                        uint64_t bytes = kernel_page_bytes(history->kernel, i);
                        const LedgerPool *pool =
                                ledger_pool(keeper_look(history->keeper)->ledger, node, bytes);
                        uint64_t granted = granted_on(plan, node, bytes);
                        uint64_t existing = pool ? pool->found_pages : 0;
                        uint64_t expected = is_kept ? existing + granted : MAX(existing, granted);
                        /* Pages that others have added to the pool may still be there. */
                        uint64_t added = pool ? MIN(pool->added_pages, existing) : 0;
                        uint64_t most = MAX(expected, granted + added);
                        uint64_t kept = kept_by_mounts(history, i);

                        if (kernel_memory_nodes(history->kernel) & UINT64_C(1) << node &&
                            (now.persistent[i][node] + MIN(kept, now.surplus[i][node]) < expected ||
                             now.persistent[i][node] > most + kept))
                                report_failure(history, "rest",
                                               "no unit runs, and node %u has %" PRIu64
                                               " pages; granted are %" PRIu64
                                               ", existing were %" PRIu64,
                                               node, now.persistent[i][node], granted, existing);
                }
}

/* Whether every unit runs with the pages that are planned for it, and no owner of pages is estimated. */
static bool is_plan_only(const History *history, const Status *status) {
        return is_all_known(history) && status->left.n == 0 &&
               !ARRAY_ANY(instance, status->instances, status->n_instances,
                          instance->until_restart);
}

/* Without other users, each pool has the pages of the plan and its cover, whichever units run, and the status
 * says so. */
static void check_exact(History *history, const Status *status) {
        const Plan *plan = keeper_look(history->keeper)->plan;
        const PoolCounts now = pool_counts(history);

        if (!history->is_settled || has_other_users(history) ||
            keeper_config(history->keeper)->host.on_drift != DRIFT_REPAIR)
                return;
        ARRAY_FOREACH(reported, status->pools, status->n_pools) {
                const PlanPool *pool = plan_pool(plan, reported->node, reported->page_size_bytes);
                unsigned size = size_index(history, reported->page_size_bytes);

                if (pool->found_pages > 0 || kept_by_mounts(history, size) > 0)
                        continue;
                /* Without the hugetlb controller, units' pages may be attributed to others and stay. */
                if (now.persistent[size][reported->node] !=
                    (is_all_known(history) ? pool->granted_pages + pool->cover_pages
                                           : pool->to_pages))
                        report_failure(history, "not the plan",
                                       "node %u has %" PRIu64 " pages; granted are %" PRIu64
                                       ", and %" PRIu64 " are cover",
                                       pool->node, now.persistent[size][reported->node],
                                       pool->granted_pages, pool->cover_pages);
                /* Surplus pages remain of existing pages, or are in use beyond the pool. A status that requests a
                 * round shows the plan that the round will apply. */
                if (is_plan_only(history, status) && reported->surplus_pages == 0 &&
                    !status->wants_round &&
                    (reported->owned_pages != pool->granted_pages ||
                     reported->cover_pages != pool->cover_pages || reported->foreign_pages > 0))
                        report_failure(
                                history, "not the plan",
                                "the status counts %" PRIu64
                                " pages of node %u as hugeplan's, %" PRIu64 " as cover and %" PRIu64
                                " as others'; granted are %" PRIu64 ", and %" PRIu64 " are cover",
                                reported->owned_pages, reported->node, reported->cover_pages,
                                reported->foreign_pages, pool->granted_pages, pool->cover_pages);
        }
}

/* ---- 4: the status is true ---- */

/* An instance is lost only if it was ready before with its present size. With other users this is not checked,
 * because they may come and go between two looks. */
static void check_lost(History *history, const Status *status) {
        ARRAY_FOREACH(instance, status->instances, status->n_instances) {
                ReadyOnce *known = history->ready;

                while (known->name && !text_equals(known->name, instance->name))
                        known++;
                if (!known->name)
                        known->name = arena_strdup(history->arena, instance->name);
                if (instance->verdict == VERDICT_READY)
                        known->pages = instance->pages_wanted;
                else if (instance->verdict == VERDICT_LOST && !instance->is_running &&
                         !has_other_users(history) && known->pages != instance->pages_wanted)
                        report_failure(history, "never ready",
                                       "%s is reported as lost, and was never ready with %" PRIu64
                                       " pages",
                                       instance->name, instance->pages_wanted);
        }
}

void check_between_gates(History *history) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        if (!history->failure)
                check_lost(history, keeper_judge(history->keeper, arena, false));
}

/* ---- 5: no instance is short because of an unmapped part of a less important one ---- */

/* If HOLD is a part of a less important instance: its pages on NODE that the unit has not mapped. */
static uint64_t unmapped_part_on(const History *history, const PlanInstance *refused,
                                 const LedgerHold *hold, unsigned node) {
        const PlanInstance *planned =
                plan_find(keeper_look(history->keeper)->plan, hold->granted.name);
        const UnitCharge *charge =
                unit_use_charge(unit_use_find(keeper_look(history->keeper)->use, hold->unit),
                                hold->granted.page_size_bytes);

        if (!planned || !charge || !hold->is_counted || hold->is_tentative ||
            planned->demand->config->shortage != SHORTAGE_DEGRADE ||
            planned->demand->config->isolate == TRI_NO ||
            planned->demand->config->priority >= refused->demand->config->priority ||
            hold->granted.page_size_bytes != refused->page_size_bytes ||
            ledger_granted_pages(&hold->granted) >= hold->granted.pages_wanted ||
            hold->granted.grants.n != 1 ||
            VEC_SUM(each, &keeper_look(history->keeper)->ledger->holds,
                    text_equals(each->unit, hold->unit)) != 1)
                return 0;
        return MIN(ledger_pages_on(&hold->granted, node),
                   sub_floored(ledger_granted_pages(&hold->granted), charge->reserved_pages));
}

static void check_parts(History *history) {
        const Plan *plan = keeper_look(history->keeper)->plan;

        if (!history->is_settled || keeper_config(history->keeper)->host.on_drift != DRIFT_REPAIR)
                return;
        for (size_t i = 0; i < plan->n_instances; i++) {
                const PlanInstance *refused = &plan->instances[i];
                uint64_t unmapped = 0;

                if (!plan_instance_is_short(refused) || refused->pages_wanted == 0 ||
                    id_set_count(&refused->demand->nodes) != 1)
                        continue;
                ID_SET_FOREACH(node, &refused->demand->nodes)
                        VEC_FOREACH(hold, &keeper_look(history->keeper)->ledger->holds)
                                unmapped += unmapped_part_on(history, refused, hold, node);
                if (unmapped > 0)
                        report_failure(history, "part",
                                       "%s is short, and %" PRIu64
                                       " pages of a less important part are not mapped",
                                       refused->demand->config->name, unmapped);
        }
}

/* ---- all ---- */

void check_after(History *history, Actor actor) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        if (history->failure)
                return;
        daemon_revive(history);
        if (kernel_has_miscounted(history->kernel)) {
                history->is_over = true;
                return;
        }
        const Status *status = keeper_judge(history->keeper, arena, false);

        check_safety(history, actor);
        check_admitted(history, status);
        check_ready(history, status);
        check_rest(history);
        check_parts(history);
        check_exact(history, status);
        check_lost(history, status);
        for (size_t i = 0; i < status->n_pools; i++) {
                const StatusPool *reported = &status->pools[i];
                KernelPool pool = kernel_pool(history->kernel, (int) reported->node,
                                              reported->page_size_bytes);

                if (reported->total_pages != pool.total_pages ||
                    reported->free_pages != pool.free_pages ||
                    reported->surplus_pages != pool.surplus_pages)
                        report_failure(history, "wrong status", "the pool of node %u",
                                       reported->node);
                if (reported->owned_pages + reported->cover_pages + reported->foreign_pages !=
                    reported->total_pages)
                        report_failure(history, "wrong status",
                                       "the status counts %" PRIu64 " pages of node %u, %" PRIu64
                                       " as hugeplan's, %" PRIu64 " as cover and %" PRIu64
                                       " as others'",
                                       reported->total_pages, reported->node, reported->owned_pages,
                                       reported->cover_pages, reported->foreign_pages);
        }
        for (unsigned i = 0; i < history->n_sizes; i++) {
                uint64_t bytes = kernel_page_bytes(history->kernel, i), sum = 0;
                KernelPool host = kernel_pool(history->kernel, KERNEL_HOST, bytes);

                VEC_FOREACH(reserved, &status->reserved)
                        if (reserved->page_size_bytes == bytes)
                                sum += reserved->pages;
                if (sum != host.reserved_pages)
                        report_failure(history, "wrong status",
                                       "%" PRIu64
                                       " pages are reserved, and the status counts %" PRIu64,
                                       host.reserved_pages, sum);
        }
}
