/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "keeper/keeper.h"

#include "base/memory.h"
#include "base/text.h"
#include "demand/learned.h"
#include "host/config_load.h"
#include "keeper/keeper_inside.h"
#include "model/problem.h"
#include "runtime/log.h"

#include <string.h>

enum { PASSES_MAX = 8, ATTEMPTS_MAX = 200 };

/* ---- telling ---- */

void keeper_tell(const Keeper *keeper, int level, const char *id, const char *text) {
        keeper->listener(keeper->userdata,
                         &(KeeperEvent){.level = level,
                                        .what = id ? HISTORY_PROBLEM : HISTORY_NONE,
                                        .id = id,
                                        .text = text});
}

void keeper_tell_diag(const Keeper *keeper, const Diag *diag) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        keeper_tell(keeper, log_level_of(diag->severity), diag->id, diag_format(arena, diag));
}

/* ---- rounds ---- */

static void note_attempts(Keeper *keeper, const ApplyResult *result) {
        VEC_FOREACH(record, &result->escalation.records) {
                const Attempt attempt = {result->step.pool->node,
                                         result->step.pool->page_size_bytes, *record};

                if (keeper->attempts.n == ATTEMPTS_MAX)
                        memmove(keeper->attempts.items, keeper->attempts.items + 1,
                                --keeper->attempts.n * sizeof(Attempt));
                *vec_push(keeper->attempts_arena, &keeper->attempts) = attempt;
        }
}

static void begin_pass(Keeper *keeper, uint64_t now_usec) {
        const ApplyInput input = {
                .root = keeper->root,
                .config = keeper->asked.config,
                .topology = keeper->look->topology,
                .ledger = keeper->look->ledger,
                .starting = &keeper->starting,
                .plan = keeper->look->plan,
                .deadline_usec = keeper->attempts_until_usec,
        };

        keeper_record_intent(keeper, now_usec);
        keeper->apply = apply_new(keeper->look_arena, &input);
        keeper->n_passes++;
}

/* By the last look. */
static void begin_round(Keeper *keeper, uint64_t now_usec) {
        keeper->is_held_back = false;
        keeper->is_another_wanted = false;
        keeper->is_hurried = false;
        keeper->is_drift_left = false;
        keeper_begin_moves(keeper);
        keeper->n_passes = 0;
        /* Before the pools: a gate may let its instance through between two writes to them. */
        keeper_set_host(keeper, &keeper->look->host);
        begin_pass(keeper, now_usec);
}

static void renew_attempts(Keeper *keeper, uint64_t now_usec) {
        keeper->attempts_until_usec =
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

void keeper_begin(Keeper *keeper, KeeperCause cause, uint64_t now_usec) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        if (keeper->apply) {
                keeper->is_another_wanted = true;
                apply_hurry(keeper->apply);
                return;
        }
        /* A start has gone on without a file that could not be read; now it can be. */
        if (cause == KEEPER_RETRY && keeper->has_started && keeper->asked.config->fault.error < 0 &&
            config_load(keeper->root, arena, NULL)->fault.error == 0 &&
            keeper_reload(keeper, false, now_usec) == KEEPER_RELOAD_BEGUN)
                return;
        if (cause != KEEPER_RETRY)
                renew_attempts(keeper, now_usec);
        bool is_looked_at = cause == KEEPER_START && keeper->has_started;

        if (!keeper_finish_start(keeper))
                return;
        keeper_forget_old_restores(keeper, now_usec);
        if (is_looked_at)
                keeper_note_drift(keeper, keeper->look);
        else
                keeper_look_for_drift(keeper);
        if (keeper->fault.error < 0 || (keeper->limits.n > 0 && !forget_limits(keeper)) ||
            (keeper_take_parts(keeper) && keeper->fault.error < 0)) {
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

/* Takes in what the writes have brought; whether that was anything, or has taught something. Where all of it has
 * come as it was intended, that is on disk already. */
static bool end_pass(Keeper *keeper) {
        size_t n;
        const ApplyResult *results = apply_results(keeper->apply, &n);
        bool has_moved = false, is_other = false;

        if (keeper->n_passes == 1 && n > 0) {
                arena_free(keeper->attempts_arena);
                keeper->attempts_arena = arena_new();
                keeper->attempts = (Attempts){};
        }
        ARRAY_FOREACH(result, results, n) {
                note_attempts(keeper, result);
                keeper_note_move(keeper, result);
                is_other |= keeper_record_result(keeper->look->ledger, result);
                has_moved = has_moved || result->is_unread ||
                            result->reached_pages != result->step.from_pages;
        }
        is_other |= keeper_record_straightening(keeper, apply_straightened_bytes(keeper->apply));
        if (is_other)
                keeper_save(keeper);
        /* The pools that stayed short become limits, by which the plan is made anew: an instance that cannot
         * be whole gives its pages to the next. */
        PoolLimits limits =
                apply_limits(keeper->round_arena, keeper->apply, keeper->look->topology);

        VEC_FOREACH(limit, &limits)
                *vec_push(keeper->round_arena, &keeper->limits) = *limit;
        return limits.n > 0 || has_moved;
}

/* Nothing was written, nor is there anything: the round ends in the moment in which it has begun. */
static bool is_nothing_to_do(const Keeper *keeper) {
        size_t n;

        apply_results(keeper->apply, &n);
        return n == 0 && keeper->look->host.writes.n == 0;
}

/* A plan by what the last one has recorded, of the same moment; false: it could not be made. Where that is what it was
 * made from, it is the same plan. */
static bool plan_again(Keeper *keeper) {
        LookInput input = keeper_look_input(keeper);
        unsigned n_shortages = memory_shortages();

        if (keeper_is_as_stored(keeper))
                return true;
        root_forget_fault(keeper->root);
        look_complete(keeper->look_arena, &input, keeper->look);
        return keeper->look->fault.error == 0 && memory_shortages() == n_shortages;
}

/* False: the round is over. Others may have come meanwhile, so that the plan is made anew until nothing
 * is left to be written, or writing brings nothing. */
static bool next_pass(Keeper *keeper, uint64_t now_usec) {
        bool is_still_so = is_nothing_to_do(keeper);
        bool has_brought = end_pass(keeper);

        keeper->apply = NULL; /* it is in the look's arena */
        if (!(is_still_so && plan_again(keeper)) && !keeper_look_anew(keeper)) {
                keeper_save(keeper);
                return false;
        }
        bool is_cut_short = keeper->is_another_wanted || keeper->is_hurried;

        if (plan_count_changed(keeper->look->plan) == 0 ||
            (!is_cut_short && (!has_brought || keeper->n_passes >= PASSES_MAX))) {
                keeper_record_outcome(keeper);
                return false;
        }
        if (is_cut_short) {
                keeper_save(keeper);
                return false;
        }
        begin_pass(keeper, now_usec);
        return true;
}

bool keeper_next(Keeper *keeper, uint64_t now_usec, ApplyOperation *ret) {
        keeper->is_look_new = false;
        while (keeper->apply) {
                if (apply_next(keeper->apply, now_usec, ret))
                        return true;
                if (next_pass(keeper, now_usec))
                        continue;
                keeper_tell_moves(keeper);
                /* What the round has brought is not known. */
                if (keeper->fault.error < 0) {
                        keeper_reload_break_off(keeper);
                        continue;
                }
                keeper->has_settled = true;
                keeper->is_look_new = true;
                keeper_forget_drift(keeper);
                keeper_guard_pool(keeper);
                /* Another one may follow at once. */
                if (!keeper_reload_continue(keeper, now_usec) && keeper->is_another_wanted)
                        keeper_begin(keeper, KEEPER_FRESH, now_usec);
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
               (plan_is_short(keeper->look->plan) && now_usec < keeper->attempts_until_usec);
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
        keeper_forget_old_restores(keeper, now_usec);
        keeper_forget_refused(keeper, now_usec);
        bool is_drifted = keeper_look_for_drift(keeper) > 0;

        if (keeper->fault.error == 0 && !is_drifted)
                keeper_take_parts(keeper);
        if (keeper->fault.error < 0) {
                *ret_wants_repair = true;
                return false;
        }
        const Plan *plan = keeper->look->plan;
        bool is_anything_left = plan_count_changed(plan) > 0;
        /* Memory that has come may help who is short, or whose node was not there. */
        bool is_short = has_memory && (plan_is_short(plan) ||
                                       ARRAY_FIND(instance, plan->instances, plan->n_instances,
                                                  instance->reason.kind == REASON_NODE_ABSENT));

        /* A pool below what was found there is known as it is from now on, pages that were moved are where they
         * are, and plans are made with what is there: it is there to be repaired all the same, until that is done. */
        is_drifted = is_drifted || keeper_is_anything_lost(keeper) ||
                     (keeper->is_drift_left && is_anything_left);
        keeper->is_drift_left = is_drifted;
        if (is_drifted && !is_short) {
                if (keeper->asked.config->host.on_drift == DRIFT_REPORT)
                        return false;
                *ret_wants_repair = true;
                if (!may_repair)
                        return false;
        }
        if (!is_drifted && !is_short && !is_anything_left) {
                if (keeper->is_unsaved)
                        keeper_save(keeper);
                return false;
        }
        renew_attempts(keeper, now_usec);
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

const Look *keeper_look(const Keeper *keeper) {
        return keeper->look;
}

const Apply *keeper_apply(const Keeper *keeper) {
        return keeper->apply;
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
        keeper->look->stored = NULL; /* it stands for longer than a moment */
        keeper_tell(keeper, LOG_NOTICE, problem_id(PROBLEM_HELD_BACK),
                    "rescue mode: nothing is reserved before a reload, or the start of a database");
}

bool keeper_is_held_back(const Keeper *keeper) {
        return keeper->is_held_back;
}

/* ---- changes by hand ---- */

ReadFault keeper_note_before(Keeper *keeper) {
        Arena *arena = arena_new();
        LookInput input = keeper_look_input(keeper);

        const Look *look = look_at_host(arena, &input);

        keeper->before = look->fault.error == 0 ? look->topology : NULL;
        arena_free(keeper->before_arena);
        keeper->before_arena = arena;
        return look->fault;
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

void keeper_set_found(Keeper *keeper, const char *instance, const PageCount *count) {
        Figure *known = VEC_FIND(each, &keeper->asked.found,
                                 text_equals(each->instance, instance) &&
                                         each->sizing.page_size_bytes == count->page_size_bytes);

        *(known ? known : vec_push(keeper->asked.arena, &keeper->asked.found)) =
                learned_figure(instance, count);
}

bool keeper_grow(Keeper *keeper, const InstanceConfig *instance, const PageCounts *pages,
                 uint64_t now_usec) {
        const PlanInstance *planned = plan_find(keeper->look->plan, instance->name);
        VEC_FOREACH(count, pages) {
                if (planned && planned->page_size_bytes == count->page_size_bytes &&
                    planned->pages_wanted != count->pages)
                        keeper_tell_learned(keeper, instance->name, count, planned->pages_wanted);
                keeper_set_found(keeper, instance->name, count);
        }
        if (keeper->is_held_back)
                return false;
        /* The plan that holds was made for these numbers. */
        if (planned && planned->demand->n_options > 0 &&
            !ARRAY_FIND(option, planned->demand->options, planned->demand->n_options,
                        page_counts_find(pages, option->page_size_bytes) != option->pages))
                return keeper_is_working(keeper);
        keeper_begin(keeper, KEEPER_FRESH, now_usec);
        return true;
}

/* ---- beginning and end ---- */

Keeper *keeper_new(const Root *root, KeeperListener listener, void *userdata) {
        Keeper *keeper = memory_new(sizeof(Keeper));

        *keeper = (Keeper){
                .root = root,
                .listener = listener,
                .userdata = userdata,
                .round_arena = arena_new(),
                .attempts_arena = arena_new(),
                .starting_arena = arena_new(),
                .moves_arena = arena_new(),
                .counted_arena = arena_new(),
        };
        return keeper;
}

Keeper *keeper_free(Keeper *keeper) {
        if (!keeper)
                return NULL;
        const Reload *reload = &keeper->reload;
        Arena *const arenas[] = {
                keeper->asked.arena,    keeper->look_arena,     keeper->round_arena,
                keeper->attempts_arena, keeper->before_arena,   reload->look_arena,
                reload->arena,          keeper->starting_arena, keeper->told_arena,
                keeper->fault_arena,    keeper->moves_arena,    keeper->counted_arena,
        };

        if (reload->before.arena != keeper->asked.arena)
                arena_free(reload->before.arena);
        ARRAY_FOREACH(arena, arenas, ARRAY_LEN(arenas))
                arena_free(*arena);
        memory_free(keeper);
        return NULL;
}
