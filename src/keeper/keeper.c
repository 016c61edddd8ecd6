/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "keeper/keeper_state.h"

#include "base/memory.h"
#include "host/config_load.h"
#include "model/problem.h"

#include <string.h>
#include <syslog.h>

enum { PASSES_MAX = 8, ATTEMPTS_MAX = 200 };

/* ---- rounds ---- */

static void begin_pass(Keeper *keeper, uint64_t now_usec) {
        const ApplyInput input = {
                .root = keeper->root,
                .config = keeper->asked.config,
                .topology = keeper->known.look->topology,
                .ledger = keeper->known.look->ledger,
                .starting = &keeper->starts.list,
                .plan = keeper->known.look->plan,
                .deadline_usec = keeper->round.attempts_until_usec,
        };

        keeper_record_intent(keeper, now_usec);
        keeper->round.apply = apply_new(keeper->known.arena, &input);
        keeper->round.n_passes++;
}

/* Uses the plan of the last look. */
static void begin_round(Keeper *keeper, uint64_t now_usec) {
        keeper->is_held_back = false;
        keeper->round.is_another_wanted = false;
        keeper->round.stops_early = false;
        keeper->drift.is_left = false;
        moves_begin(&keeper->moves);
        keeper->round.n_passes = 0;
        /* Before the pools, because a gate may pass between two writes to them. */
        keeper_set_host(keeper, &keeper->known.look->host);
        begin_pass(keeper, now_usec);
}

static void renew_attempts(Keeper *keeper, uint64_t now_usec) {
        keeper->round.attempts_until_usec =
                add_saturated(now_usec, keeper->asked.config->host.reserve_timeout_usec);
}

/* Forgets the limits of pools, so that they are tried again, and looks again, because the last look refers to them.
 * Returns false if the host cannot be read; both stay then. */
static bool forget_limits(Keeper *keeper) {
        PoolLimits limits = keeper->round.limits;

        keeper->round.limits = (PoolLimits){};
        if (!keeper_look_anew(keeper)) {
                keeper->round.limits = limits;
                return false;
        }
        arena_free(keeper->round.arena);
        keeper->round.arena = arena_new();
        return true;
}

void keeper_begin(Keeper *keeper, KeeperCause cause, uint64_t now_usec) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        if (keeper->round.apply) {
                keeper->round.is_another_wanted = true;
                apply_stop_early(keeper->round.apply);
                return;
        }
        /* The configuration was incomplete at startup; read it again now that the file is readable. */
        if (cause == KEEPER_RETRY && keeper_has_started(keeper) &&
            keeper->asked.config->fault.error < 0 &&
            config_load(keeper->root, arena, NULL)->fault.error == 0 &&
            keeper_reload(keeper, false, now_usec) == KEEPER_RELOAD_BEGUN)
                return;
        if (cause != KEEPER_RETRY)
                renew_attempts(keeper, now_usec);
        bool is_looked_at = cause == KEEPER_START && keeper_has_started(keeper);

        if (!keeper_finish_start(keeper))
                return;
        keeper_forget_old_restores(keeper, now_usec);
        if (is_looked_at)
                keeper_note_drift(keeper, keeper->known.look);
        else
                keeper_look_for_drift(keeper);
        if (keeper->known.fault.error < 0 ||
            (keeper->round.limits.n > 0 && !forget_limits(keeper)) ||
            (keeper_take_parts(keeper) && keeper->known.fault.error < 0)) {
                keeper_reload_break_off(keeper);
                return;
        }
        begin_round(keeper, now_usec);
}

void keeper_stop_early(Keeper *keeper) {
        keeper->round.stops_early = true;
        if (keeper->round.apply)
                apply_stop_early(keeper->round.apply);
}

/* Records the results of the writes. Returns false if there were writes to make and none was made, so that another pass
 * would be the same. The ledger is stored only if the results differ from the intent, which is on disk already. */
static bool end_pass(Keeper *keeper) {
        Round *round = &keeper->round;
        size_t n;
        const ApplyResult *results = apply_results(round->apply, &n);
        bool may_go_on = n == 0, is_other = false;

        if (round->n_passes == 1 && n > 0) {
                arena_free(round->attempts_arena);
                round->attempts_arena = arena_new();
                round->attempts = (Attempts){};
        }
        ARRAY_FOREACH(result, results, n) {
                VEC_FOREACH(record, &result->escalation.records) {
                        if (round->attempts.n == ATTEMPTS_MAX)
                                memmove(round->attempts.items, round->attempts.items + 1,
                                        --round->attempts.n * sizeof(Attempt));
                        *vec_push(round->attempts_arena, &round->attempts) =
                                (Attempt){result->step.pool->node,
                                          result->step.pool->page_size_bytes, *record};
                }
                moves_note(&keeper->moves, result);
                is_other |= keeper_record_result(keeper->known.look->ledger, result);
                /* Pages that were given back and restored at once are promised to others since. */
                may_go_on |= result->is_unread || result->escalation.records.n > 0 ||
                             result->reached_pages != result->step.from_pages;
        }
        is_other |= keeper_adopt_surplus(keeper, apply_adopted_bytes(round->apply));
        if (is_other)
                keeper_save(keeper);
        /* Pools that stayed short limit the next plan: what an instance cannot have whole goes to the
         * next one. */
        const PoolLimits limits =
                apply_limits(round->arena, round->apply, keeper->known.look->topology);

        vec_push_all(round->arena, &round->limits, &limits);
        return limits.n > 0 || may_go_on;
}

/* Plans again from the same look and the present ledger; if that is unchanged, so is the plan. Returns false on
 * failure. */
static bool plan_again(Keeper *keeper) {
        LookInput input = keeper_look_input(keeper);
        unsigned n_shortages = memory_shortages();

        if (keeper_is_as_stored(keeper))
                return true;
        root_forget_fault(keeper->root);
        look_complete(keeper->known.arena, &input, keeper->known.look);
        return keeper->known.look->fault.error == 0 && memory_shortages() == n_shortages;
}

/* Ends a pass and begins the next one, because the host may have changed meanwhile. Returns false if the round is over:
 * nothing is left to write, or writing makes no progress. */
static bool next_pass(Keeper *keeper, uint64_t now_usec) {
        size_t n;

        apply_results(keeper->round.apply, &n);
        /* The round has written nothing and has nothing to write, so the look that it began with is current. */
        bool has_host_writes = keeper->known.look->host.writes.n > 0;
        bool is_still_so = n == 0 && !has_host_writes;
        bool has_brought = end_pass(keeper);
        /* For the reasons of a shortage everything is read. */
        bool is_short = keeper->round.limits.n > 0;

        keeper->round.apply = NULL; /* owned by the look's arena */
        if (!(is_still_so && plan_again(keeper)) &&
            !(has_host_writes || is_short ? keeper_look_anew(keeper) : keeper_look_again(keeper))) {
                keeper_save(keeper);
                return false;
        }
        bool is_cut_short = keeper->round.is_another_wanted || keeper->round.stops_early;

        if (plan_count_changed(keeper->known.look->plan) == 0 ||
            (!is_cut_short && (!has_brought || keeper->round.n_passes >= PASSES_MAX))) {
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
        keeper->known.is_new = false;
        while (keeper->round.apply) {
                if (apply_next(keeper->round.apply, now_usec, ret))
                        return true;
                if (next_pass(keeper, now_usec))
                        continue;
                keeper_report_moves(keeper);
                /* The result of the round is not known. */
                if (keeper->known.fault.error < 0) {
                        keeper_reload_break_off(keeper);
                        continue;
                }
                keeper->known.stage = KNOWN_SETTLED;
                keeper->known.is_new = true;
                keeper_forget_drift(keeper);
                keeper_guard_pool(keeper);
                /* Another round may follow at once. */
                if (keeper_reload_continue(keeper) || keeper->round.is_another_wanted)
                        keeper_begin(keeper, KEEPER_FRESH, now_usec);
        }
        return false;
}

void keeper_done(Keeper *keeper, const ApplyOperation *operation, int error, uint64_t usec) {
        apply_done(keeper->round.apply, operation, error, usec);
}

bool keeper_is_working(const Keeper *keeper) {
        return keeper->round.apply != NULL;
}

bool keeper_wants_retry(const Keeper *keeper, uint64_t now_usec) {
        if (keeper->round.apply || keeper->is_held_back)
                return false;
        return keeper->known.fault.error < 0 || keeper->asked.config->fault.error < 0 ||
               (plan_is_short(keeper->known.look->plan) &&
                now_usec < keeper->round.attempts_until_usec);
}

bool keeper_verify(Keeper *keeper, bool has_memory, bool may_repair, uint64_t now_usec,
                   bool *ret_wants_repair) {
        *ret_wants_repair = false;
        if (keeper->round.apply || keeper->is_held_back)
                return false;
        if (!keeper_finish_start(keeper)) {
                *ret_wants_repair = true;
                return false;
        }
        keeper_forget_old_restores(keeper, now_usec);
        keeper_forget_refused(keeper, now_usec);
        bool is_drifted = keeper_look_for_drift(keeper);

        if (keeper->known.fault.error == 0 && !is_drifted)
                keeper_take_parts(keeper);
        if (keeper->known.fault.error < 0) {
                *ret_wants_repair = true;
                return false;
        }
        const Plan *plan = keeper->known.look->plan;
        bool is_anything_left = plan_count_changed(plan) > 0;
        /* More memory may help instances that are short or whose node was absent. */
        bool is_short = has_memory && (plan_is_short(plan) ||
                                       ARRAY_FIND(instance, plan->instances, plan->n_instances,
                                                  instance->reason.kind == REASON_NODE_ABSENT));

        /* The new plan starts from the changed pools and no longer shows the difference, so the drift is remembered
         * until a round has repaired it. */
        is_drifted = is_drifted || keeper_has_lost_pages(keeper) ||
                     (keeper->drift.is_left && is_anything_left);
        keeper->drift.is_left = is_drifted;
        bool is_to_repair = is_drifted && keeper->asked.config->host.on_drift == DRIFT_REPAIR;

        *ret_wants_repair = is_to_repair && !is_short;
        if (*ret_wants_repair && !may_repair)
                return false;
        if (!is_short && !is_to_repair && (is_drifted || !is_anything_left)) {
                if (keeper->known.is_unsaved)
                        keeper_save(keeper);
                return false;
        }
        renew_attempts(keeper, now_usec);
        if (keeper->round.limits.n > 0 && !forget_limits(keeper)) {
                *ret_wants_repair = true;
                return false;
        }
        begin_round(keeper, now_usec);
        return true;
}

void keeper_note_host_written(Keeper *keeper, uint64_t now_usec) {
        keeper->drift.host_written_usec = now_usec;
}

/* ---- state ---- */

const Config *keeper_config(const Keeper *keeper) {
        return keeper->asked.config;
}

const Look *keeper_look(const Keeper *keeper) {
        return keeper->known.look;
}

const Apply *keeper_apply(const Keeper *keeper) {
        return keeper->round.apply;
}

SourceNames keeper_units(const Keeper *keeper, Arena *arena) {
        SourceNames units = {};

        VEC_FOREACH(hold, &keeper->known.look->ledger->holds)
                if (!hold->is_tentative)
                        *vec_push(arena, &units) = arena_strdup(arena, hold->unit);
        return units;
}

void keeper_hold_back(Keeper *keeper) {
        keeper->is_held_back = true;
        keeper->known.look->stored = NULL; /* the file may change while nothing is done */
        keeper_report(
                keeper, LOG_NOTICE, problem_id(PROBLEM_HELD_BACK),
                "rescue mode: nothing is reserved before a reload, or the start of a database");
}

bool keeper_is_held_back(const Keeper *keeper) {
        return keeper->is_held_back;
}

/* ---- requested changes ---- */

KeeperReload keeper_reload(Keeper *keeper, bool is_forced, uint64_t now_usec) {
        KeeperReload state = keeper_reload_try(keeper, is_forced);

        if (state == KEEPER_RELOAD_BEGUN)
                keeper_begin(keeper, KEEPER_FRESH, now_usec);
        return state;
}

void keeper_release(Keeper *keeper, const char *instance, uint64_t now_usec) {
        keeper_note_before(keeper);
        ledger_release(keeper->known.arena, keeper->known.look->ledger, instance);
        keeper_begin(keeper, KEEPER_FRESH, now_usec);
}

void keeper_grow(Keeper *keeper, const InstanceConfig *file, const PageCounts *pages,
                 uint64_t now_usec) {
        const PlanInstance *planned = plan_find(keeper->known.look->plan, file->name);
        VEC_FOREACH(count, pages) {
                if (planned && planned->page_size_bytes == count->page_size_bytes &&
                    planned->pages_wanted != count->pages)
                        keeper_report_size(keeper, file->name, count, planned->pages_wanted);
                keeper_set_found(keeper, file, count);
        }
        /* Nothing to do if the current plan was made for these sizes. */
        if (!keeper->is_held_back &&
            (!planned || planned->demand->n_options == 0 ||
             ARRAY_ANY(option, planned->demand->options, planned->demand->n_options,
                       page_counts_find(pages, option->page_size_bytes) != option->pages)))
                keeper_begin(keeper, KEEPER_FRESH, now_usec);
}

LearnedNewsList keeper_count(Keeper *keeper, Arena *arena, const Config *files, uint64_t now_usec) {
        bool has_changed = false;
        LearnedNewsList news = {};

        if (!keeper_has_started(keeper) || keeper->is_held_back || keeper->known.fault.error < 0 ||
            keeper_is_working(keeper) || keeper->known.look->use->is_moving)
                return news;
        news = keeper_take_counts(keeper, arena, files, now_usec, &has_changed);
        if (has_changed) {
                keeper_save(keeper);
                keeper_begin(keeper, KEEPER_FRESH, now_usec);
        }
        return news;
}

/* ---- beginning and end ---- */

Keeper *keeper_new(const Root *root, KeeperListener listener, void *userdata) {
        Keeper *keeper = memory_new(sizeof(Keeper));

        *keeper = (Keeper){
                .root = root,
                .events = {listener, userdata},
                .round = {.arena = arena_new(), .attempts_arena = arena_new()},
                .moves = {.arena = arena_new()},
                .starts = {.arena = arena_new()},
                .counts = {.arena = arena_new()},
        };
        return keeper;
}

Keeper *keeper_free(Keeper *keeper) {
        if (!keeper)
                return NULL;
        const Reload *reload = &keeper->reload;
        Arena *const arenas[] = {
                keeper->asked.arena,
                keeper->known.arena,
                keeper->known.fault_arena,
                keeper->round.arena,
                keeper->round.attempts_arena,
                keeper->drift.arena,
                keeper->moves.arena,
                keeper->starts.arena,
                keeper->counts.arena,
                reload->look_arena,
                reload->arena,
                keeper->before.arena,
        };

        if (reload->before.arena != keeper->asked.arena)
                arena_free(reload->before.arena);
        ARRAY_FOREACH(arena, arenas, ARRAY_LEN(arenas))
                arena_free(*arena);
        memory_free(keeper);
        return NULL;
}
