/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/drift.h"

#include "base/size.h"

Drifts drift_find(Arena *arena, const Plan *plan, const Ledger *ledger, const Topology *now,
                  const HostPlan *host) {
        Drifts drifts = {};

        ARRAY_FOREACH(planned, plan->pools, plan->n_pools) {
                const Pool *pool = topology_pool(now, planned->node, planned->page_size_bytes);
                const LedgerPool *known =
                        ledger_pool(ledger, planned->node, planned->page_size_bytes);
                Drift drift = {
                        .node = planned->node,
                        .page_size_bytes = planned->page_size_bytes,
                        .expected_pages = known ? known->set_pages : planned->to_pages,
                        .found_pages = pool ? pool_persistent_pages(pool) : 0,
                };

                if (!pool && planned->granted_pages > 0)
                        drift.kind = DRIFT_NODE_GONE;
                else if (pool && known && drift.found_pages > known->set_pages)
                        drift.kind = DRIFT_POOL_RAISED;
                else if (planned->granted_pages > 0 &&
                         drift.found_pages < MIN(planned->to_pages, drift.expected_pages))
                        drift.kind = DRIFT_POOL_LOWERED;
                else
                        continue;
                *vec_push(arena, &drifts) = drift;
        }
        VEC_FOREACH(write, &host->writes)
                *vec_push(arena, &drifts) =
                        (Drift){.kind = DRIFT_HOST, .path = write->path, .expected = write->value};
        return drifts;
}

bool drift_wants_repair(const Drift *drift) {
        return drift->kind != DRIFT_POOL_RAISED;
}

char *drift_format(Arena *arena, const Drift *drift) {
        switch (drift->kind) {
        case DRIFT_NODE_GONE:
                return arena_printf(
                        arena, "node %u is gone, and with it %s", drift->node,
                        format_page_count(arena, drift->expected_pages, drift->page_size_bytes));
        case DRIFT_HOST:
                return arena_printf(arena, "%s is no longer '%s'", drift->path, drift->expected);
        default:
                return arena_printf(
                        arena, "node %u has %s instead of %s", drift->node,
                        format_page_count(arena, drift->found_pages, drift->page_size_bytes),
                        format_count(arena, drift->expected_pages));
        }
}
