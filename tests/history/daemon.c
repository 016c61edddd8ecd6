/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What hugepland does around its keeper (daemon/manager.c, watch.c, clients.c), without clocks and sockets;
 * and what must hold of every single write and of all that is said about them. */
#include "history/history.h"

#include "base/text.h"
#include "host/config_load.h"
#include "model/names.h"
#include "status/pending.h"

enum { ROUNDS_MAX = 20 };

static void listen(void *userdata, const KeeperEvent *event) {
        History *history = userdata;

        if (event->level <= 5 /* LOG_NOTICE */)
                say(history, "        hugepland: %s", event->text);
}

/* ---- writing ---- */

static void check_write(History *history, const ApplyOperation *operation, const PoolCounts *before,
                        bool was_overtaken) {
        PoolCounts after = pool_counts(history);

        for (unsigned i = 0; i < history->n_sizes; i++)
                for (unsigned node = 0; node < history->n_nodes; node++) {
                        uint64_t was = before->persistent[i][node];
                        uint64_t is = after.persistent[i][node];
                        uint64_t *found = &history->found[i][node];

                        /* What is split was free, and becomes pages of another size. */
                        if (operation->move.action == ESCALATION_DEMOTE && is < was)
                                *found = *found > was - is ? *found - (was - is) : 0;
                        if (is < MIN(was, *found))
                                break_off(history, "below found",
                                          "node %u had %" PRIu64 " pages, %" PRIu64
                                          " of them found, and now has %" PRIu64,
                                          node, was, *found, is);
                        /* Whoever has reserved pages that were about to go has surplus ones. */
                        if (!was_overtaken && after.surplus[i][node] > before->surplus[i][node])
                                break_off(history, "made surplus",
                                          "node %u: %" PRIu64 " surplus pages, and %" PRIu64
                                          " after our write",
                                          node, before->surplus[i][node], after.surplus[i][node]);
                }
}

/* Between what it has read and what it writes there is time for others. *LAST is who came before the last
 * write: what is lowered while a stranger maps pages is taken back by the next write, and until then it is he
 * who has left too few. */
static bool meanwhile(History *history, Actor *last) {
        Actor before = *last, actor;

        *last = ACTOR_HUGEPLAN;
        if (!chance(history, 5))
                return false;
        check_between(history, before == ACTOR_STRANGER ? ACTOR_STRANGER : ACTOR_HUGEPLAN);
        say(history, "      meanwhile:");
        history->was_overtaken = true;
        if (history->options->is_hurried && chance(history, 50)) {
                if (somebody_hurries(history))
                        check_between(history, ACTOR_UNIT);
        } else if (chance(history, 60) ? somebody_touches(history, &actor)
                                       : somebody_maps(history, &actor)) {
                check_between(history, actor);
                *last = actor;
        }
        return true;
}

/* False: the daemon was killed. */
static bool work(History *history) {
        Actor last = ACTOR_HUGEPLAN;
        ApplyOperation operation;

        while (!model_root_is_dead(history->root) &&
               keeper_next(history->keeper, history->now_usec, &operation)) {
                bool was_overtaken = meanwhile(history, &last);
                PoolCounts before = pool_counts(history);
                int r = apply_perform(history->root, &operation);

                say(history, "        %s <- %s%s", operation.path,
                    text_excerpt(history->arena, operation.text, 40), r < 0 ? " (fails)" : "");
                check_write(history, &operation, &before, was_overtaken);
                if (model_root_is_dead(history->root))
                        break;
                keeper_done(history->keeper, &operation, r, 1000);
                history->now_usec += 1000;
        }
        if (model_root_is_dead(history->root))
                return false;
        check_between_gates(history);
        return true;
}

/* ---- beginning and end ---- */

/* What is short is tried again as long as that may help. */
static void retry(History *history) {
        for (unsigned i = 0; i < 3 && keeper_wants_retry(history->keeper, history->now_usec); i++) {
                history->now_usec += 25 * USEC_PER_SEC;
                keeper_begin(history->keeper, KEEPER_RETRY, history->now_usec);
                work(history);
        }
}

void daemon_boot(History *history) {
        model_root_revive(history->root);
        history->keeper = keeper_new(history->root, listen, history);
        keeper_start(history->keeper);
        memset(history->lowered, 0, sizeof(history->lowered));
        history->is_edited = false;
        keeper_begin(history->keeper, KEEPER_START, history->now_usec);
        work(history);
        retry(history);
        history->is_settled = true;
}

void daemon_kill(History *history) {
        /* It had no time to take back what it lowered while a stranger came. */
        if (history->was_overtaken)
                check_between(history, ACTOR_STRANGER);
        say(history, "      hugepland is killed, and starts again");
        history->keeper = keeper_free(history->keeper);
        daemon_boot(history);
}

void daemon_revive(History *history) {
        if (model_root_is_dead(history->root))
                daemon_kill(history);
}

/* ---- rounds ---- */

static bool is_same(const History *history, const PoolCounts *before) {
        PoolCounts now = pool_counts(history);

        return memcmp(&now, before, sizeof(now)) == 0;
}

/* With OnDrift=report a look writes nothing back. */
static void check_not_repaired(History *history) {
        PoolCounts now = pool_counts(history);

        if (keeper_config(history->keeper)->host.on_drift != DRIFT_REPORT)
                return;
        for (unsigned i = 0; i < history->n_sizes; i++)
                for (unsigned node = 0; node < history->n_nodes; node++)
                        if (history->lowered[i][node] > 0 &&
                            now.persistent[i][node] >= history->lowered[i][node])
                                break_off(history, "reported only",
                                          "others have lowered the pool of node %u to %" PRIu64
                                          " pages, and a look has raised it",
                                          node, history->lowered[i][node] - 1);
}

static bool verify_once(History *history, bool has_memory) {
        bool wants_repair;

        if (!keeper_verify(history->keeper, has_memory, true, history->now_usec, &wants_repair))
                return false;
        if (work(history))
                retry(history);
        check_not_repaired(history);
        return true;
}

bool daemon_verify(History *history, bool has_memory) {
        bool has_begun = verify_once(history, has_memory);

        if (model_root_is_dead(history->root)) {
                daemon_kill(history);
                return true;
        }
        PoolCounts after = pool_counts(history);

        history->now_usec += 2 * USEC_PER_SEC;
        verify_once(history, false);
        if (model_root_is_dead(history->root)) {
                daemon_kill(history);
                return true;
        }
        /* What strangers have is laid where pages are. */
        if (!has_strangers(history) && !is_same(history, &after))
                break_off(history, "not in one step",
                          "nothing has happened since it looked, and it has written again");
        history->is_settled = true;
        return has_begun;
}

/* ---- what is said of changes ---- */

static uint64_t before_of(const History *history, const PoolCounts *counts, unsigned node,
                          uint64_t page_bytes) {
        for (unsigned i = 0; i < history->n_sizes; i++)
                if (kernel_page_bytes(history->kernel, i) == page_bytes)
                        return counts->persistent[i][node];
        return UINT64_MAX;
}

static void check_said(History *history, const PoolChanges *changes, const PoolCounts *before) {
        PoolCounts now = pool_counts(history);
        size_t n = 0;

        for (unsigned i = 0; i < history->n_sizes; i++)
                for (unsigned node = 0; node < history->n_nodes; node++)
                        n += now.persistent[i][node] != before->persistent[i][node];
        VEC_FOREACH(change, changes)
                if (change->pages_before !=
                            before_of(history, before, change->node, change->page_size_bytes) ||
                    change->pages_after !=
                            before_of(history, &now, change->node, change->page_size_bytes))
                        break_off(history, "said wrong",
                                  "said that node %u went from %" PRIu64 " to %" PRIu64
                                  ", and it went from %" PRIu64 " to %" PRIu64,
                                  change->node, change->pages_before, change->pages_after,
                                  before_of(history, before, change->node, change->page_size_bytes),
                                  before_of(history, &now, change->node, change->page_size_bytes));
        if (changes->n != n)
                break_off(history, "said wrong", "said that %zu pools have changed, of %zu",
                          changes->n, n);
}

/* ---- changes ---- */

/* Names and grants: all that a reload may change. Where hugeplan does not know of all who have pages, grants
 * are laid around what they have. */
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
                for (size_t k = 0; k < instance->n_grants; k++)
                        text_printf(&text, " %u:%" PRIu64, instance->grants[k].node,
                                    instance->grants[k].pages);
                text_add(&text, "; ");
        }
        return text_string(&text);
}

static void check_nothing_changed(History *history, const char *text, const uint64_t *before) {
        const Plan *plan = keeper_look(history->keeper)->plan;
        const char *now = keeper_text(history);

        if (!text_equals(text, now))
                break_off(history, "refused reload", "was refused and has changed %s into %s", text,
                          now);
        /* Pages that were tried stay where somebody of whom nobody knows may have reserved some meanwhile, and
         * what such have may be laid elsewhere. */
        for (size_t i = 0; i < plan->n_pools && is_all_known(history); i++)
                if (plan->pools[i].to_pages - plan->pools[i].cover_pages != before[i])
                        break_off(history, "refused reload",
                                  "was refused, and the pool of node %u has changed",
                                  plan->pools[i].node);
}

/* What the pools of the plan are to have, by index; what is there only for as long as others may take some
 * may be on any of several nodes. */
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

/* It is refused for what the plan says, and for nothing else, else begun by that plan; the attempt may show more. */
static void check_foreseen(History *history, const Look *ahead, const Diags *falls, bool is_forced,
                           KeeperReload begun) {
        const KeeperReloadResult result = keeper_reload_result(history->keeper);
        bool has_mistakes = diags_count(&ahead->config->problems, SEVERITY_ERROR) > 0;
        KeeperReload expected = has_mistakes                      ? KEEPER_RELOAD_REJECTED
                                : falls->list.n > 0 && !is_forced ? KEEPER_RELOAD_REFUSED
                                                                  : KEEPER_RELOAD_BEGUN;
        const char *foreseen = falls_text(history->arena, falls);

        if (keeper_waits_for_end(history->keeper)) /* which is not on disk */
                return;
        if (begun != expected)
                break_off(history, "not foreseen", "was %d, and the plan said %d: %s", begun,
                          expected, foreseen);
        else if (begun == KEEPER_RELOAD_REFUSED &&
                 !text_equals(foreseen, falls_text(history->arena, &result.problems)))
                break_off(history, "not foreseen", "was refused for %s, and the plan said %s",
                          falls_text(history->arena, &result.problems), foreseen);
        const Plan *plan = keeper_look(history->keeper)->plan;

        /* What instances had is kept while it is tried, so that one or the other may have more. */
        for (size_t i = 0; begun == KEEPER_RELOAD_BEGUN && i < plan->n_instances; i++)
                if (plan->instances[i].pages_granted < ahead->plan->instances[i].pages_granted)
                        break_off(history, "not foreseen",
                                  "%s is to have %" PRIu64 " pages, and the plan said %" PRIu64,
                                  plan->instances[i].demand->config->name,
                                  plan->instances[i].pages_granted,
                                  ahead->plan->instances[i].pages_granted);
}

void daemon_reload(History *history, bool is_forced) {
        /* What others have changed is repaired on the way, and no change by the reload. */
        daemon_verify(history, false);
        if (history->broken)
                return;
        PoolCounts before = pool_counts(history);
        const uint64_t *planned = without_cover(history);
        const char *text = keeper_text(history);

        history->was_overtaken = false;
        memset(history->lowered, 0, sizeof(history->lowered));
        Diags falls = diags_in(history->arena);
        /* As `hugeplanctl plan` tells it, by what is on disk: what the reload would make, and
         * why it would be refused. */
        const LookInput input = {
                .root = history->root,
                .config = config_load(history->root, history->arena, NULL),
                .is_reload = true,
        };
        const Look *ahead = look_make(history->arena, &input);

        falls_find(keeper_judge(history->keeper, history->arena, false),
                   look_plan_restarted(history->arena, history->root, ahead), ahead->plan, &falls);
        KeeperReload begun = keeper_reload(history->keeper, is_forced, history->now_usec);

        check_foreseen(history, ahead, &falls, is_forced, begun);
        if (begun == KEEPER_RELOAD_BEGUN)
                work(history);
        if (model_root_is_dead(history->root)) {
                daemon_kill(history);
                return;
        }
        KeeperReloadResult result = keeper_reload_result(history->keeper);

        say(history, "        reload%s: %s", is_forced ? " --force" : "",
            result.state == KEEPER_RELOAD_APPLIED    ? "applied"
            : result.state == KEEPER_RELOAD_REJECTED ? "rejected"
                                                     : "refused");
        if (result.state == KEEPER_RELOAD_APPLIED || result.state == KEEPER_RELOAD_REFUSED)
                check_said(history, &result.pools, &before);
        /* With OnDrift=report what was lowered before is raised by the reload. */
        if (result.state != KEEPER_RELOAD_APPLIED && !history->was_overtaken &&
            keeper_config(history->keeper)->host.on_drift == DRIFT_REPAIR)
                check_nothing_changed(history, text, planned);
        if (is_forced && result.state == KEEPER_RELOAD_REFUSED)
                break_off(history, "refused reload", "was refused though it was forced");
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

        say(history, "      hugeplanctl release %s", name);
        memset(history->lowered, 0, sizeof(history->lowered));
        keeper_release(history->keeper, name, history->now_usec);
        if (!work(history)) {
                daemon_kill(history);
                return;
        }
        PoolChanges changes = keeper_pool_changes(history->keeper, arena);

        check_said(history, &changes, &before);
        retry(history);
        history->is_settled = true;
}

/* ---- gates ---- */

/* By the files that hugepland has read it is another unit's: then somebody asks who does not start, and is
 * told whether it is ready. */
static bool is_starting(const History *history, const Unit *unit, const char *instance) {
        const InstanceConfig *config = config_find(keeper_config(history->keeper), instance);

        return config && text_equals(config->unit, unit->name);
}

/* Nobody waits here for what may come without a round: the time is over at once. */
static GateAnswer try_now(const History *history, GateView *view, Gate *gate,
                          StatusInstance *ret_status, Reason *ret_reason) {
        GateAnswer answer =
                keeper_try_gate(history->keeper, view, gate, true, ret_status, ret_reason);

        if (answer != GATE_PENDING)
                return answer;
        keeper_time_out_gate(history->keeper, view, gate, ret_reason);
        return GATE_REFUSE;
}

/* With the rounds that are run for a gate that has to wait. */
static GateAnswer try_gate(History *history, Arena *arena, Gate *gate, StatusInstance *ret_status,
                           Reason *ret_reason) {
        GateView view = {};
        GateAnswer answer = try_now(history, &view, gate, ret_status, ret_reason);

        ret_reason->text = arena_strdup(arena, ret_reason->text);
        ret_status->reason.text = arena_strdup(arena, ret_status->reason.text);
        keeper_end_gates(history->keeper, &view);
        if (answer == GATE_WAIT && !model_root_is_dead(history->root)) {
                memset(history->lowered, 0, sizeof(history->lowered));
                if (!keeper_is_working(history->keeper))
                        keeper_begin(history->keeper, KEEPER_FRESH, history->now_usec);
                work(history);
        }
        return answer;
}

bool daemon_ask(History *history, const char *instance) {
        Gate gate = {.instance = instance, .run = ""};

        for (unsigned i = 0; i < ROUNDS_MAX; i++) {
                CLEANUP(arena_freep) Arena *arena = arena_new();
                StatusInstance status = {};
                Reason reason = {};
                GateAnswer answer = try_gate(history, arena, &gate, &status, &reason);

                if (model_root_is_dead(history->root)) {
                        daemon_kill(history);
                        return false;
                }
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

/* What is told when all that was noted is on disk. */
typedef struct Told {
        GateAnswer answer;
        Verdict verdict;
        const char *reason;
        bool has_asked; /* it is another unit's, so that nothing was promised */
} Told;

static void take_told(History *history, const StartGate *start, const Told *told) {
        Unit *unit = start->unit;

        say(history, "        gate of %s: %s", start->instance,
            told->answer == GATE_GONE ? "no such instance"
            : told->reason            ? told->reason
                                      : verdict_name(told->verdict));
        unit->is_short = unit->is_short ||
                         (told->answer == GATE_PASS && told->verdict != VERDICT_READY);
        if (told->answer == GATE_PASS && told->has_asked)
                unit->was_gated = false;
        else if (told->answer == GATE_PASS) {
                const LedgerHold *hold = ledger_hold(keeper_look(history->keeper)->ledger,
                                                     unit->name, start->instance);

                if (hold && ledger_granted_pages(&hold->granted) > 0 && unit->n_claims < CLAIMS)
                        unit->claims[unit->n_claims++] = (Claim){
                                hold->granted.page_size_bytes, ledger_granted_pages(&hold->granted),
                                mount_of(history, start->instance)};
                unit->is_short = unit->is_short || mount_may_differ(history, start->instance);
        }
}

/* All who wait yet, in one go; whether any of them waits on. */
static bool try_gates(History *history, Arena *arena, Gate *gates, Told *told, size_t n) {
        GateView view = {};
        bool is_any_waiting = false;

        for (size_t i = 0; i < n; i++)
                if (told[i].answer == GATE_WAIT)
                        keeper_begin_gate(history->keeper, &gates[i]);
        for (size_t i = 0; i < n; i++) {
                StatusInstance status = {};
                Reason reason = {};

                if (told[i].answer != GATE_WAIT)
                        continue;
                told[i].answer = try_now(history, &view, &gates[i], &status, &reason);
                told[i].verdict = status.verdict;
                told[i].reason = arena_strdup(
                        arena, told[i].answer == GATE_REFUSE ? reason.text : status.reason.text);
                is_any_waiting = is_any_waiting || told[i].answer == GATE_WAIT;
        }
        keeper_end_gates(history->keeper, &view);
        return is_any_waiting;
}

/* The gates call again who take the place of those that hung up. */
static bool begin_again(History *history, const StartGate *starts, Gate *gates, Told *told,
                        const bool *is_done, size_t n) {
        bool was_edited = history->is_edited;

        daemon_kill(history);
        history->is_settled = false; /* units start */
        check_between_gates(history);
        for (size_t i = 0; i < n; i++)
                if (!is_done[i]) {
                        told[i].answer = GATE_WAIT;
                        gates[i] = gate_of(history, &starts[i]);
                }
        /* A hugetlb limit of its daemon before stays with this start, and that may have gone by files that are others
         * now. */
        return !was_edited;
}

void daemon_gates(History *history, StartGate *starts, size_t n) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Gate *gates = ARENA_ARRAY(arena, Gate, n);
        Told *told = ARENA_ARRAY(arena, Told, n);
        bool *is_done = ARENA_ARRAY(arena, bool, n), is_any_waiting = true;

        for (size_t i = 0; i < n; i++) {
                gates[i] = gate_of(history, &starts[i]);
                told[i] = (Told){.answer = GATE_WAIT, .has_asked = !gates[i].is_starting};
        }
        for (unsigned round = 0; is_any_waiting && round < ROUNDS_MAX; round++) {
                is_any_waiting = try_gates(history, arena, gates, told, n);
                if (model_root_is_dead(history->root) && history->is_in_round)
                        return;
                if (model_root_is_dead(history->root)) {
                        if (!begin_again(history, starts, gates, told, is_done, n))
                                return;
                        is_any_waiting = true;
                        continue;
                }
                for (size_t i = 0; i < n; i++)
                        if (told[i].answer != GATE_WAIT && !is_done[i]) {
                                is_done[i] = true;
                                starts[i].has_passed = told[i].answer == GATE_PASS;
                                take_told(history, &starts[i], &told[i]);
                        }
                if (!is_any_waiting)
                        return;
                if (history->options->is_hurried && (history->is_in_round || chance(history, 10))) {
                        say(history, "        those who wait hang up");
                        for (size_t i = 0; i < n; i++)
                                if (!is_done[i])
                                        keeper_abandon_gate(history->keeper, &gates[i]);
                        return;
                }
                memset(history->lowered, 0, sizeof(history->lowered));
                if (!keeper_is_working(history->keeper))
                        keeper_begin(history->keeper, KEEPER_FRESH, history->now_usec);
                work(history);
                if (model_root_is_dead(history->root) &&
                    !begin_again(history, starts, gates, told, is_done, n))
                        return;
        }
        if (is_any_waiting)
                break_off(history, "gate", "a gate of %zu waits for ever", n);
}

/* Nothing is booked for it, whatever it has mapped meanwhile: a start counts once. */
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
        /* It may have ended meanwhile. */
        if (history->broken || unit->state == UNIT_DOWN)
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

        say(history, "      %s says that it starts %s again", unit->name, instance);
        keeper_try_gate(history->keeper, &view, &gate, true, &status, &reason);
        keeper_end_gates(history->keeper, &view);
        daemon_verify(history, false);
        if (gate.is_starting)
                break_off(history, "started twice", "%s is believed to start %s again", unit->name,
                          instance);
        if (!has_strangers(history) && !is_same(history, &before))
                break_off(history, "started twice", "%s has said so, and pools have changed",
                          unit->name);
}
