/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the keeper stores and sets: the ledger, before and after writes to pools, and settings other than pools. */
#include "keeper/keeper_state.h"

#include "apply/host_apply.h"
#include "base/size.h"
#include "base/text.h"
#include "host/state.h"
#include "model/names.h"
#include "model/problem.h"

#include <string.h>
#include <syslog.h>

/* How long after a repair pages may still appear on other nodes. */
static const uint64_t aftermath_usec = 10 * USEC_PER_SEC;

bool keeper_is_as_stored(const Keeper *keeper) {
        return keeper->known.look->stored &&
               ledger_equals(keeper->known.look->stored, keeper->known.look->ledger);
}

void keeper_save(Keeper *keeper) {
        bool is_there = keeper_is_as_stored(keeper);

        /* The comparison holds only right after the file was read. */
        keeper->known.look->stored = NULL;
        keeper->known.is_unsaved = false;
        /* Without a complete first look the file on disk is better than this ledger. */
        if (!keeper_has_started(keeper) || is_there)
                return;
        int before = keeper->known.save_error;

        keeper->known.save_error = state_save(keeper->root, keeper->known.look->ledger);
        keeper->known.is_unsaved = keeper->known.save_error < 0;
        if (keeper->known.save_error < 0 && keeper->known.save_error != before) {
                CLEANUP(arena_freep) Arena *arena = arena_new();
                Diags problems = diags_in(arena);

                keeper_add_save_error(keeper, &problems);
                keeper_report_diag(keeper, problems.list.items);
        }
}

void keeper_add_save_error(const Keeper *keeper, Diags *problems) {
        if (keeper->known.save_error < 0)
                diags_report(problems,
                             problem_of(PROBLEM_STATE_WRITE, NULL,
                                        "make " PATH_LEDGER " writable; hugeplan tries again"),
                             "cannot write " PATH_LEDGER
                             ": %s; if hugepland ends now, the next one estimates what units have "
                             "that started since, and gives no pages back that were reserved since",
                             strerror(-keeper->known.save_error));
}

void keeper_record_intent(Keeper *keeper, uint64_t now_usec) {
        Ledger *ledger = keeper->known.look->ledger;
        const Plan *plan = keeper->known.look->plan;
        bool is_aftermath = keeper->drift.host_written_usec > 0 &&
                            now_usec - keeper->drift.host_written_usec < aftermath_usec;

        plan_record(keeper->known.arena, plan, ledger);
        ARRAY_FOREACH(pool, plan->pools, plan->n_pools) {
                LedgerPool *known = ledger_pool(ledger, pool->node, pool->page_size_bytes);

                if (!known)
                        continue;
                /* These pages are reserved again. A program that has written the host-wide nr_hugepages may do so again
                 * at once, as tuned applies sysctl.d after its own profile; then the kernel places the pages reserved
                 * here on other nodes. */
                uint64_t restored =
                        sub_floored(MIN(known->set_pages, pool->to_pages), pool->from_pages);

                if (restored > 0 && is_aftermath) {
                        ledger_restore(keeper->known.arena, ledger, pool->page_size_bytes,
                                       restored);
                        keeper->drift.restored_usec = now_usec;
                }
                /* Pages that others added and have taken away again no longer exist. A daemon that was killed may have
                 * taken the missing ones itself. */
                uint64_t target = MAX(pool->from_pages, pool->to_pages);
                uint64_t gone =
                        keeper->known.stage == KNOWN_SETTLED
                                ? MIN(known->added_pages, sub_floored(known->set_pages, target))
                                : 0;

                ledger_lower_found(known, known->found_pages - gone);
                known->set_pages = MAX(target, known->found_pages);
        }
        /* Without steps the outcome is recorded at once. */
        if (plan_steps(keeper->known.arena, plan).n > 0)
                keeper_save(keeper);
}

bool keeper_adopt_surplus(const Keeper *keeper, uint64_t page_size_bytes) {
        bool is_other = false;

        VEC_FOREACH(known, &keeper->known.look->ledger->pools) {
                const Pool *pool =
                        topology_pool(keeper->known.look->topology, known->node, page_size_bytes);

                if (!pool || known->page_size_bytes != page_size_bytes ||
                    known->set_pages >= pool->total_pages)
                        continue;
                known->set_pages = pool->total_pages;
                is_other = true;
        }
        return is_other;
}

bool keeper_record_result(Ledger *ledger, const ApplyResult *result) {
        const PlanPool *pool = result->step.pool;
        LedgerPool *known = ledger_pool(ledger, pool->node, pool->page_size_bytes);
        LedgerPool *small = ledger_pool(ledger, pool->node, result->step.demote_to_bytes);
        bool is_other = result->demoted_pages > 0 && known && small;

        /* Pages made by demoting existing pages count as existing. */
        if (is_other) {
                ledger_lower_found(known, sub_floored(known->found_pages, result->demoted_pages));
                small->found_pages += result->demoted_pages *
                                      (pool->page_size_bytes / result->step.demote_to_bytes);
        }
        if (!known || result->error == -ENOENT || result->is_unread)
                return is_other;
        const LedgerPool before = *known;

        ledger_lower_found(known, result->reached_pages);
        known->set_pages = MAX(result->reached_pages, known->found_pages);
        return is_other || known->found_pages != before.found_pages ||
               known->set_pages != before.set_pages;
}

void keeper_record_outcome(Keeper *keeper) {
        plan_record(keeper->known.arena, keeper->known.look->plan, keeper->known.look->ledger);
        if (keeper->reload.stage != RELOAD_TRYING)
                plan_note_ready(keeper->known.look->plan, keeper->known.look->ledger);
        keeper_save(keeper);
}

void keeper_forget_old_restores(const Keeper *keeper, uint64_t now_usec) {
        if (keeper->drift.restored_usec > 0 &&
            now_usec - keeper->drift.restored_usec >= aftermath_usec)
                ledger_forget_restored(keeper->known.look->ledger);
}

/* ---- besides the pools ---- */

void keeper_undo_host(Keeper *keeper) {
        const char *path = NULL;
        int r = host_writes_apply(keeper->root, &keeper->reload.undo, &path);

        keeper->reload.undo = (HostWrites){};
        if (r < 0)
                keeper_report(keeper, LOG_WARNING, NULL, "cannot restore %s: %s", path,
                              strerror(-r));
}

/* Writes settings, whose values before a reload that may be rolled back are recorded; the first value of each file
 * counts. Returns false if not everything could be written. */
static bool write_host(Keeper *keeper, const HostWrites *writes, ProblemKind kind,
                       const char *remedy) {
        Reload *reload = &keeper->reload;
        const char *path = NULL;

        VEC_FOREACH(write, writes)
                if (reload->stage == RELOAD_TRYING && write->before &&
                    !VEC_ANY(known, &reload->undo, text_equals(known->path, write->path)))
                        *vec_push(reload->arena, &reload->undo) =
                                (HostWrite){.path = arena_strdup(reload->arena, write->path),
                                            .value = arena_strdup(reload->arena, write->before),
                                            .before = arena_strdup(reload->arena, write->value)};
        int r = host_writes_apply(keeper->root, writes, &path);

        if (r < 0)
                diags_report(&keeper->known.look->host_problems, problem_of(kind, NULL, remedy),
                             "cannot set %s: %s", path, strerror(-r));
        return r == 0;
}

void keeper_set_host(Keeper *keeper, const HostPlan *plan) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        SourceNames texts = {};

        if (write_host(keeper, &plan->thp.writes, PROBLEM_THP_WRITE,
                       "run hugepland as root with /sys writable, or write "
                       "TransparentHugePages=keep") &&
            plan->thp.writes.n > 0)
                *vec_push(arena, &texts) = arena_printf(arena,
                                                        "transparent huge pages are now '%s'",
                                                        thp_policy_name(plan->thp.policy));
        if (write_host(keeper, &plan->limits, PROBLEM_LIMIT_WRITE,
                       "run hugepland as root with /proc/sys writable"))
                VEC_FOREACH(write, &plan->limits)
                        *vec_push(arena, &texts) =
                                arena_printf(arena, "%s is now %s", write->path, write->value);
        VEC_FOREACH(text, &texts)
                keeper_report_event(keeper, LOG_INFO, HISTORY_SET, (HistoryEntry){.text = *text});
}

void keeper_guard_pool(const Keeper *keeper) {
        const Topology *now = keeper->known.look->topology;
        const Plan *plan = keeper->known.look->plan;
        int i = topology_page_size_index(now, now->default_page_size_bytes);
        bool is_used = ARRAY_FIND(pool, plan->pools, plan->n_pools,
                                  pool->granted_pages > 0 &&
                                          pool->page_size_bytes == now->default_page_size_bytes);
        const PageSize *size = is_used && i >= 0 ? &now->page_sizes[i] : NULL;
        int r = size ? guard_write(keeper->root,
                                   sub_floored(size->total_pages, size->surplus_pages))
                     : guard_remove(keeper->root);

        if (r < 0)
                keeper_report(keeper, LOG_WARNING, NULL,
                              "cannot keep " PATH_SYSCTL_GUARD " up to date: %s", strerror(-r));
}
