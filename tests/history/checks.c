/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What must hold after every step. */
#include "history/history.h"

#include "base/size.h"
#include "base/text.h"
#include "demand/unit_policy.h"
#include "model/problem.h"

/* ---- 1: everybody may touch all that he has mapped, in any order, and lives ---- */

static const char *player_name(const History *history, size_t i) {
        return i < UNITS ? history->units[i].name
                         : arena_printf(history->arena, "the stranger with pid %" PRIu64,
                                        kernel_pid(history->strangers[i - UNITS].process));
}

/* Whether status says of a unit that others may take its pages, or that they have done so. */
static bool is_named_exposed(const Status *status, const char *unit) {
        for (size_t i = 0; i < status->n_instances; i++)
                if (text_equals(status->instances[i].unit, unit) &&
                    status->instances[i].verdict == VERDICT_LOST)
                        return true;
        VEC_FOREACH(problem, &status->problems.list)
                if (text_equals(problem->id, problem_id(PROBLEM_PAGES_EXPOSED)) &&
                    strstr(problem->text, unit))
                        return true;
        return false;
}

/* Whether the hugetlb controller counts for it. Where nobody does, what is promised to strangers is likely
 * its own, as far as anybody can see, and so is what came into use since. */
static bool is_counted(const History *history, const char *unit) {
        const LedgerHold *hold = ledger_hold(keeper_look(history->keeper)->ledger, unit, NULL);

        return hold && hold->is_counted;
}

bool is_all_known(const History *history) {
        for (size_t i = 0; i < UNITS; i++)
                if (history->units[i].state != UNIT_DOWN &&
                    !is_counted(history, history->units[i].name))
                        return false;
        return !has_strangers(history);
}

/* A unit that nobody counts has mapped nothing yet: what strangers have reserved is likely its own, as far as
 * anybody can see, and then it may take as much once more. */
static bool is_guessed(const History *history) {
        for (size_t i = 0; i < UNITS; i++)
                if (history->units[i].state == UNIT_LET && history->units[i].was_gated &&
                    !is_counted(history, history->units[i].name))
                        return has_strangers(history);
        return false;
}

/* What hugeplan does by itself hurts nobody who was safe: strangers and units without a gate neither. As
 * long as strangers have left somebody without pages, that is said of nobody: he who has his again when a
 * pool is repaired takes them, and who dies for want of some leaves his to the others. And who might have
 * died before was not safe: the orders in which that happens are only sometimes among those that were tried. */
static void check_still_safe(History *history, Players before, Players now) {
        for (size_t i = 0; i < UNITS + STRANGERS; i++) {
                Players player = (Players) 1 << i;

                if (before & player || !(now & history->asked & player) || is_guessed(history))
                        continue;
                if ((before && has_strangers(history)) ||
                    could_have_died(history, i, SUPPOSE_STRANGERS_TOUCH)) {
                        if (has_strangers(history))
                                history->hurt |= player;
                } else
                        break_off(history, "safety",
                                  "%s was safe, and may die now when all touch their pages",
                                  player_name(history, i));
        }
}

/* Somebody was told to start though he lacks some, and Isolate=no keeps him from nothing: whose pages he may
 * take is said once they are mapped. */
static bool has_short(const History *history) {
        for (size_t i = 0; i < UNITS; i++)
                if (history->units[i].state != UNIT_DOWN && history->units[i].is_short)
                        return true;
        return false;
}

/* Free surplus pages go with the next reservation that is given up (return_unused_surplus_pages()), whomever they
 * were to serve; then hugepland has to look. Whether they have, and it has not yet. */
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

/* Who is let start is safe from all others of whom hugeplan knows; from strangers who have reserved pages
 * before, where nobody knows, too, or it is said as soon as it has mapped its own. Where nobody counts, what
 * is whose was guessed when hugepland looked last. */
static void check_let_start(History *history, const Status *status) {
        Players unsafe = has_surplus_gone(history) ||
                                         (history->is_ledger_lost && has_strangers(history))
                                 ? 0
                                 : history->unsafe & ~history->hurt;

        for (size_t i = 0; i < UNITS; i++) {
                const Unit *unit = &history->units[i];
                Players player = player_unit(history, unit);

                /* Who starts short is told at its gate what others may take, and what he may take of whom. */
                if (!(unsafe & player) || !unit->was_gated ||
                    (has_short(history) && !is_counted(history, unit->name)) ||
                    is_named_exposed(status, unit->name) ||
                    (!is_counted(history, unit->name) &&
                     (has_strangers(history) || !history->is_settled)))
                        continue;
                if (history->unsafe_alone & player &&
                    (unit->state == UNIT_UP || !has_short(history)))
                        break_off(history, "let start",
                                  "%s was let start, and may die when all units touch their pages",
                                  unit->name);
                else if (unit->state == UNIT_UP)
                        break_off(history, "not said",
                                  "strangers may take the pages of %s, and nobody says so",
                                  unit->name);
        }
}

/* Surplus pages are no reservation: who lives only because the kernel would find him some at his fault or
 * mmap(2) may lose that to everybody who maps, and to each page that becomes free on another node, for then
 * it looks for none. No write can be held against that; pages that stand are judged by themselves, as if
 * there were no more of the others. */
static void look_who_is_safe(History *history, Actor actor) {
        Players before = history->unsafe, before_alone = history->unsafe_alone;
        Players before_bare = history->unsafe_bare;

        history->unsafe = find_unsafe(history, SUPPOSE_STRANGERS_TOUCH | SUPPOSE_SURPLUS_PAGES);
        history->unsafe_alone = history->unsafe ? find_unsafe(history, SUPPOSE_SURPLUS_PAGES) : 0;
        history->unsafe_bare = may_overcommit(history)
                                       ? find_unsafe(history, SUPPOSE_STRANGERS_TOUCH)
                                       : history->unsafe;
        /* While strangers have left too few pages for all, it is who comes first that has his. */
        bool is_for_few = actor == ACTOR_STRANGER || history->hurt != 0;

        if (is_for_few)
                history->hurt |= (history->unsafe & ~before) |
                                 (history->unsafe_alone & ~before_alone);
        else if (actor == ACTOR_HUGEPLAN)
                check_still_safe(history, before | before_bare, history->unsafe);
        if (is_for_few || history->hurt_bare != 0)
                history->hurt_bare |= history->unsafe_bare & ~before_bare;
        else if (actor == ACTOR_HUGEPLAN)
                check_still_safe(history, before_bare, history->unsafe_bare);
        /* Strangers had left him nothing but surplus pages, and those are gone. */
        history->hurt |= history->unsafe & history->hurt_bare & ~before;
        history->hurt &= history->unsafe;
        history->hurt_bare &= history->unsafe_bare;
        history->asked = find_asked(history);
        kernel_free(history->judged);
        history->judged = kernel_copy(history->kernel);
}

void check_between(History *history, Actor actor) {
        if (!history->broken && !kernel_broke_promise(history->kernel))
                look_who_is_safe(history, actor);
}

/* ---- 2: who is ready can start ---- */

static bool is_unit_down(const History *history, const char *name) {
        for (size_t i = 0; i < UNITS; i++)
                if (text_equals(history->units[i].name, name))
                        return history->units[i].state == UNIT_DOWN;
        return false;
}

static void check_ready(History *history, const Status *status) {
        const Config *config = keeper_config(history->keeper);

        for (size_t i = 0; i < status->n_instances; i++) {
                const StatusInstance *instance = &status->instances[i];

                if (instance->verdict != VERDICT_READY || instance->pages_wanted == 0 ||
                    instance->is_running || mount_may_differ(history, instance->name) ||
                    (instance->unit && !is_unit_down(history, instance->unit)))
                        continue;
                /* Who has no unit may run already, and what strangers have may be its own. */
                if (!instance->unit && has_strangers(history))
                        continue;
                MemoryPolicy policy = instance->unit ? unit_policy(config, instance->unit)
                                                     : (MemoryPolicy){.kind = MEMORY_POLICY_ANY};

                const Claim claim = {instance->page_size_bytes, instance->pages_wanted,
                                     mount_of(history, instance->name)};

                if (!could_start(history, &policy, &claim, false))
                        break_off(history, "ready", "%s is ready, and could not start",
                                  instance->name);
                /* Who may come first is known only of those who are counted. */
                else if (is_all_known(history) && !could_start(history, &policy, &claim, true))
                        break_off(history, "ready", "%s is ready, and others may take its pages",
                                  instance->name);
        }
}

/* ---- 3: at rest the pools are the plan ---- */

static bool is_at_rest(const History *history) {
        for (size_t i = 0; i < UNITS; i++)
                if (history->units[i].state != UNIT_DOWN)
                        return false;
        return history->is_settled && !has_strangers(history) &&
               keeper_config(history->keeper)->host.on_drift == DRIFT_REPAIR;
}

static uint64_t granted_on(const Plan *plan, unsigned node, uint64_t page_bytes) {
        uint64_t pages = 0;

        for (size_t i = 0; i < plan->n_instances; i++)
                for (size_t k = 0; k < plan->instances[i].n_grants; k++)
                        if (plan->instances[i].page_size_bytes == page_bytes &&
                            plan->instances[i].grants[k].node == node)
                                pages += plan->instances[i].grants[k].pages;
        return pages;
}

/* What mounts that are still there keep for their files, and the files have, whoever will use them: pools
 * hold it beside the plan, or it is in surplus pages where memory is short. */
static uint64_t kept_by_mounts(const History *history, unsigned size) {
        for (size_t i = 0; i < MOUNTS; i++) {
                if (!history->mounts[i].mount)
                        continue;
                KernelPool pool = kernel_pool(history->kernel, KERNEL_HOST,
                                              kernel_page_bytes(history->kernel, size));

                return pool.total_pages - pool.free_pages + pool.reserved_pages;
        }
        return 0;
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
                        uint64_t found = pool ? pool->found_pages : 0;
                        uint64_t expected = is_kept ? found + granted : MAX(found, granted);
                        /* Whoever added pages has not taken all of them away again. */
                        uint64_t added = pool ? MIN(pool->added_pages, found) : 0;
                        uint64_t most = MAX(expected, granted + added);
                        uint64_t kept = kept_by_mounts(history, i);

                        if (now.persistent[i][node] + MIN(kept, now.surplus[i][node]) < expected ||
                            now.persistent[i][node] > most + kept)
                                break_off(history, "rest",
                                          "nobody runs, and node %u has %" PRIu64
                                          " pages; granted are %" PRIu64 ", found were %" PRIu64,
                                          node, now.persistent[i][node], granted, found);
                }
}

/* All that is there is the plan's: no unit runs with other pages than are planned, and none has to be guessed at. */
static bool is_plan_only(const History *history, const Status *status) {
        return is_all_known(history) && status->left.n == 0 &&
               !ARRAY_ANY(instance, status->instances, status->n_instances,
                          instance->until_restart);
}

/* Whoever runs: where nobody else has pages, those that are there are the plan's, and its cover; and so it is said. */
static void check_exact(History *history, const Status *status) {
        const Plan *plan = keeper_look(history->keeper)->plan;
        const PoolCounts now = pool_counts(history);

        if (!history->is_settled || has_strangers(history) ||
            keeper_config(history->keeper)->host.on_drift != DRIFT_REPAIR)
                return;
        ARRAY_FOREACH(said, status->pools, status->n_pools) {
                const PlanPool *pool = plan_pool(plan, said->node, said->page_size_bytes);
                unsigned size = 0;

                while (kernel_page_bytes(history->kernel, size) != said->page_size_bytes)
                        size++;
                if (pool->found_pages > 0 || kept_by_mounts(history, size) > 0)
                        continue;
                /* Where nobody counts, what units have may be taken for others'. */
                if (now.persistent[size][said->node] !=
                    (is_all_known(history) ? pool->granted_pages + pool->cover_pages
                                           : pool->to_pages))
                        break_off(history, "not the plan",
                                  "node %u has %" PRIu64 " pages; granted are %" PRIu64
                                  ", and %" PRIu64 " are cover",
                                  pool->node, now.persistent[size][said->node], pool->granted_pages,
                                  pool->cover_pages);
                /* Surplus pages are what is left of existing ones, or in use beyond the pool. A status that begins a
                 * round is of the plan that the round carries out. */
                if (is_plan_only(history, status) && said->surplus_pages == 0 &&
                    !status->wants_round &&
                    (said->owned_pages != pool->granted_pages ||
                     said->cover_pages != pool->cover_pages || said->foreign_pages > 0))
                        break_off(history, "not the plan",
                                  "of node %u %" PRIu64 " pages are said to be ours, %" PRIu64
                                  " cover and %" PRIu64 " others'; granted are %" PRIu64
                                  ", and %" PRIu64 " are cover",
                                  said->node, said->owned_pages, said->cover_pages,
                                  said->foreign_pages, pool->granted_pages, pool->cover_pages);
        }
}

/* ---- 4: what is said is so ---- */

/* Lost is what was there: as it is described now, it has been ready. Strangers may come and go between two looks. */
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
                         !has_strangers(history) && known->pages != instance->pages_wanted)
                        break_off(history, "never ready",
                                  "%s is said to be lost, and was never ready with %" PRIu64
                                  " pages",
                                  instance->name, instance->pages_wanted);
        }
}

void check_between_gates(History *history) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        if (!history->broken)
                check_lost(history, keeper_judge(history->keeper, arena, false));
}

/* ---- 5: nobody is refused for a part that nobody has mapped ---- */

/* What the unit of a less important instance was let start with of a part, and has not mapped, on NODE. */
static uint64_t unmapped_part_on(const History *history, const PlanInstance *refused,
                                 const LedgerHold *hold, unsigned node) {
        const PlanInstance *planned =
                plan_find(keeper_look(history->keeper)->plan, hold->granted.name);
        const UnitUse *unit = unit_use_find(keeper_look(history->keeper)->use, hold->unit);
        const UnitCharge *charge = unit ? unit_use_charge(unit, hold->granted.page_size_bytes)
                                        : NULL;

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
                        break_off(history, "part",
                                  "%s is short, and of a part that is less important %" PRIu64
                                  " pages are not mapped",
                                  refused->demand->config->name, unmapped);
        }
}

/* ---- all ---- */

void check_after(History *history, Actor actor) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        if (history->broken)
                return;
        daemon_revive(history);
        if (kernel_broke_promise(history->kernel)) {
                history->is_over = true;
                return;
        }
        const Status *status = keeper_judge(history->keeper, arena, false);

        look_who_is_safe(history, actor);
        check_let_start(history, status);
        check_ready(history, status);
        check_rest(history);
        check_parts(history);
        check_exact(history, status);
        check_lost(history, status);
        for (size_t i = 0; i < status->n_pools; i++) {
                const StatusPool *said = &status->pools[i];
                KernelPool pool =
                        kernel_pool(history->kernel, (int) said->node, said->page_size_bytes);

                if (said->total_pages != pool.total_pages || said->free_pages != pool.free_pages ||
                    said->surplus_pages != pool.surplus_pages)
                        break_off(history, "said wrong", "the pool of node %u", said->node);
                if (said->owned_pages + said->cover_pages + said->foreign_pages !=
                    said->total_pages)
                        break_off(history, "said wrong",
                                  "of the %" PRIu64 " pages of node %u %" PRIu64
                                  " are ours, %" PRIu64 " cover and %" PRIu64 " others'",
                                  said->total_pages, said->node, said->owned_pages,
                                  said->cover_pages, said->foreign_pages);
        }
        for (unsigned i = 0; i < history->n_sizes; i++) {
                uint64_t bytes = kernel_page_bytes(history->kernel, i), sum = 0;
                KernelPool host = kernel_pool(history->kernel, KERNEL_HOST, bytes);

                VEC_FOREACH(reserved, &status->reserved)
                        if (reserved->page_size_bytes == bytes)
                                sum += reserved->pages;
                if (sum != host.reserved_pages)
                        break_off(history, "said wrong",
                                  "reserved are %" PRIu64 " pages, and said to be %" PRIu64,
                                  host.reserved_pages, sum);
        }
}
