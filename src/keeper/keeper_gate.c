/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Gates: decides whether an instance may start.
 *
 * An instance may start if its pages are available now, in whatever order running units touch theirs. If pages are
 * missing, further rounds are run while the shortage shrinks. The hold is stored before the client is answered, so that
 * a crash cannot lose it; the pages then belong to the instance until its unit stops.
 *
 * Each start counts once: a starting unit has no hold yet, so pages that its processes have mapped count as another's,
 * and a second start in the same run would be granted its pages a second time. */
#include "keeper/keeper_state.h"

#include "base/size.h"
#include "base/text.h"
#include "host/cgroup_limit.h"
#include "host/host_use.h"
#include "host/mounts.h"
#include "host/probe.h"
#include "units/hugetlb_limit.h"

#include <syslog.h>

enum { ROUNDS_MAX = 8 };

/* ---- starts ---- */

/* How long the processes of a refused start may take to end. */
static const uint64_t refused_usec = 5 * USEC_PER_SEC;

static void free_if_none(Starts *starts) {
        if (starts->list.n > 0)
                return;
        arena_free(starts->arena);
        starts->arena = arena_new();
        starts->list = (PlanStartings){};
}

static void starts_forget(Starts *starts, const char *instance) {
        VEC_KEEP(start, &starts->list, !text_equals(start->instance, instance));
        free_if_none(starts);
}

bool keeper_waits_for_end(const Keeper *keeper) {
        return VEC_ANY(start, &keeper->starts.list, start->is_refused);
}

void keeper_forget_refused(Keeper *keeper, uint64_t now_usec) {
        Starts *starts = &keeper->starts;

        if (!keeper_waits_for_end(keeper))
                return;
        if (starts->refused_usec == 0)
                starts->refused_usec = now_usec;
        VEC_KEEP(start, &starts->list,
                 !start->is_refused || (now_usec - starts->refused_usec < refused_usec &&
                                        unit_use_is_running(keeper->known.look->use, start->unit)));
        free_if_none(starts);
}

/* ---- starting ---- */

static void view_forget(GateView *view) {
        view->seen_arena = arena_free(view->seen_arena);
        view->seen = NULL;
        view->status = NULL;
}

/* Detects and reports external changes before anything is written for a gate. */
static void detect_drift(Keeper *keeper, GateView *view) {
        view_forget(view);
        if (keeper->round.apply)
                return;
        if (keeper_look_for_drift(keeper))
                keeper->drift.is_left = true;
        if (keeper->known.fault.error == 0)
                view->seen = keeper->known.look;
}

/* Returns the look of an earlier gate if the counts are unchanged, else a new one; NULL if the host cannot be read. */
static Look *look_now(const Keeper *keeper, GateView *view) {
        CLEANUP(arena_freep) Arena *scratch = arena_new();
        LookInput input = keeper_look_input(keeper);
        Look *seen = view->seen;

        root_forget_fault(keeper->root);
        if (seen &&
            host_use_is_current(
                    keeper->root, seen->use, seen->topology,
                    probe_topology_again(keeper->root, scratch, input.config, seen->topology)) &&
            root_fault(keeper->root, scratch).error == 0)
                return seen;
        view_forget(view);
        Arena *arena = arena_new();

        input.known = keeper->known.look->topology;
        seen = look_at_host(arena, &input);
        if (seen->fault.error < 0) {
                arena_free(arena);
                return NULL;
        }
        /* Before a gate switches the controller on for all units of a slice. */
        ledger_observe_counting(keeper->known.look->ledger, seen->use);
        view->seen_arena = arena;
        return view->seen = seen;
}

/* With OnDrift=report a round must not revert external changes. Without such changes it may reserve pages as usual. */
static bool may_write(const Keeper *keeper) {
        return keeper->asked.config->host.on_drift == DRIFT_REPAIR ||
               !(keeper->drift.is_left || keeper_has_lost_pages(keeper));
}

void keeper_begin_gate(Keeper *keeper, Gate *gate) {
        const InstanceConfig *config = config_find(keeper->asked.config, gate->instance);

        if (!keeper_has_started(keeper) || !config)
                return;
        Ledger *ledger = keeper->known.look->ledger;
        Starts *starts = &keeper->starts;
        const LedgerHold *hold = ledger_hold(ledger, gate->unit, config->name);

        /* Without an invocation ID one start could not be told from the next. */
        gate->is_starting = gate->is_starting && *gate->run &&
                            !(hold && text_equals(hold->run, gate->run));
        if (!gate->is_starting || gate->has_begun)
                return;
        gate->has_begun = true;
        gate->lacked_pages = UINT64_MAX;
        if (gate->policy.kind == MEMORY_POLICY_UNKNOWN)
                gate->policy = plan_find(keeper->known.look->plan, config->name)->demand->policy;
        /* The previous run has ended; drop its hold. */
        ledger_end(ledger, gate->unit, gate->run, config->name);
        ledger_want_again(ledger, config->name);
        starts_forget(starts, config->name);
        *vec_push(starts->arena, &starts->list) = (PlanStarting){
                arena_strdup(starts->arena, config->name), arena_strdup(starts->arena, gate->unit),
                arena_strdup(starts->arena, gate->run), gate->policy, false};
        starts->is_unplanned = true;
}

static void add_pages(const PageCounts *limits, uint64_t page_size_bytes, uint64_t pages) {
        VEC_FOREACH(limit, limits)
                if (limit->page_size_bytes == page_size_bytes)
                        limit->pages += pages;
}

/* Sets the hugetlb limit of the unit to its own pages, less the missing ones, which running units may need. A limit
 * that cannot be set is a reason to refuse the start only with Isolate=yes. */
static Reason put_up_hugetlb_limit(const Keeper *keeper, Arena *arena, const Status *status,
                                   const InstanceConfig *config, const Gate *gate,
                                   const PageCount *lack, const UnitUse *earlier) {
        TriState preference = text_equals(gate->unit, config->unit)
                                      ? hugetlb_limit_preference(keeper->asked.config, config->unit)
                                      : TRI_NO;
        PageCounts limits =
                hugetlb_limit_counts(arena, keeper->known.look->topology, status, config->unit);
        Reason reason = cgroup_limit_judge(keeper->root);

        if (earlier)
                VEC_FOREACH(charge, &earlier->charges)
                        add_pages(&limits, charge->page_size_bytes, charge->reserved_pages);
        /* The unit also keeps pages that the plan no longer grants it: more important instances that do not run yet have a
         * claim to them, or the files of its other instances were removed or changed. */
        VEC_FOREACH(hold, &keeper->known.look->ledger->holds) {
                if (!text_equals(hold->unit, config->unit))
                        continue;
                const StatusInstance *other = status_find(status, hold->granted.name);
                uint64_t page_size_bytes = hold->granted.page_size_bytes;
                uint64_t counted = other && text_equals(other->unit, config->unit) &&
                                                   other->page_size_bytes == page_size_bytes
                                           ? other->pages_granted
                                           : 0;

                add_pages(&limits, page_size_bytes,
                          sub_floored(ledger_granted_pages(&hold->granted), counted));
        }
        if (preference == TRI_NO || limits.n == 0) { /* no limit, or no huge pages */
                if (gate->group)
                        cgroup_limit_widen(keeper->root, arena, gate->group, &limits);
                return (Reason){};
        }
        if (reason.kind == REASON_NONE && gate->group) {
                VEC_FOREACH(limit, &limits)
                        if (limit->page_size_bytes == lack->page_size_bytes)
                                limit->pages = sub_floored(limit->pages, lack->pages);
                reason = cgroup_limit_set(keeper->root, arena, gate->group, &limits);
        }
        if (reason.kind == REASON_NONE || preference == TRI_YES)
                return reason;
        keeper_report(keeper, LOG_WARNING, NULL, "%s: the hugetlb limit of %s cannot be set: %s",
                      config->name, config->unit, reason.text);
        return (Reason){};
}

/* The kernel's counts for the unit of GATE, which begin now at the latest: what it has already is of processes that
 * earlier runs have left behind (KillMode=process). NULL: nothing counts. */
static const UnitUse *begin_counting(const Keeper *keeper, Arena *arena, const GateView *view,
                                     const Gate *gate) {
        if (!gate->group || !view->seen ||
            cgroup_limit_count(keeper->root, arena, gate->group).kind != REASON_NONE)
                return NULL;
        host_use_read_unit(keeper->root, view->seen_arena ? view->seen_arena : keeper->known.arena,
                           view->seen->use, view->seen->topology, gate->unit);
        const UnitUse *use = unit_use_find(view->seen->use, gate->unit);

        return use && use->charges.n > 0 ? use : NULL;
}

/* Lets the instance start: sets the limit and records the hold. An instance that wants no pages gets no hold. */
static Reason let_start(Keeper *keeper, GateView *view, const Status *status,
                        const PlanInstance *planned, const Gate *gate, const Lack *lack) {
        Arena *arena = view->arena;
        const InstanceConfig *config = planned->demand->config;
        Ledger *ledger = keeper->known.look->ledger;
        const PageCount lacked = {planned->page_size_bytes, lack->pages};
        const UnitUse *use = begin_counting(keeper, arena, view, gate);
        /* A count that includes pages of earlier runs does not tell what this run maps. */
        bool is_counted = use && !VEC_ANY(charge, &use->charges, charge->reserved_pages > 0);
        Reason reason = put_up_hugetlb_limit(keeper, arena, status, config, gate, &lacked, use);

        view->status = NULL;
        keeper->known.is_new = false;
        starts_forget(&keeper->starts, gate->instance);
        if (reason.kind != REASON_NONE)
                return reason;
        /* A plan that leaves nothing to write has not been recorded yet. */
        plan_record(keeper->known.arena, keeper->known.look->plan, ledger);
        if (planned->pages_wanted > 0)
                ledger_start(
                        keeper->known.arena, ledger, config->name,
                        &(LedgerHold){
                                .unit = gate->unit,
                                .run = gate->run,
                                .policy = gate->policy,
                                .is_counted = is_counted,
                                .earlier = use && !is_counted
                                                   ? unit_use_charge(use, planned->page_size_bytes)
                                                   : NULL,
                                .granted = {.name = config->name,
                                            .page_size_bytes = planned->page_size_bytes,
                                            .pages_wanted = planned->pages_wanted,
                                            .placement = config->placement}});
        ledger_forget_refusal(ledger, config->name);
        keeper->known.is_unsaved = true;
        keeper_forget_count(keeper, gate->unit);
        /* After a reload that has given the instance another unit, the look does not know this one. */
        if (!text_equals(gate->unit, config->unit))
                view_forget(view);
        keeper_report_start(keeper, planned, NULL);
        return (Reason){};
}

/* ---- judging ---- */

/* Whether another round may help: the last one has reduced the shortage. */
static bool may_try_again(const Keeper *keeper, Gate *gate, bool may_try, uint64_t lacked_pages) {
        if (!may_try || !may_write(keeper) || gate->n_rounds >= ROUNDS_MAX ||
            (gate->n_rounds > 0 && lacked_pages >= gate->lacked_pages))
                return false;
        gate->n_rounds++;
        gate->lacked_pages = lacked_pages;
        return true;
}

/* Whether the missing pages may come without a round for this gate: their node comes online, a retry finds memory, or a
 * pool that was lowered externally is repaired. */
static bool may_come(const Keeper *keeper, Gate *gate, const Reason *reason) {
        const PlanInstance *planned = plan_find(keeper->known.look->plan, gate->instance);

        if (reason->kind == REASON_NODE_ABSENT)
                return demand_nodes_may_come(keeper->known.look->topology, planned->demand->config);
        if (!may_write(keeper) || keeper->is_held_back)
                return false;
        if (reason->kind == REASON_POOL_SHRANK && !gate->is_repair_due) {
                gate->is_repair_due = true;
                return true;
        }
        return gate->is_due &&
               (planned->reason.kind == REASON_NONE || planned->reason.kind == REASON_FRAGMENTED);
}

void keeper_abandon_gate(Keeper *keeper, const Gate *gate) {
        /* The unit's control group exists for a moment longer, which does not mean that the unit runs; if it exists for
         * longer, systemd has started the unit all the same. */
        VEC_FOREACH(start, &keeper->starts.list)
                start->is_refused |= gate->has_begun &&
                                     text_equals(start->instance, gate->instance);
        keeper->starts.refused_usec = 0;
}

/* Refuses the start and records that. Queries are not refused here, because they must not end a start. */
static GateAnswer refuse(Keeper *keeper, const Gate *gate, const Reason *reason) {
        keeper_abandon_gate(keeper, gate);
        if (!keeper_was_refused(keeper, gate->instance, gate->run))
                keeper_report_start(keeper, plan_find(keeper->known.look->plan, gate->instance),
                                    reason);
        ledger_note_refusal(keeper->known.arena, keeper->known.look->ledger, gate->instance,
                            gate->run, reason->text);
        keeper->known.is_unsaved = true;
        return GATE_REFUSE;
}

/* A part is what is left over, so its instance waits as long as a more important one is short and tried again. */
static bool waits_for_others(const Keeper *keeper, Arena *arena, const Gate *gate,
                             const PlanInstance *planned, Reason *ret_reason) {
        const PlanInstance *other =
                planned->pages_granted < planned->pages_wanted
                        ? keeper_find_short_before(keeper->known.look->plan, planned)
                        : NULL;

        if (!other || !gate->is_due || gate->is_last)
                return false;
        *ret_reason = reason_make(
                arena, other->reason.kind,
                "it starts with its part when that instance has its pages, or when WaitTimeout= has passed",
                "%s, which is more important, lacks pages", other->demand->config->name);
        return true;
}

/* ---- within a unit that runs ---- */

/* What the instance would lack if its unit started now. Sets *RET_HAS_ENDED if the database has ended while its unit
 * still runs; false if it has not, or that cannot be known. */
static Lack find_restart_lack(Keeper *keeper, GateView *view, const PlanInstance *planned,
                              const char *unit, bool *ret_has_ended) {
        Arena *arena = view->arena;
        const InstanceConfig *config = planned->demand->config;
        const LedgerHold *hold = ledger_hold(keeper->known.look->ledger, unit, config->name);
        LookInput look_input = keeper_look_input(keeper);
        PlanStartings starting = {};

        if (!hold || hold->is_tentative || planned->pages_wanted == 0)
                return (Lack){};
        vec_push_all(arena, &starting, &keeper->starts.list);
        *vec_push(arena, &starting) =
                (PlanStarting){config->name, unit, hold->run, hold->policy, false};
        look_input.starting = &starting;
        look_input.seen = view->seen;
        const Look *now = look_at_host(arena, &look_input);
        const StatusInput input = look_status_input(now, keeper->known.look->plan);

        const UnitUse *use = unit_use_find(now->use, unit);

        /* Only a count from the start of the run includes all its pages. */
        *ret_has_ended = now->fault.error == 0 && hold->is_counted && use && use->charges.n > 0 &&
                         !VEC_ANY(charge, &use->charges, charge->reserved_pages > 0);
        return *ret_has_ended ? status_find(status_judge(arena, &input), config->name)->lack
                              : (Lack){};
}

/* ---- answering ---- */

/* A starting unit needs its pages now. A query, or a restart in a unit that has its pages, only asks for the verdict. */
static GateAnswer judge_gate(Keeper *keeper, GateView *view, Gate *gate, bool may_try,
                             StatusInstance *instance, Reason *ret_reason) {
        Arena *arena = view->arena;
        const Status *status = view->status;
        const PlanInstance *planned = plan_find(keeper->known.look->plan, gate->instance);
        bool is_valid = instance->verdict != VERDICT_INVALID, has_ended = false;
        Lack restart = {};

        if (!gate->is_starting && verdict_lets_start(instance->verdict) && instance->is_running)
                restart = find_restart_lack(keeper, view, planned, gate->unit, &has_ended);
        const Reason shortage = instance->lack.pages > 0
                                        ? plan_explain_lack(arena, planned, &instance->lack)
                                        : instance->reason;

        status_judge_start(arena, planned, gate->is_starting ? START_BY_UNIT : START_QUERY,
                           &restart, instance);
        const Lack *lack = &instance->lack;
        bool may_start = verdict_lets_start(instance->verdict);
        bool is_worth_it = gate->is_starting || gate->n_rounds == 0 ||
                           (gate->is_restarting && lack->pages > 0);

        if (!may_start && is_valid && is_worth_it &&
            may_try_again(keeper, gate, may_try,
                          lack->pages ? lack->pages : instance->pages_wanted))
                return GATE_WAIT;
        *ret_reason = instance->reason;
        if (!may_start && is_valid && may_come(keeper, gate, ret_reason))
                return GATE_PENDING;
        if (may_start && gate->is_starting &&
            waits_for_others(keeper, arena, gate, planned, ret_reason))
                return GATE_PENDING;
        if (may_start) {
                const Reason no_mount = mounts_judge_start(keeper->root, arena,
                                                           planned->demand->config,
                                                           gate->is_starting ? NULL : &shortage);

                may_start = no_mount.kind == REASON_NONE;
                *ret_reason = may_start ? *ret_reason : no_mount;
        }
        if (may_start && !gate->is_starting && !(gate->is_restarting && has_ended))
                return GATE_PASS;
        if (may_start)
                *ret_reason = let_start(keeper, view, status, planned, gate, lack);
        if (may_start && ret_reason->kind == REASON_NONE)
                return GATE_PASS;
        if (!gate->is_starting)
                return GATE_REFUSE;
        view->status = NULL;
        return refuse(keeper, gate, ret_reason);
}

bool keeper_was_refused(const Keeper *keeper, const char *instance, const char *run) {
        return keeper->known.look &&
               VEC_FIND(refusal, &keeper->known.look->ledger->refusals,
                        text_equals(refusal->instance, instance) && text_equals(refusal->run, run));
}

GateAnswer keeper_try_gate(Keeper *keeper, GateView *view, Gate *gate, bool may_try,
                           StatusInstance *ret_instance, Reason *ret_reason) {
        const InstanceConfig *config = config_find(keeper->asked.config, gate->instance);

        *ret_reason = (Reason){};
        /* The configuration could not be read yet, so the instance may exist. */
        if (!keeper_has_started(keeper))
                return GATE_WAIT;
        if (!config)
                return GATE_GONE;
        keeper_begin_gate(keeper, gate);
        if (keeper->starts.is_unplanned) {
                keeper->starts.is_unplanned = false;
                detect_drift(keeper, view);
        }
        if (gate->is_starting && !gate->is_tried) {
                gate->is_tried = true;
                if (keeper->known.fault.error < 0)
                        return GATE_WAIT;
                /* The plan may move pages that the previous run had on other nodes. */
                if (!keeper->round.apply && plan_count_changed(keeper->known.look->plan) > 0 &&
                    may_write(keeper) && may_try) {
                        gate->n_rounds = 1;
                        return GATE_WAIT;
                }
        }
        if (!gate->is_starting && may_try && gate->n_rounds == 0 &&
            keeper->asked.config->host.on_drift == DRIFT_REPORT)
                detect_drift(keeper, view);
        bool is_start = gate->is_starting || gate->is_restarting;

        /* Another size was reported meanwhile, which the plan of this round does not know. */
        if (is_start && keeper->round.apply && keeper->round.is_another_wanted)
                return GATE_WAIT;
        /* A start is judged by current counts only, and by one look. */
        Look *seen = is_start || !view->status ? look_now(keeper, view) : view->seen;

        if (!seen && is_start)
                return GATE_WAIT;
        if (!view->status) {
                arena_free(view->arena);
                view->arena = arena_new();
                view->status = keeper_judge_by(keeper, view->arena, false, seen);
        }
        *ret_instance = *status_find(view->status, gate->instance);
        if (ret_instance->verdict == VERDICT_PENDING)
                return GATE_WAIT;
        return judge_gate(keeper, view, gate, may_try, ret_instance, ret_reason);
}

void keeper_time_out_gate(Keeper *keeper, const Gate *gate, const Reason *reason) {
        if (!gate->has_begun || !plan_find(keeper->known.look->plan, gate->instance))
                return;
        refuse(keeper, gate, reason);
        keeper_save(keeper);
}

void keeper_end_gates(Keeper *keeper, GateView *view) {
        view_forget(view);
        view->arena = arena_free(view->arena);
        if (keeper->known.is_unsaved)
                keeper_save(keeper);
}
