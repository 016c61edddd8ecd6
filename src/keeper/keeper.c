/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "keeper/keeper.h"

#include "base/memory.h"
#include "base/text.h"
#include "host/boot_guard_file.h"
#include "host/config_load.h"
#include "host/log.h"
#include "host/state.h"
#include "keeper/keeper_inside.h"
#include "model/names.h"
#include "model/problem.h"

#include <stdlib.h>
#include <string.h>

enum { PASSES_MAX = 8, EFFORTS_MAX = 200, STARTS_MAX = 4 };

/* How long after pages were put back they may still turn up elsewhere. */
static const uint64_t aftermath_usec = 10 * USEC_PER_SEC;

/* ---- telling ---- */

void keeper_tell(const Keeper *keeper, int level, const char *id, const char *text) {
        keeper->listener(keeper->userdata, &(KeeperEvent){.level = level, .id = id, .text = text});
}

void keeper_tell_diag(const Keeper *keeper, const Diag *diag) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        keeper_tell(keeper, log_level_of(diag->severity), diag->id, diag_format(arena, diag));
}

/* ---- the ledger ---- */

void keeper_save(const Keeper *keeper) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        /* What is on disk is better than what follows from what could not be read. */
        if (!keeper->has_started)
                return;
        int r = state_save(keeper->root, keeper->look->ledger);

        if (r < 0)
                keeper_tell(keeper, LOG_WARNING, NULL,
                            arena_printf(arena, "cannot write " PATH_STATE ": %s", strerror(-r)));
}

/* After boots that failed in a row, this one gets only what is proven; a reload opens the guard. Negative
 * errno: nothing is decided, for what was counted cannot be read. */
static int decide_boot_guard(const Keeper *keeper, Ledger *ledger) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        bool was_undecided = ledger->guard == LEDGER_GUARD_UNDECIDED;
        BootGuard *guard;

        int r = boot_guard_try_load(keeper->root, arena, &guard);

        if (r < 0)
                return r;
        bool is_closed = boot_guard_is_closed(guard, ledger);

        ledger->guard = is_closed ? LEDGER_GUARD_CLOSED : LEDGER_GUARD_OPEN;
        if (is_closed && was_undecided)
                keeper_tell(keeper, LOG_ALERT, reason_id(REASON_BOOT_GUARD),
                            arena_printf(arena,
                                         "%d boots in a row have failed: only what the last good "
                                         "boot reserved is planned; 'hugeplanctl reload' plans "
                                         "everything again",
                                         BOOT_GUARD_FAILURES));
        return 0;
}

/* What is about to be written stands in the ledger first: a daemon that is killed in between finds
 * its own pages again and does not take them for another's. */
static void record_intent(Keeper *keeper, uint64_t now_usec) {
        Ledger *ledger = keeper->look->ledger;
        const Plan *plan = keeper->look->plan;
        bool is_aftermath = keeper->host_written_usec > 0 &&
                            now_usec - keeper->host_written_usec < aftermath_usec;

        plan_record(keeper->look_arena, plan, ledger);
        for (size_t i = 0; i < plan->n_pools; i++) {
                const PlanPool *pool = &plan->pools[i];
                LedgerPool *known = ledger_pool(ledger, pool->node, pool->page_size_bytes);

                if (!known)
                        continue;
                /* Of what the pool is raised by, this much we had set before. Who has set the pools of
                 * all nodes may do so again at once, as tuned does what sysctl.d says after its own;
                 * then what we put back on one node comes to another. */
                uint64_t restored =
                        sub_floored(MIN(known->set_pages, pool->to_pages), pool->from_pages);

                if (restored > 0 && is_aftermath) {
                        ledger_restore(keeper->look_arena, ledger, pool->page_size_bytes, restored);
                        keeper->restored_usec = now_usec;
                }
                known->set_pages = MAX(MAX(pool->from_pages, pool->to_pages), known->found_pages);
        }
        keeper_save(keeper);
}

/* What came from splitting found pages was found, too. */
static void record_split(Ledger *ledger, const ApplyResult *result) {
        const PlanStep *step = &result->step;
        LedgerPool *large = ledger_pool(ledger, step->pool->node, step->pool->page_size_bytes);
        LedgerPool *small = ledger_pool(ledger, step->pool->node, step->split_into_bytes);

        if (result->split_pages == 0 || !large || !small)
                return;
        large->found_pages = sub_floored(large->found_pages, result->split_pages);
        small->found_pages += result->split_pages *
                              (step->pool->page_size_bytes / step->split_into_bytes);
}

/* Surplus pages that were made persistent are ours to give back: nobody has set them there. */
static void record_straightening(const Keeper *keeper, uint64_t page_size_bytes) {
        VEC_FOREACH(known, &keeper->look->ledger->pools) {
                const Pool *pool =
                        topology_pool(keeper->look->topology, known->node, page_size_bytes);

                if (pool && known->page_size_bytes == page_size_bytes)
                        known->set_pages = MAX(known->set_pages, pool->total_pages);
        }
}

/* What was read back. */
static void record_result(Ledger *ledger, const ApplyResult *result) {
        const PlanPool *pool = result->step.pool;
        LedgerPool *known = ledger_pool(ledger, pool->node, pool->page_size_bytes);

        record_split(ledger, result);
        if (!known || result->error == -ENOENT || result->is_unread)
                return;
        known->found_pages = MIN(known->found_pages, result->reached_pages);
        known->set_pages = MAX(result->reached_pages, known->found_pages);
}

/* ---- looking ---- */

LookInput keeper_look_input(const Keeper *keeper) {
        return (LookInput){
                .root = keeper->root,
                .config = keeper->asked.config,
                .ledger = keeper->look ? keeper->look->ledger : NULL,
                .found = &keeper->asked.found,
                .limits = &keeper->limits,
                .starting = &keeper->starting,
        };
}

static bool is_same_fault(const ReadFault *one, const ReadFault *other) {
        return one->error == other->error && text_equals(one->path, other->path);
}

/* Once, for as long as it is so. */
static void note_fault(Keeper *keeper, const ReadFault *fault) {
        if (is_same_fault(fault, &keeper->fault))
                return;
        Arena *arena = arena_new();
        const ReadFault noted = {fault->error, arena_strdup(arena, fault->path)};

        if (fault->error < 0) {
                const Diag diag = look_fault_diag(arena, fault);

                keeper_tell_diag(keeper, &diag);
        } else {
                keeper_tell(keeper, LOG_NOTICE, NULL,
                            keeper->fault.path ? arena_printf(arena, "%s can be read again",
                                                              keeper->fault.path)
                                               : "there is memory again");
        }
        arena_free(keeper->fault_arena);
        keeper->fault_arena = arena;
        keeper->fault = noted;
}

static void replace_look(Keeper *keeper, Arena *arena, Look *look) {
        arena_free(keeper->look_arena);
        keeper->look_arena = arena;
        keeper->look = look;
}

bool keeper_adopt(Keeper *keeper, Arena *arena, Look *look) {
        note_fault(keeper, &look->fault);
        if (look->fault.error < 0) {
                arena_free(arena);
                return false;
        }
        replace_look(keeper, arena, look);
        return true;
}

Look *keeper_make_look(const Keeper *keeper, Arena *arena) {
        unsigned n_shortages = memory_shortages();
        LookInput input = keeper_look_input(keeper);
        Look *look = look_make(arena, &input);

        if (look->fault.error == 0 && memory_shortages() != n_shortages)
                look->fault = (ReadFault){.error = -ENOMEM};
        return look;
}

bool keeper_look_anew(Keeper *keeper) {
        Arena *arena = arena_new();

        return keeper_adopt(keeper, arena, keeper_make_look(keeper, arena));
}

/* What an instance has of which nothing is known, because a file cannot be read: until a reload. */
static void keep_undescribed(Arena *arena, const Config *config, Ledger *ledger) {
        VEC_FOREACH(instance, &ledger->instances)
                if (config->is_incomplete && !config_find(config, instance->name) &&
                    instance->grants.n > 0)
                        *vec_push(arena, &ledger->holds) = (LedgerHold){
                                .unit = "", .run = "", .is_tentative = true, .granted = *instance};
}

/* Which of it may pass, and is waited for. A file that cannot be read for long is a mistake of its instance,
 * for which the others do not wait. */
static ReadFault config_fault(Keeper *keeper) {
        const Config *config = keeper->asked.config;

        keeper->n_starts++;
        return keeper->n_starts < STARTS_MAX || config->is_unlisted ? config->fault : (ReadFault){};
}

/* A first look, by what is on disk. The guard is decided before a plan is made. A look that has a fault
 * is taken for want of a better one; nothing is done by it. */
static void look_first(Keeper *keeper) {
        CLEANUP(arena_freep) Arena *scratch = arena_new();
        LookInput input = keeper_look_input(keeper);

        input.ledger = NULL; /* as it is on disk */
        Look *first = look_at_host(scratch, &input);
        ReadFault fault = config_fault(keeper);

        if (fault.error == 0)
                fault = first->fault;
        if (first->state && first->fault.error == 0)
                keeper_tell(keeper, LOG_WARNING, NULL, first->state);
        if (fault.error == 0 && decide_boot_guard(keeper, first->ledger) < 0)
                fault = root_fault(keeper->root, scratch);
        if (fault.error == 0)
                keep_undescribed(scratch, keeper->asked.config, first->ledger);
        input.ledger = first->ledger;
        Arena *arena = arena_new();
        Look *look = look_make(arena, &input);

        if (fault.error == 0)
                fault = look->fault;
        keeper->has_started = fault.error == 0;
        replace_look(keeper, arena, look);
        note_fault(keeper, &fault);
}

void keeper_note_host_written(Keeper *keeper, uint64_t now_usec) {
        keeper->host_written_usec = now_usec;
}

/* ---- rounds ---- */

static void note_efforts(Keeper *keeper, const ApplyResult *result) {
        VEC_FOREACH(record, &result->ladder.records) {
                CLEANUP(arena_freep) Arena *arena = arena_new();
                const Effort effort = {result->step.pool->node, result->step.pool->page_size_bytes,
                                       *record};

                keeper_tell(keeper, record->error < 0 ? LOG_WARNING : LOG_INFO, NULL,
                            effort_format(arena, &effort));
                if (keeper->efforts.n == EFFORTS_MAX)
                        memmove(keeper->efforts.items, keeper->efforts.items + 1,
                                --keeper->efforts.n * sizeof(Effort));
                *vec_push(keeper->efforts_arena, &keeper->efforts) = effort;
        }
}

static void forget_efforts(Keeper *keeper) {
        arena_free(keeper->efforts_arena);
        keeper->efforts_arena = arena_new();
        keeper->efforts = (Efforts){};
}

static void begin_pass(Keeper *keeper, uint64_t now_usec) {
        const ApplyInput input = {
                .root = keeper->root,
                .config = keeper->asked.config,
                .topology = keeper->look->topology,
                .ledger = keeper->look->ledger,
                .starting = &keeper->starting,
                .plan = keeper->look->plan,
                .deadline_usec = keeper->effort_until_usec,
        };

        record_intent(keeper, now_usec);
        keeper->apply = apply_new(keeper->look_arena, &input);
        keeper->n_passes++;
}

/* By the last look. */
static void begin_round(Keeper *keeper, uint64_t now_usec) {
        keeper->is_held_back = false;
        keeper->is_another_wanted = false;
        keeper->is_hurried = false;
        keeper->is_drift_left = false;
        keeper_forget_lost(keeper);
        keeper->n_passes = 0;
        /* Before the pools: a gate may let its instance through between two writes to them. */
        keeper_set_thp(keeper, &keeper->look->host.thp);
        keeper_set_limits(keeper, &keeper->look->host.limits);
        begin_pass(keeper, now_usec);
}

static void forget_old_restores(const Keeper *keeper, uint64_t now_usec) {
        if (keeper->restored_usec > 0 && now_usec - keeper->restored_usec >= aftermath_usec)
                ledger_forget_restored(keeper->look->ledger);
}

static void refresh_effort(Keeper *keeper, uint64_t now_usec) {
        keeper->effort_until_usec =
                add_saturated(now_usec, keeper->asked.config->host.reserve_timeout_usec);
}

/* What trying has shown once is tried again. The last look, which refers to it, goes with it; false: there
 * is no other, and both stay. */
static bool forget_limits(Keeper *keeper) {
        PoolLimits limits = keeper->limits;

        keeper->limits = (PoolLimits){};
        if (!keeper_look_anew(keeper)) {
                keeper->limits = limits;
                return false;
        }
        arena_free(keeper->round_arena);
        keeper->round_arena = arena_new();
        return true;
}

/* A start has gone on without a file that could not be read; now it can be. */
static bool is_config_readable_again(const Keeper *keeper) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        return keeper->has_started && keeper->asked.config->fault.error < 0 &&
               config_load(keeper->root, arena, NULL)->fault.error == 0;
}

void keeper_begin(Keeper *keeper, KeeperCause cause, uint64_t now_usec) {
        if (keeper->apply) {
                keeper->is_another_wanted = true;
                apply_hurry(keeper->apply);
                return;
        }
        if (cause == KEEPER_RETRY && is_config_readable_again(keeper) &&
            keeper_reload(keeper, false, now_usec) == KEEPER_RELOAD_BEGUN)
                return;
        if (cause == KEEPER_FRESH)
                refresh_effort(keeper, now_usec);
        if (!keeper_finish_start(keeper))
                return;
        forget_old_restores(keeper, now_usec);
        keeper_look_for_drift(keeper);
        if (keeper->fault.error < 0 || (keeper->limits.n > 0 && !forget_limits(keeper))) {
                keeper_reload_break_off(keeper);
                return;
        }
        begin_round(keeper, now_usec);
}

void keeper_hurry(Keeper *keeper) {
        keeper->is_hurried = true;
        if (keeper->apply)
                apply_hurry(keeper->apply);
}

/* The pools that stayed short become limits, by which the plan is made anew: an instance that cannot
 * be whole gives its pages to the next. */
static bool learn_limits(Keeper *keeper) {
        PoolLimits limits =
                apply_limits(keeper->round_arena, keeper->apply, keeper->look->topology);

        VEC_FOREACH(limit, &limits)
                *vec_push(keeper->round_arena, &keeper->limits) = *limit;
        return limits.n > 0;
}

/* Takes in what the writes have brought; whether that was anything, or has taught something. */
static bool end_pass(Keeper *keeper) {
        size_t n;
        const ApplyResult *results = apply_results(keeper->apply, &n);
        bool has_moved = false;

        if (keeper->n_passes == 1 && n > 0)
                forget_efforts(keeper);
        for (size_t i = 0; i < n; i++) {
                note_efforts(keeper, &results[i]);
                record_result(keeper->look->ledger, &results[i]);
                has_moved = has_moved || results[i].is_unread ||
                            results[i].reached_pages != results[i].step.from_pages;
        }
        if (apply_straightened_bytes(keeper->apply) > 0)
                record_straightening(keeper, apply_straightened_bytes(keeper->apply));
        keeper_save(keeper);
        return learn_limits(keeper) || has_moved;
}

static bool is_anything_left(const Keeper *keeper) {
        return plan_count_changed(keeper->look->plan) > 0;
}

/* What the instances have in the end may be less than was intended; only then it is known who has all that he
 * wants. */
static void record_outcome(Keeper *keeper) {
        plan_record(keeper->look_arena, keeper->look->plan, keeper->look->ledger);
        if (!is_anything_left(keeper))
                ledger_note_standing(keeper->look->ledger);
        keeper_save(keeper);
}

/* False: the round is over. Others may have come meanwhile, so that the plan is made anew until nothing
 * is left to be written, or writing brings nothing. */
static bool next_pass(Keeper *keeper, uint64_t now_usec) {
        bool has_brought = end_pass(keeper);

        keeper->apply = NULL; /* it is in the look's arena */
        if (!keeper_look_anew(keeper))
                return false;
        bool is_cut_short = keeper->is_another_wanted || keeper->is_hurried;

        if (!is_anything_left(keeper) ||
            (!is_cut_short && (!has_brought || keeper->n_passes >= PASSES_MAX))) {
                record_outcome(keeper);
                return false;
        }
        if (is_cut_short)
                return false;
        begin_pass(keeper, now_usec);
        return true;
}

static bool end_round(Keeper *keeper, uint64_t now_usec) {
        /* What the round has brought is not known. */
        if (keeper->fault.error < 0) {
                keeper_reload_break_off(keeper);
                return false;
        }
        keeper->has_settled = true;
        keeper_forget_drift(keeper);
        keeper_guard_pool(keeper);
        if (keeper_reload_continue(keeper, now_usec))
                return true;
        if (!keeper->is_another_wanted)
                return false;
        keeper_begin(keeper, KEEPER_FRESH, now_usec);
        return true;
}

bool keeper_next(Keeper *keeper, uint64_t now_usec, ApplyOperation *ret) {
        while (keeper->apply) {
                if (apply_next(keeper->apply, now_usec, ret))
                        return true;
                if (!next_pass(keeper, now_usec) && !end_round(keeper, now_usec))
                        return false;
        }
        return false;
}

void keeper_done(Keeper *keeper, const ApplyOperation *operation, int error, uint64_t usec) {
        apply_done(keeper->apply, operation, error, usec);
}

bool keeper_is_working(const Keeper *keeper) {
        return keeper->apply != NULL;
}

bool keeper_wants_retry(const Keeper *keeper, uint64_t now_usec) {
        if (keeper->apply || keeper->is_held_back)
                return false;
        return keeper->fault.error < 0 || keeper->asked.config->fault.error < 0 ||
               (plan_is_short(keeper->look->plan) && now_usec < keeper->effort_until_usec);
}

/* Whether memory that has come may help somebody: who is short, or whose node was not there. */
static bool waits_for_memory(const Plan *plan) {
        for (size_t i = 0; i < plan->n_instances; i++)
                if (plan->instances[i].reason.kind == REASON_NODE_ABSENT)
                        return true;
        return plan_is_short(plan);
}

bool keeper_verify(Keeper *keeper, bool has_memory, bool may_repair, uint64_t now_usec,
                   bool *ret_wants_repair) {
        *ret_wants_repair = false;
        if (keeper->apply || keeper->is_held_back)
                return false;
        if (!keeper_finish_start(keeper)) {
                *ret_wants_repair = true;
                return false;
        }
        forget_old_restores(keeper, now_usec);
        bool is_drifted = keeper_look_for_drift(keeper) > 0;

        if (keeper->fault.error < 0) {
                *ret_wants_repair = true;
                return false;
        }
        bool is_short = has_memory && waits_for_memory(keeper->look->plan);

        /* A pool below what was found there is known as it is from now on, pages that were moved are where they
         * are, and plans are made with what is there: it is there to be repaired all the same, until that is done. */
        is_drifted = is_drifted || keeper_is_anything_lost(keeper) ||
                     (keeper->is_drift_left && is_anything_left(keeper));
        keeper->is_drift_left = is_drifted;
        if (is_drifted && !is_short) {
                if (keeper->asked.config->host.on_drift == DRIFT_REPORT)
                        return false;
                *ret_wants_repair = true;
                if (!may_repair)
                        return false;
        }
        if (!is_drifted && !is_short && !is_anything_left(keeper))
                return false;
        refresh_effort(keeper, now_usec);
        if (keeper->limits.n > 0 && !forget_limits(keeper)) {
                *ret_wants_repair = true;
                return false;
        }
        begin_round(keeper, now_usec);
        return true;
}

/* ---- what is so ---- */

const Config *keeper_config(const Keeper *keeper) {
        return keeper->asked.config;
}

const Ledger *keeper_ledger(const Keeper *keeper) {
        return keeper->look->ledger;
}

const Look *keeper_look(const Keeper *keeper) {
        return keeper->look;
}

const Plan *keeper_plan(const Keeper *keeper) {
        return keeper->look->plan;
}

const Apply *keeper_apply(const Keeper *keeper) {
        return keeper->apply;
}

Look *keeper_look_now(const Keeper *keeper, Arena *arena) {
        LookInput input = keeper_look_input(keeper);

        input.limits = NULL;
        return look_make(arena, &input);
}

SourceNames keeper_units(const Keeper *keeper, Arena *arena) {
        SourceNames units = {};

        VEC_FOREACH(hold, &keeper->look->ledger->holds)
                if (!hold->is_tentative)
                        *vec_push(arena, &units) = arena_strdup(arena, hold->unit);
        return units;
}

void keeper_hold_back(Keeper *keeper) {
        keeper->is_held_back = true;
        keeper_tell(keeper, LOG_NOTICE, problem_id(PROBLEM_HELD_BACK),
                    "rescue mode: nothing is reserved before a reload, or the start of a database");
}

bool keeper_is_held_back(const Keeper *keeper) {
        return keeper->is_held_back;
}

/* ---- changes by hand ---- */

void keeper_note_before(Keeper *keeper) {
        Arena *arena = arena_new();
        LookInput input = keeper_look_input(keeper);

        const Look *look = look_at_host(arena, &input);

        keeper->before = look->fault.error == 0 ? look->topology : NULL;
        arena_free(keeper->before_arena);
        keeper->before_arena = arena;
}

PoolChanges keeper_pool_changes(const Keeper *keeper, Arena *arena) {
        if (!keeper->before)
                return (PoolChanges){};
        return pool_changes_between(arena, keeper->before, keeper->look->topology);
}

void keeper_release(Keeper *keeper, const char *instance, uint64_t now_usec) {
        keeper_note_before(keeper);
        ledger_release(keeper->look_arena, keeper->look->ledger, instance);
        keeper_begin(keeper, KEEPER_FRESH, now_usec);
}

static void set_found(Keeper *keeper, const char *instance, const PageCount *count) {
        Figure figure = {
                .instance = instance,
                .sizing =
                        {
                                .page_size_bytes = count->page_size_bytes,
                                .pages = count->pages,
                                .bytes = mul_saturated(count->pages, count->page_size_bytes),
                                .caveat = "As its gate found out before the last start.",
                        },
        };

        VEC_FOREACH(known, &keeper->asked.found)
                if (text_equals(known->instance, instance) &&
                    known->sizing.page_size_bytes == count->page_size_bytes) {
                        *known = figure;
                        return;
                }
        *vec_push(keeper->asked.arena, &keeper->asked.found) = figure;
}

/* Whether the plan that holds was made for these numbers. */
static bool is_planned(const PlanInstance *planned, const PageCounts *pages) {
        if (!planned || planned->demand->n_options == 0)
                return false;
        for (size_t i = 0; i < planned->demand->n_options; i++) {
                const DemandOption *option = &planned->demand->options[i];

                if (page_counts_find(pages, option->page_size_bytes) != option->pages)
                        return false;
        }
        return true;
}

bool keeper_grow(Keeper *keeper, const InstanceConfig *instance, const PageCounts *pages,
                 uint64_t now_usec) {
        VEC_FOREACH(count, pages)
                set_found(keeper, instance->name, count);
        if (is_planned(plan_find(keeper->look->plan, instance->name), pages))
                return keeper_is_working(keeper);
        keeper_begin(keeper, KEEPER_FRESH, now_usec);
        return true;
}

/* ---- beginning and end ---- */

void keeper_start(Keeper *keeper) {
        keeper->asked.arena = arena_new();
        keeper->asked.config = config_load(keeper->root, keeper->asked.arena, NULL);
        VEC_FOREACH(problem, &keeper->asked.config->problems.list)
                keeper_tell_diag(keeper, problem);
        look_first(keeper);
}

bool keeper_finish_start(Keeper *keeper) {
        if (keeper->has_started)
                return true;
        Arena *before = keeper->asked.arena;
        Arena *arena = arena_new();
        Config *config = config_load(keeper->root, arena, NULL);

        keeper->asked.arena = arena;
        keeper->asked.config = config;
        look_first(keeper);
        arena_free(before); /* the look of before, which referred to it, is gone */
        if (keeper->has_started)
                VEC_FOREACH(problem, &config->problems.list)
                        keeper_tell_diag(keeper, problem);
        return keeper->has_started;
}

Keeper *keeper_new(const Root *root, KeeperListener listener, void *userdata) {
        Keeper *keeper = memory_new(sizeof(Keeper));

        *keeper = (Keeper){
                .root = root,
                .listener = listener,
                .userdata = userdata,
                .round_arena = arena_new(),
                .efforts_arena = arena_new(),
                .starting_arena = arena_new(),
                .lost_arena = arena_new(),
        };
        return keeper;
}

Keeper *keeper_free(Keeper *keeper) {
        if (!keeper)
                return NULL;
        arena_free(keeper->asked.arena);
        arena_free(keeper->look_arena);
        arena_free(keeper->round_arena);
        arena_free(keeper->efforts_arena);
        arena_free(keeper->before_arena);
        if (keeper->reload.before.arena != keeper->asked.arena)
                arena_free(keeper->reload.before.arena);
        arena_free(keeper->reload.look_arena);
        arena_free(keeper->reload.unread_arena);
        arena_free(keeper->reload.arena);
        arena_free(keeper->rejected_arena);
        arena_free(keeper->starting_arena);
        arena_free(keeper->told_arena);
        arena_free(keeper->fault_arena);
        arena_free(keeper->lost_arena);
        memory_free(keeper);
        return NULL;
}

void keeper_freep(Keeper **keeper) {
        *keeper = keeper_free(*keeper);
}
