/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A reload is a transaction. A dry run comes first: the reload is refused if an instance would lose its pages, also if
 * all units were restarted. Then the new plan is carried out while the old pages are kept, as far as there is memory for
 * both. When every instance that was ready is ready again, the reload takes effect and the old pages are given back;
 * otherwise, for example because memory is fragmented, the new ones. Running units keep their pages in any case. */
#include "keeper/keeper_state.h"

#include "demand/learned.h"
#include "host/config_load.h"
#include "model/problem.h"
#include "status/pending.h"

#include <syslog.h>

/* ---- keeping what there is ---- */

/* Holds the pages of ready instances that do not run, until the reload takes effect. */
static void hold_ready(Keeper *keeper) {
        ARRAY_FOREACH(was, keeper->reload.status->instances, keeper->reload.status->n_instances) {
                const LedgerInstance *granted = ledger_instance(keeper->reload.ledger, was->name);

                if (!was->is_running && verdict_lets_start(was->verdict) && granted &&
                    granted->grants.n > 0)
                        *vec_push(keeper->known.arena,
                                  &keeper->known.look->ledger->holds) = (LedgerHold){
                                .unit = "", .run = "", .is_tentative = true, .granted = *granted};
        }
}

static void drop_held(Ledger *ledger) {
        VEC_KEEP(hold, &ledger->holds, !hold->is_tentative);
}

/* ---- the stages ---- */

/* Sizes reported by gates remain known until they are stored beside the configuration. FOUND is later than a
 * configuration that ASKED returns to by a rollback. */
static void keep_found(Asked *asked, const Figures *found, bool is_rollback) {
        VEC_FOREACH(figure, found) {
                const InstanceConfig *instance = config_find(asked->config, figure->instance);

                if (!instance || instance->memory_kind != MEMORY_AUTO)
                        continue;
                const PageCounts pages = learned_pages(asked->arena, instance, &instance->learned);

                if (is_rollback || keeper_is_later_than_file(figure, &pages))
                        keeper_add_found(asked, instance->name, figure);
        }
}

/* Rejects the reload because the host cannot be read, so that nothing is changed by half. */
static KeeperReload reject_unread(Keeper *keeper, const ReadFault *fault) {
        const Diag diag = look_fault_diag(keeper->reload.arena, fault);

        keeper_report_diag(keeper, &diag);
        keeper->reload.state = KEEPER_RELOAD_REJECTED;
        keeper->reload.problems = diags_in(keeper->reload.arena);
        diags_add(&keeper->reload.problems, &diag);
        keeper_report(keeper, LOG_ERR, NULL,
                      "the host cannot be read; the previous plan stays in effect");
        return KEEPER_RELOAD_REJECTED;
}

static KeeperReload refuse(Keeper *keeper, const Diags *falls) {
        keeper->reload.state = KEEPER_RELOAD_REFUSED;
        keeper->reload.problems = *falls;
        keeper->reload.rejected = arena_memdup(keeper->reload.arena, falls, sizeof(*falls));
        VEC_FOREACH(fall, &falls->list)
                keeper_report_diag(keeper, fall);
        keeper_report(keeper, LOG_ERR, problem_id(PROBLEM_RELOAD_REFUSED),
                      "the reload is refused; the previous plan stays in effect");
        return KEEPER_RELOAD_REFUSED;
}

/* The dry run of a reload with ASKED; BEFORE is the current status. Adds instances that would lose their pages to
 * FALLS. */
static Look *dry_run(const Keeper *keeper, Arena *arena, const Asked *asked, const Status *before,
                     Diags *falls) {
        LookInput input = keeper_look_input(keeper);

        input.config = asked->config;
        input.found = &asked->found;
        input.limits = NULL;
        input.is_reload = true;
        Look *look = look_make(arena, &input);

        falls_find(before, look_plan_restarted(arena, keeper->root, look), look->plan, falls);
        return look;
}

Look *keeper_look_ahead(const Keeper *keeper, Arena *arena, Diags *falls) {
        Asked asked = {.arena = arena, .config = config_load(keeper->root, arena, NULL)};

        keep_found(&asked, &keeper->asked.found, false);
        return dry_run(keeper, arena, &asked, keeper_judge(keeper, arena, false), falls);
}

/* Looks with the old pages held, unless the new plan needs their memory. Returns false if the host cannot be read. */
static bool look_with_old_pages(Keeper *keeper) {
        CLEANUP(arena_freep) Arena *scratch = arena_new();

        if (!keeper_look_anew(keeper))
                return false;
        if (keeper->reload.is_forced)
                return true;
        LookInput input = keeper_look_input(keeper);
        const Look *next = look_make(scratch, &input);

        hold_ready(keeper);
        if (next->fault.error < 0) {
                keeper_note_fault(keeper, &next->fault);
                return false;
        }
        if (!keeper_look_anew(keeper))
                return false;
        /* Whether every instance has as many pages as without the old ones. */
        const PlanInstance *kept = keeper->known.look->plan->instances,
                           *others = next->plan->instances;

        if (!ARRAY_FIND(other, others, next->plan->n_instances,
                        kept[other - others].pages_granted < other->pages_granted))
                return true;
        drop_held(keeper->known.look->ledger);
        return keeper_look_anew(keeper);
}

/* Rolls back to the configuration, look, grants and settings from before the reload. Pools are taken as they are. */
static void restore(Keeper *keeper) {
        Reload *reload = &keeper->reload;
        Arena *tried = keeper->asked.arena;
        Ledger *ledger = ledger_copy(reload->look_arena, keeper->known.look->ledger);
        const Ledger *before = ledger_copy(reload->look_arena, reload->ledger);

        drop_held(ledger);
        ledger->instances = before->instances;
        ledger->guard = before->guard;
        reload->look->ledger = ledger;
        if (keeper->known.look != reload->look)
                arena_free(keeper->known.arena);
        keeper->known.arena = TAKE_PTR(reload->look_arena);
        keeper->known.look = TAKE_PTR(reload->look);
        keep_found(&reload->before, &keeper->asked.found, true);
        keeper->asked = reload->before;
        reload->before = (Asked){};
        arena_free(tried);
        keeper_undo_host(keeper);
}

/* Replaces the configuration and looks with the new one. If the host is unreadable, returns false and changes nothing. */
static bool take_over(Keeper *keeper, const Asked *asked) {
        Reload *reload = &keeper->reload;

        reload->look_arena = TAKE_PTR(keeper->known.arena);
        reload->look = keeper->known.look;
        reload->before = keeper->asked;
        keeper->asked = *asked;
        ledger_reload(keeper->known.look->ledger);
        if (look_with_old_pages(keeper))
                return true;
        restore(keeper);
        return false;
}

void keeper_reload_break_off(Keeper *keeper) {
        if (keeper->reload.stage != RELOAD_TRYING)
                return;
        reject_unread(keeper, &keeper->known.fault);
        restore(keeper);
        keeper->reload.stage = RELOAD_TAKING_BACK;
}

KeeperReload keeper_reload_try(Keeper *keeper, bool is_forced) {
        Asked asked = {.arena = arena_new()};
        Reload *reload = &keeper->reload;

        arena_free(reload->look_arena);
        arena_free(reload->arena);
        *reload = (Reload){.arena = arena_new()};
        asked.config = config_load(keeper->root, asked.arena, NULL);
        keep_found(&asked, &keeper->asked.found, false);
        VEC_FOREACH(problem, &asked.config->problems.list)
                keeper_report_diag(keeper, problem);
        /* Errors stay in the status until they are corrected. */
        if (diags_count(&asked.config->problems, SEVERITY_ERROR) > 0) {
                arena_free(reload->arena);
                reload->arena = asked.arena;
                keeper->reload.rejected = &asked.config->problems;
                keeper_report(keeper, LOG_ERR, NULL,
                              "the configuration has mistakes; the previous plan stays in effect");
                reload->problems = asked.config->problems;
                return reload->state = KEEPER_RELOAD_REJECTED;
        }
        if (!keeper_finish_start(keeper)) {
                arena_free(asked.arena);
                return reject_unread(keeper, &keeper->known.fault);
        }
        CLEANUP(arena_freep) Arena *scratch = arena_new();
        Diags falls = diags_in(reload->arena);

        /* The state before the reload. */
        reload->status = keeper_judge(keeper, reload->arena, false);
        reload->ledger = ledger_copy(reload->arena, keeper->known.look->ledger);
        ReadFault fault = keeper_note_before(keeper);
        const Look *ahead = dry_run(keeper, scratch, &asked, reload->status, &falls);

        if (fault.error == 0)
                fault = ahead->fault;
        if (fault.error < 0) {
                arena_free(asked.arena);
                return reject_unread(keeper, &fault);
        }
        if (falls.list.n > 0 && !is_forced) {
                arena_free(asked.arena);
                return refuse(keeper, &falls);
        }
        reload->is_forced = is_forced;
        if (!take_over(keeper, &asked))
                return reject_unread(keeper, &keeper->known.fault);
        reload->stage = RELOAD_TRYING;
        return reload->state = KEEPER_RELOAD_BEGUN;
}

bool keeper_reload_continue(Keeper *keeper) {
        CLEANUP(arena_freep) Arena *scratch = arena_new();
        Reload *reload = &keeper->reload;

        if (reload->stage != RELOAD_TRYING) {
                reload->stage = RELOAD_NONE;
                return false;
        }
        const Status *now = keeper_judge(keeper, scratch, false);
        Diags fallen = diags_in(reload->arena);

        /* The real outcome decides. */
        ARRAY_FOREACH(was, reload->status->instances, reload->status->n_instances) {
                const StatusInstance *is = status_find(now, was->name);

                if (is && !verdict_lets_start(is->verdict))
                        falls_add(was, &is->reason, &fallen);
        }
        if (fallen.list.n > 0 && !reload->is_forced) {
                refuse(keeper, &fallen);
                restore(keeper);
                reload->stage = RELOAD_TAKING_BACK;
                keeper_look_anew(keeper);
        } else {
                reload->look_arena = arena_free(reload->look_arena);
                arena_free(reload->before.arena);
                reload->before = (Asked){};
                reload->state = KEEPER_RELOAD_APPLIED;
                reload->stage = RELOAD_SETTLING;
                drop_held(keeper->known.look->ledger);
        }
        return true;
}

KeeperReloadResult keeper_reload_result(const Keeper *keeper) {
        const Reload *reload = &keeper->reload;
        KeeperReloadResult result = {.state = reload->state, .problems = reload->problems};

        if (reload->status)
                result.pools = keeper_pool_changes(keeper, reload->arena);
        VEC_FOREACH(undo, &reload->undo)
                *vec_push(reload->arena, &result.writes) = (HostWrite){
                        .path = undo->path, .value = undo->before, .before = undo->value};
        if (reload->state == KEEPER_RELOAD_APPLIED)
                result.changes = changes_between(reload->arena, reload->ledger,
                                                 keeper->known.look->ledger,
                                                 keeper->known.look->plan);
        return result;
}
