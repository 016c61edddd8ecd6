/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The daemon around its keeper (daemon/manager.c, watch.c, clients.c), without clocks and sockets; and checks of
 * every single write and of every report about the pools. */
#include "history/history.h"

#include "base/text.h"
#include "host/config_load.h"
#include "model/names.h"
#include "model/problem.h"
#include "status/pending.h"

enum { ROUNDS_MAX = 20 };

static void on_event(void *userdata, const HistoryEntry *entry) {
        History *history = userdata;

        if (entry->level.value <= 5 /* LOG_NOTICE */)
                trace(history, "        hugepland: %s", entry->text);
}

/* ---- writing ---- */

static void check_write(History *history, const ApplyOperation *operation, const PoolCounts *before,
                        bool was_overtaken) {
        PoolCounts after = pool_counts(history);

        for (unsigned i = 0; i < history->n_sizes; i++)
                for (unsigned node = 0; node < history->n_nodes; node++) {
                        uint64_t was = before->persistent[i][node];
                        uint64_t is = after.persistent[i][node];
                        uint64_t *existing = &history->existing[i][node];

                        /* Free pages become pages of a smaller size. */
                        if (operation->move.action == ESCALATION_DEMOTE && is < was)
                                *existing = *existing > was - is ? *existing - (was - is) : 0;
                        if (is < MIN(was, *existing))
                                report_failure(history, "below existing",
                                               "node %u had %" PRIu64 " pages, %" PRIu64
                                               " of them existing, and now has %" PRIu64,
                                               node, was, *existing, is);
                        /* A process that reserves pages before they are removed gets surplus pages. */
                        if (!was_overtaken && after.surplus[i][node] > before->surplus[i][node])
                                report_failure(history, "made surplus",
                                               "node %u: %" PRIu64 " surplus pages, and %" PRIu64
                                               " after hugeplan's write",
                                               node, before->surplus[i][node],
                                               after.surplus[i][node]);
                }
}

/* Processes can act between the daemon's reads and its write. *LAST is who acted before the previous write. If
 * that was another process that mapped pages while the daemon lowered a pool, the daemon corrects this with its
 * next write; until then the other process is to blame for missing pages. */
static bool act_between(History *history, Actor *last) {
        Actor before = *last, actor;

        *last = ACTOR_HUGEPLAN;
        if (!chance(history, 5))
                return false;
        check_between(history, before == ACTOR_OTHER ? ACTOR_OTHER : ACTOR_HUGEPLAN);
        trace(history, "      before the write:");
        history->was_overtaken = true;
        if (history->options->has_gates_in_rounds && chance(history, 50)) {
                if (some_unit_starts_or_stops(history))
                        check_between(history, ACTOR_UNIT);
        } else if (chance(history, 60) ? some_process_touches(history, &actor)
                                       : some_process_maps(history, &actor)) {
                check_between(history, actor);
                *last = actor;
        }
        return true;
}

/* Returns false if the daemon was killed. */
static bool perform_writes(History *history) {
        bool is_round = keeper_is_working(history->keeper);
        Actor last = ACTOR_HUGEPLAN;
        ApplyOperation operation;

        while (!model_root_is_dead(history->root) &&
               keeper_next(history->keeper, history->now_usec, &operation)) {
                bool was_overtaken = act_between(history, &last);
                PoolCounts before = pool_counts(history);
                int r = apply_perform(history->root, &operation);

                trace(history, "        %s <- %s%s", operation.path,
                      text_excerpt(history->arena, operation.text, 40), r < 0 ? " (fails)" : "");
                check_write(history, &operation, &before, was_overtaken);
                if (model_root_is_dead(history->root))
                        break;
                keeper_done(history->keeper, &operation, r, 1000);
                history->now_usec += 1000;
        }
        if (model_root_is_dead(history->root))
                return false;
        const Plan *plan = keeper_look(history->keeper)->plan;

        /* Where the kernel makes surplus pages, each pass may find more of them missing. */
        if (is_round && !may_overcommit(history) &&
            ARRAY_ANY(pool, plan->pools, plan->n_pools, pool->to_pages > pool->from_pages))
                report_failure(history, "left over", "the round has ended before its plan is made");
        check_between_gates(history);
        return true;
}

/* ---- start and end ---- */

static void retry(History *history) {
        for (unsigned i = 0; i < 3 && keeper_wants_retry(history->keeper, history->now_usec); i++) {
                history->now_usec += 25 * USEC_PER_SEC;
                keeper_begin(history->keeper, KEEPER_RETRY, history->now_usec);
                perform_writes(history);
        }
}

void daemon_boot(History *history) {
        model_root_revive(history->root);
        history->keeper = keeper_new(history->root, on_event, history);
        keeper_start(history->keeper);
        memset(history->lowered, 0, sizeof(history->lowered));
        history->is_edited = false;
        keeper_begin(history->keeper, KEEPER_START, history->now_usec);
        perform_writes(history);
        retry(history);
        history->is_settled = true;
}

void daemon_kill(History *history) {
        /* The daemon could not correct what it lowered while another process mapped pages. */
        if (history->was_overtaken)
                check_between(history, ACTOR_OTHER);
        trace(history, "      hugepland is killed, and starts again");
        model_root_revive(history->root);
        if (history->is_ledger_old) {
                history->is_ledger_lost = true;
                history->is_ledger_old = history->is_run_full;
                forget_lost_holds(history, false);
        }
        history->keeper = keeper_free(history->keeper);
        daemon_boot(history);
}

void daemon_revive(History *history) {
        if (model_root_is_dead(history->root))
                daemon_kill(history);
}

/* ---- rounds ---- */

static bool pools_equal(const History *history, const PoolCounts *before) {
        PoolCounts now = pool_counts(history);

        return memcmp(&now, before, sizeof(now)) == 0;
}

static bool has_more_pages(const History *history, const PoolCounts *before) {
        PoolCounts now = pool_counts(history);

        for (unsigned i = 0; i < history->n_sizes; i++)
                for (unsigned node = 0; node < history->n_nodes; node++)
                        if (now.persistent[i][node] > before->persistent[i][node])
                                return true;
        return false;
}

/* With OnDrift=report a look raises no pool that others have lowered. */
static void check_not_repaired(History *history) {
        PoolCounts now = pool_counts(history);

        if (keeper_config(history->keeper)->host.on_drift != DRIFT_REPORT)
                return;
        for (unsigned i = 0; i < history->n_sizes; i++)
                for (unsigned node = 0; node < history->n_nodes; node++)
                        if (history->lowered[i][node] > 0 &&
                            now.persistent[i][node] >= history->lowered[i][node])
                                report_failure(history, "reported only",
                                               "others have lowered the pool of node %u to %" PRIu64
                                               " pages, and a look has raised it",
                                               node, history->lowered[i][node] - 1);
}

static bool verify_once(History *history, bool has_memory) {
        bool wants_repair;

        if (!keeper_verify(history->keeper, has_memory, true, history->now_usec, &wants_repair))
                return false;
        if (perform_writes(history))
                retry(history);
        check_not_repaired(history);
        return true;
}

/* What could not be stored is stored by the first look that can. */
static void check_stored(History *history) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const Status *status = history->is_ledger_old ? keeper_judge(history->keeper, arena, false)
                                                      : NULL;

        if (!status || history->is_run_full)
                return;
        history->is_ledger_old = false;
        if (VEC_ANY(problem, &status->problems.list,
                    text_equals(problem->id, problem_id(PROBLEM_STATE_WRITE))))
                report_failure(history, "not stored", "the ledger can be written, and was not");
}

bool daemon_verify(History *history, bool has_memory) {
        bool has_begun = verify_once(history, has_memory);

        if (model_root_is_dead(history->root)) {
                daemon_kill(history);
                return true;
        }
        if (history->options->learns) {
                daemon_count(history);
                if (!perform_writes(history)) {
                        daemon_kill(history);
                        return true;
                }
        }
        PoolCounts after = pool_counts(history);

        history->now_usec += 2 * USEC_PER_SEC;
        verify_once(history, false);
        if (model_root_is_dead(history->root)) {
                daemon_kill(history);
                return true;
        }
        /* The plan attributes other users' pages to nodes anew at each look. */
        if (!has_other_users(history) && !pools_equal(history, &after))
                report_failure(
                        history, "not in one step",
                        "nothing has happened since the daemon looked, and it has written again");
        history->is_settled = true;
        check_stored(history);
        return has_begun;
}

/* ---- reported changes ---- */

static void check_reported_changes(History *history, const PoolChanges *changes,
                                   const PoolCounts *before) {
        PoolCounts now = pool_counts(history);
        size_t n = 0;

        for (unsigned i = 0; i < history->n_sizes; i++)
                for (unsigned node = 0; node < history->n_nodes; node++)
                        n += now.persistent[i][node] != before->persistent[i][node];
        VEC_FOREACH(change, changes) {
                unsigned i = size_index(history, change->page_size_bytes);
                uint64_t had = before->persistent[i][change->node];
                uint64_t has = now.persistent[i][change->node];

                if (change->pages_before != had || change->pages_after != has)
                        report_failure(
                                history, "wrong changes",
                                "node %u is reported to have changed from %" PRIu64 " to %" PRIu64
                                ", and has changed from %" PRIu64 " to %" PRIu64,
                                change->node, change->pages_before, change->pages_after, had, has);
        }
        if (changes->n != n)
                report_failure(history, "wrong changes",
                               "%zu pools are reported to have changed, and %zu have", changes->n,
                               n);
}

/* ---- reload and release ---- */

/* Instances and grants, which a reload may change. Grants are left out unless hugeplan knows all users of pages,
 * because unknown users' pages can move grants to other nodes. */
static const char *keeper_text(const History *history) {
        const Config *config = keeper_config(history->keeper);
        const Plan *plan = keeper_look(history->keeper)->plan;
        Text text = text_in(history->arena);

        for (size_t i = 0; i < config->n_instances; i++)
                text_printf(&text, "%s %s; ", config->instances[i].name,
                            config->instances[i].fingerprint);
        for (size_t i = 0; i < plan->n_instances && is_all_known(history); i++) {
                const PlanInstance *instance = &plan->instances[i];

                text_printf(&text, "%s", instance->demand->config->name);
                VEC_FOREACH(grant, &instance->grants)
                        text_printf(&text, " %u:%" PRIu64, grant->node, grant->pages);
                text_add(&text, "; ");
        }
        return text_string(&text);
}

static void check_nothing_changed(History *history, const char *text, const uint64_t *before) {
        const Plan *plan = keeper_look(history->keeper)->plan;
        const char *now = keeper_text(history);

        if (!text_equals(text, now))
                report_failure(history, "refused reload", "was refused and has changed %s into %s",
                               text, now);
        /* An unknown user may have reserved pages that the attempt has added. Those stay. */
        for (size_t i = 0; i < plan->n_pools && is_all_known(history); i++)
                if (plan->pools[i].to_pages - plan->pools[i].cover_pages != before[i])
                        report_failure(history, "refused reload",
                                       "was refused, and the pool of node %u has changed",
                                       plan->pools[i].node);
}

/* The planned pages of every pool, by index. Cover is left out, because the plan may move it between nodes. */
static uint64_t *without_cover(const History *history) {
        const Plan *plan = keeper_look(history->keeper)->plan;
        uint64_t *pages = ARENA_ARRAY(history->arena, uint64_t, plan->n_pools + 1);

        for (size_t i = 0; i < plan->n_pools; i++)
                pages[i] = plan->pools[i].to_pages - plan->pools[i].cover_pages;
        return pages;
}

static const char *falls_text(Arena *arena, const Diags *falls) {
        Text text = text_in(arena);

        VEC_FOREACH(fall, &falls->list)
                text_printf(&text, "%s; ", diag_format(arena, fall));
        return text_string(&text);
}

/* `hugeplanctl plan` predicts the result of a reload: refused for the same reasons, or begun with the same plan. The
 * attempt may then fail for other reasons. */
static void check_predicted(History *history, const Look *ahead, const Diags *falls, bool is_forced,
                            KeeperReload begun) {
        const KeeperReloadResult result = keeper_reload_result(history->keeper);
        bool has_mistakes = diags_count(&ahead->config->problems, SEVERITY_ERROR) > 0;
        KeeperReload expected = has_mistakes                      ? KEEPER_RELOAD_REJECTED
                                : falls->list.n > 0 && !is_forced ? KEEPER_RELOAD_REFUSED
                                                                  : KEEPER_RELOAD_BEGUN;
        const char *predicted = falls_text(history->arena, falls);

        if (keeper_waits_for_end(history->keeper)) /* which hugeplanctl does not know */
                return;
        if (begun != expected)
                report_failure(history, "not predicted", "was %d, and the plan said %d: %s", begun,
                               expected, predicted);
        else if (begun == KEEPER_RELOAD_REFUSED &&
                 !text_equals(predicted, falls_text(history->arena, &result.problems)))
                report_failure(history, "not predicted", "was refused for %s, and the plan said %s",
                               falls_text(history->arena, &result.problems), predicted);
        const Plan *plan = keeper_look(history->keeper)->plan;

        /* During the attempt instances keep what they had, so they may have more than predicted. */
        for (size_t i = 0; begun == KEEPER_RELOAD_BEGUN && i < plan->n_instances; i++)
                if (plan->instances[i].pages_granted < ahead->plan->instances[i].pages_granted)
                        report_failure(history, "not predicted",
                                       "%s is to have %" PRIu64
                                       " pages, and the plan said %" PRIu64,
                                       plan->instances[i].demand->config->name,
                                       plan->instances[i].pages_granted,
                                       ahead->plan->instances[i].pages_granted);
}

void daemon_reload(History *history, bool is_forced) {
        /* The reload would also repair changes by others. */
        daemon_verify(history, false);
        if (history->failure)
                return;
        PoolCounts before = pool_counts(history);
        const uint64_t *planned = without_cover(history);
        const char *text = keeper_text(history);

        history->was_overtaken = false;
        memset(history->lowered, 0, sizeof(history->lowered));
        Diags falls = diags_in(history->arena);
        /* As `hugeplanctl plan` computes it from the files: the plan of the reload, and reasons for a refusal. */
        const LookInput input = {
                .root = history->root,
                .config = config_load(history->root, history->arena, NULL),
                .is_reload = true,
        };
        const Look *ahead = look_make(history->arena, &input);

        falls_find(keeper_judge(history->keeper, history->arena, false),
                   look_plan_restarted(history->arena, history->root, ahead), ahead->plan, &falls);
        /* A reported size beyond the instance's bounds is not on disk, nor is an unsaved ledger. */
        if (history->options->learns || history->is_ledger_old) {
                falls = diags_in(history->arena);
                ahead = keeper_look_ahead(history->keeper, history->arena, &falls);
        }
        KeeperReload begun = keeper_reload(history->keeper, is_forced, history->now_usec);

        check_predicted(history, ahead, &falls, is_forced, begun);
        if (begun == KEEPER_RELOAD_BEGUN)
                perform_writes(history);
        if (model_root_is_dead(history->root)) {
                daemon_kill(history);
                return;
        }
        KeeperReloadResult result = keeper_reload_result(history->keeper);

        trace(history, "        reload%s: %s", is_forced ? " --force" : "",
              result.state == KEEPER_RELOAD_APPLIED    ? "applied"
              : result.state == KEEPER_RELOAD_REJECTED ? "rejected"
                                                       : "refused");
        if (result.state == KEEPER_RELOAD_APPLIED || result.state == KEEPER_RELOAD_REFUSED)
                check_reported_changes(history, &result.pools, &before);
        /* With OnDrift=report the attempt raises pools that others have lowered. */
        if (result.state != KEEPER_RELOAD_APPLIED && !history->was_overtaken &&
            keeper_config(history->keeper)->host.on_drift == DRIFT_REPAIR)
                check_nothing_changed(history, text, planned);
        if (is_forced && result.state == KEEPER_RELOAD_REFUSED)
                report_failure(history, "refused reload", "was refused though it was forced");
        retry(history);
        history->is_settled = true;
        history->is_edited = history->is_edited && result.state != KEEPER_RELOAD_APPLIED;
}

void daemon_release(History *history) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const Config *config = keeper_config(history->keeper);

        if (config->n_instances == 0)
                return;
        const char *name = config->instances[draw(history, 0, config->n_instances - 1)].name;
        PoolCounts before = pool_counts(history);

        trace(history, "      hugeplanctl release %s", name);
        memset(history->lowered, 0, sizeof(history->lowered));
        keeper_release(history->keeper, name, history->now_usec);
        if (!perform_writes(history)) {
                daemon_kill(history);
                return;
        }
        PoolChanges changes = keeper_pool_changes(history->keeper, arena);

        check_reported_changes(history, &changes, &before);
        retry(history);
        history->is_settled = true;
}

/* ---- gates ---- */

bool is_starting(const History *history, const Unit *unit, const char *instance) {
        const InstanceConfig *config = config_find(keeper_config(history->keeper), instance);

        return config && text_equals(config->unit, unit->name);
}

/* A pending gate times out immediately, because no time passes here without a round. */
static GateAnswer try_now(const History *history, GateView *view, Gate *gate,
                          StatusInstance *ret_status, Reason *ret_reason) {
        GateAnswer answer =
                keeper_try_gate(history->keeper, view, gate, true, ret_status, ret_reason);

        if (answer != GATE_PENDING)
                return answer;
        keeper_time_out_gate(history->keeper, gate, ret_reason);
        return GATE_REFUSE;
}

/* A round for gates that wait. */
static void run_round(History *history) {
        memset(history->lowered, 0, sizeof(history->lowered));
        if (!keeper_is_working(history->keeper))
                keeper_begin(history->keeper, KEEPER_FRESH, history->now_usec);
        perform_writes(history);
}

/* Tries a gate once, and runs a round if the gate has to wait. */
static GateAnswer try_gate(History *history, Arena *arena, Gate *gate, StatusInstance *ret_status,
                           Reason *ret_reason) {
        GateView view = {};
        GateAnswer answer = try_now(history, &view, gate, ret_status, ret_reason);

        ret_reason->text = arena_strdup(arena, ret_reason->text);
        ret_status->reason.text = arena_strdup(arena, ret_status->reason.text);
        keeper_end_gates(history->keeper, &view);
        if (answer == GATE_WAIT && !model_root_is_dead(history->root))
                run_round(history);
        return answer;
}

bool daemon_admits(History *history, Gate *gate, Verdict *ret_verdict) {
        for (unsigned i = 0; i < ROUNDS_MAX; i++) {
                CLEANUP(arena_freep) Arena *arena = arena_new();
                StatusInstance status = {};
                Reason reason = {};
                GateAnswer answer = try_gate(history, arena, gate, &status, &reason);

                if (model_root_is_dead(history->root)) {
                        daemon_kill(history);
                        return false;
                }
                *ret_verdict = status.verdict;
                if (answer != GATE_WAIT)
                        return answer == GATE_PASS;
        }
        return false;
}

static Gate gate_of(const History *history, const StartGate *start) {
        const Unit *unit = start->unit;

        return (Gate){
                .instance = start->instance,
                .is_starting = is_starting(history, unit, start->instance),
                .unit = unit->name,
                .policy = unit->policy,
                .group = arena_printf(history->arena, PATH_CGROUP "%s", unit->group),
                .run = unit->run,
        };
}

static void take_result(History *history, const StartGate *start) {
        Unit *unit = start->unit;

        trace(history, "        gate of %s: %s", start->instance,
              start->answer == GATE_GONE ? "no such instance"
              : start->reason            ? start->reason
                                         : verdict_name(start->verdict));
        if (start->answer != GATE_PASS)
                return;
        unit->is_short = unit->is_short || start->verdict != VERDICT_READY;
        if (!start->was_starting) { /* nothing was promised */
                unit->was_gated = false;
                return;
        }
        const LedgerHold *hold =
                ledger_hold(keeper_look(history->keeper)->ledger, unit->name, start->instance);
        const Described *described = described_auto(history, start->instance);
        uint64_t granted = hold ? ledger_granted_pages(&hold->granted) : 0;

        if (granted > 0 && unit->n_claims < CLAIMS)
                unit->claims[unit->n_claims++] =
                        (Claim){hold->granted.page_size_bytes,
                                described ? MIN(granted, described->pages) : granted,
                                mount_of(history, start->instance), 0};
        unit->is_short = unit->is_short || mount_may_differ(history, start->instance);
}

/* Tries all gates that wait. Returns whether any of them still does. */
static bool try_gates(History *history, Arena *arena, StartGate *starts, size_t n) {
        GateView view = {};
        bool is_any_waiting = false;

        ARRAY_FOREACH(start, starts, n)
                if (start->answer == GATE_WAIT)
                        keeper_begin_gate(history->keeper, &start->gate);
        ARRAY_FOREACH(start, starts, n) {
                StatusInstance status = {};
                Reason reason = {};

                if (start->answer != GATE_WAIT)
                        continue;
                start->answer = try_now(history, &view, &start->gate, &status, &reason);
                start->verdict = status.verdict;
                start->reason = arena_strdup(
                        arena, start->answer == GATE_REFUSE ? reason.text : status.reason.text);
                is_any_waiting = is_any_waiting || start->answer == GATE_WAIT;
        }
        keeper_end_gates(history->keeper, &view);
        return is_any_waiting;
}

/* Kills and restarts the daemon; the waiting gates call again. */
static bool restart_gates(History *history, StartGate *starts, size_t n) {
        bool was_edited = history->is_edited;

        daemon_kill(history);
        history->is_settled = false; /* units start */
        check_between_gates(history);
        ARRAY_FOREACH(start, starts, n)
                if (!start->is_done) {
                        start->answer = GATE_WAIT;
                        start->gate = gate_of(history, start);
                }
        /* A hugetlb limit that the previous daemon set for this start stays, and the files may have changed since. */
        return !was_edited;
}

static void try_until_done(History *history, StartGate *starts, size_t n) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        bool is_any_waiting = true;

        ARRAY_FOREACH(start, starts, n) {
                start->gate = gate_of(history, start);
                start->was_starting = start->gate.is_starting;
                start->answer = GATE_WAIT;
        }
        for (unsigned round = 0; is_any_waiting && round < ROUNDS_MAX; round++) {
                is_any_waiting = try_gates(history, arena, starts, n);
                if (model_root_is_dead(history->root) && history->is_in_round)
                        return;
                if (model_root_is_dead(history->root)) {
                        if (!restart_gates(history, starts, n))
                                return;
                        is_any_waiting = true;
                        continue;
                }
                ARRAY_FOREACH(start, starts, n)
                        if (start->answer != GATE_WAIT && !start->is_done) {
                                start->is_done = true;
                                start->has_passed = start->answer == GATE_PASS;
                                take_result(history, start);
                        }
                if (!is_any_waiting)
                        return;
                if (history->options->has_gates_in_rounds &&
                    (history->is_in_round || chance(history, 10))) {
                        trace(history, "        waiting gates hang up");
                        ARRAY_FOREACH(start, starts, n)
                                if (!start->is_done)
                                        keeper_abandon_gate(history->keeper, &start->gate);
                        return;
                }
                run_round(history);
                if (model_root_is_dead(history->root) && !restart_gates(history, starts, n))
                        return;
        }
        if (is_any_waiting)
                report_failure(history, "gate", "one of %zu gates waits forever", n);
}

void daemon_gates(History *history, StartGate *starts, size_t n) {
        for (size_t i = 0; i < n && history->options->learns; i++)
                if (is_starting(history, starts[i].unit, starts[i].instance))
                        daemon_report_size(history, starts[i].instance);
        try_until_done(history, starts, n);
        /* The gates may have passed before the end of the round that a reported size began. */
        if (history->options->learns && !model_root_is_dead(history->root) &&
            !perform_writes(history))
                daemon_kill(history);
}

/* A start counts once: a second call of the same run gets no hold, whatever the unit has mapped. */
void daemon_claim_start(History *history, Unit *unit) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const char *instance = unit->gates[draw(history, 0, unit->n_gates - 1)];
        const LedgerHold *hold =
                ledger_hold(keeper_look(history->keeper)->ledger, unit->name, instance);
        StatusInstance status = {};
        Reason reason = {};
        GateView view = {};

        if (!hold || !text_equals(hold->run, unit->run) || !is_starting(history, unit, instance))
                return;
        daemon_verify(history, false);
        /* The unit may have stopped during the look, or the hold been lost. */
        hold = ledger_hold(keeper_look(history->keeper)->ledger, unit->name, instance);
        if (history->failure || unit->state == UNIT_DOWN || !hold ||
            !text_equals(hold->run, unit->run))
                return;
        PoolCounts before = pool_counts(history);
        Gate gate = {
                .instance = instance,
                .unit = unit->name,
                .is_starting = true,
                .policy = unit->run_policy,
                .group = arena_printf(arena, PATH_CGROUP "%s", unit->group),
                .run = unit->run,
        };

        trace(history, "      %s claims to start %s again", unit->name, instance);
        keeper_try_gate(history->keeper, &view, &gate, true, &status, &reason);
        keeper_end_gates(history->keeper, &view);
        daemon_verify(history, false);
        if (gate.is_starting)
                report_failure(history, "started twice", "%s is believed to start %s again",
                               unit->name, instance);
        /* Pages that a unit turns out not to need may be given back meanwhile. */
        if (!has_other_users(history) &&
            (history->options->learns ? has_more_pages(history, &before)
                                      : !pools_equal(history, &before)))
                report_failure(history, "started twice",
                               "%s has claimed so, and pools have changed", unit->name);
}
