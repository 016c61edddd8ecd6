/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the keeper writes into the ledger: before the first page, and as it was read back. */
#include "base/size.h"
#include "keeper/keeper_inside.h"
#include "model/names.h"
#include "state/state.h"

#include <string.h>
#include <syslog.h>

/* How long after pages were put back they may still turn up elsewhere. */
static const uint64_t aftermath_usec = 10 * USEC_PER_SEC;

bool keeper_is_as_stored(const Keeper *keeper) {
        return keeper->look->stored && ledger_equals(keeper->look->stored, keeper->look->ledger);
}

void keeper_save(Keeper *keeper) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        bool is_there = keeper_is_as_stored(keeper);

        /* It was read a moment ago; later nobody knows what has become of the file. */
        keeper->look->stored = NULL;
        keeper->is_unsaved = false;
        /* What is on disk is better than what follows from what could not be read. */
        if (!keeper->has_started || is_there)
                return;
        int r = state_save(keeper->root, keeper->look->ledger);

        if (r < 0)
                keeper_tell(keeper, LOG_WARNING, NULL,
                            arena_printf(arena, "cannot write " PATH_STATE ": %s", strerror(-r)));
}

void keeper_record_intent(Keeper *keeper, uint64_t now_usec) {
        Ledger *ledger = keeper->look->ledger;
        const Plan *plan = keeper->look->plan;
        bool is_aftermath = keeper->host_written_usec > 0 &&
                            now_usec - keeper->host_written_usec < aftermath_usec;

        plan_record(keeper->look_arena, plan, ledger);
        ARRAY_FOREACH(pool, plan->pools, plan->n_pools) {
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
        /* Else the outcome follows at once. */
        if (plan_steps(keeper->look_arena, plan).n > 0)
                keeper_save(keeper);
}

bool keeper_record_straightening(const Keeper *keeper, uint64_t page_size_bytes) {
        bool is_other = false;

        VEC_FOREACH(known, &keeper->look->ledger->pools) {
                const Pool *pool =
                        topology_pool(keeper->look->topology, known->node, page_size_bytes);

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

        /* What came from demoting existing pages existed before, too. */
        if (is_other) {
                known->found_pages = sub_floored(known->found_pages, result->demoted_pages);
                small->found_pages += result->demoted_pages *
                                      (pool->page_size_bytes / result->step.demote_to_bytes);
        }
        if (!known || result->error == -ENOENT || result->is_unread)
                return is_other;
        const LedgerPool before = *known;

        known->found_pages = MIN(known->found_pages, result->reached_pages);
        known->set_pages = MAX(result->reached_pages, known->found_pages);
        return is_other || known->found_pages != before.found_pages ||
               known->set_pages != before.set_pages;
}

void keeper_record_outcome(Keeper *keeper) {
        plan_record(keeper->look_arena, keeper->look->plan, keeper->look->ledger);
        keeper_save(keeper);
}

void keeper_note_host_written(Keeper *keeper, uint64_t now_usec) {
        keeper->host_written_usec = now_usec;
}

void keeper_forget_old_restores(const Keeper *keeper, uint64_t now_usec) {
        if (keeper->restored_usec > 0 && now_usec - keeper->restored_usec >= aftermath_usec)
                ledger_forget_restored(keeper->look->ledger);
}
