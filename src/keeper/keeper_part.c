/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Unmapped parts. An instance with Shortage=degrade may start with a part of its pages. As long as its unit has not mapped
 * them, as many as are missing there go to a more important instance that is short, or back to a node that is short of
 * KeepFree=. The unit's hugetlb limit is lowered first, so that the kernel refuses further mappings; then the unit's count
 * is read again, and what it has mapped stays its own. A unit without a limit (Isolate=no, no controller) could map pages
 * that were given away, so it keeps its part. */
#include "keeper/keeper_state.h"

#include "base/size.h"
#include "host/cgroup_limit.h"
#include "host/host_use.h"
#include "host/unit_cgroup.h"

/* Whether OTHER is more important than PLANNED and short of pages on NODES. */
static bool is_short_before(const PlanInstance *other, const PlanInstance *planned,
                            const IdSet *nodes) {
        const IdSet common = id_set_common(&other->demand->nodes, nodes);

        return other->demand->config->priority > planned->demand->config->priority &&
               plan_instance_is_short(other) && !id_set_is_empty(&common);
}

const PlanInstance *keeper_find_short_before(const Plan *plan, const PlanInstance *planned) {
        return ARRAY_FIND(other, plan->instances, plan->n_instances,
                          is_short_before(other, planned, &planned->demand->nodes));
}

/* The memory that is missing on the nodes of HOLD: for KeepFree= and for more important instances. */
static uint64_t missing_bytes(const Look *look, const HostConfig *host, const PlanInstance *planned,
                              const LedgerHold *hold) {
        uint64_t bytes = 0;
        IdSet nodes = {};

        VEC_FOREACH(grant, &hold->granted.grants) {
                const Node *node = topology_node(look->topology, grant->node);

                id_set_add(&nodes, grant->node);
                /* An instance that gets all its pages keeps them for its next start. */
                if (!node || !plan_instance_is_short(planned))
                        continue;
                uint64_t shortage = plan_node_shortage_bytes(host, node);

                /* What the plan gives back comes first. */
                ARRAY_FOREACH(pool, look->plan->pools, look->plan->n_pools)
                        if (pool->node == node->id)
                                shortage = sub_floored(
                                        shortage,
                                        mul_saturated(sub_floored(pool->from_pages, pool->to_pages),
                                                      pool->page_size_bytes));
                bytes = add_saturated(bytes, shortage);
        }
        ARRAY_FOREACH(other, look->plan->instances, look->plan->n_instances)
                if (is_short_before(other, planned, &nodes))
                        bytes = add_saturated(
                                bytes, mul_saturated(other->pages_wanted - other->pages_granted,
                                                     other->page_size_bytes));
        return bytes;
}

/* Whether a unit runs with HOLD, a part of INSTANCE, which may have another unit now. False also if the unit has other
 * holds as well, or is not counted. */
static bool is_part(const Look *look, const LedgerHold *hold, const InstanceConfig *instance) {
        return instance->shortage == SHORTAGE_DEGRADE && instance->isolate != TRI_NO &&
               hold == ledger_counted_hold(look->ledger, hold->unit, instance->name) &&
               ledger_granted_pages(&hold->granted) < hold->granted.pages_wanted &&
               ledger_is_only_hold(look->ledger, hold);
}

static const UnitCharge *charge_of(const Look *look, const LedgerHold *hold) {
        return unit_use_charge(unit_use_find(look->use, hold->unit), hold->granted.page_size_bytes);
}

bool keeper_limit_group(const Keeper *keeper, Arena *arena, const char *group,
                        const PageCount *count) {
        PageCounts limits = {};

        *vec_push(arena, &limits) = *count;
        return cgroup_limit_set(keeper->root, arena, group, &limits).kind == REASON_NONE;
}

static bool take_part(Keeper *keeper, LedgerHold *hold) {
        Look *look = keeper->known.look;
        const PlanInstance *planned = plan_find(look->plan, hold->granted.name);
        bool is_one = planned && is_part(look, hold, planned->demand->config);
        const UnitCharge *charge = is_one ? charge_of(look, hold) : NULL;
        uint64_t granted = ledger_granted_pages(&hold->granted);

        if (!charge || charge->reserved_pages >= granted)
                return false;
        uint64_t missing =
                div_round_up(missing_bytes(look, &keeper->asked.config->host, planned, hold),
                             hold->granted.page_size_bytes);
        /* Pages of the part that other processes have taken cannot be given to anybody. */
        uint64_t there = planned->hold == hold ? MIN(granted, planned->pages_granted) : granted;
        uint64_t left = MAX(charge->reserved_pages, sub_floored(there, missing));
        const char *group =
                missing > 0 ? unit_cgroup_find(keeper->root, keeper->known.arena, hold->unit)
                            : NULL;

        if (!group || !keeper_limit_group(keeper, keeper->known.arena, group,
                                          &(PageCount){hold->granted.page_size_bytes, left}))
                return false;
        host_use_read_unit(keeper->root, keeper->known.arena, look->use, look->topology,
                           hold->unit);
        charge = charge_of(look, hold);
        if (!charge)
                return false;
        uint64_t wanted = hold->granted.pages_wanted;

        ledger_settle(hold, MAX(left, charge->reserved_pages), &charge->used);
        hold->granted.pages_wanted = wanted; /* less is granted: the instance remains degraded */
        return true;
}

bool keeper_take_parts(Keeper *keeper) {
        bool has_taken = false;

        /* A reload runs with the plan that was checked. */
        if (keeper->reload.stage != RELOAD_NONE)
                return false;
        VEC_FOREACH(hold, &keeper->known.look->ledger->holds)
                has_taken |= take_part(keeper, hold);
        if (!has_taken)
                return false;
        keeper_save(keeper);
        keeper_look_anew(keeper);
        return true;
}
