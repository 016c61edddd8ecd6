/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/promise/promise.h"

#include "base/size.h"

/* ---- making ---- */

typedef struct Maker {
        Arena *arena;
        Promises *promises;
        const LedgerHolds *holds;
        Index *by_unit, *by_instance; /* holds of this page size that have a unit */
        const HostUse *use;
        const Ledger *ledger;
        uint64_t page_size_bytes;
        uint64_t *others_before; /* by node: others' pages in use, as recorded or attributed */
        uint64_t *used_left;     /* by node: in use and not attributed yet */
        uint64_t unknown_left;
        uint64_t earmarked_left; /* of these, earmarked by mounts that are not attributed yet */
        uint64_t promised_left;  /* of these, not attributed yet */
} Maker;

static uint64_t hold_pages(const LedgerHold *hold) {
        return hold->is_assumed ? hold->granted.pages_wanted : ledger_granted_pages(&hold->granted);
}

/* A cpuset that leaves out a node with memory binds, whatever the policy: an interleaving unit does not leave it
 * either, and a policy for none of its nodes is for all of them. */
MemoryPolicy promise_policy_within(const Topology *topology, const MemoryPolicy *policy,
                                   const UnitUse *unit) {
        MemoryPolicy within = {.kind = MEMORY_POLICY_BIND};

        if (!unit || !unit->has_memory_nodes)
                return *policy;
        IdSet with_memory = topology_memory_nodes(topology);

        if (id_set_is_subset(&with_memory, &unit->memory_nodes) ||
            (policy->kind == MEMORY_POLICY_UNKNOWN && id_set_count(&unit->memory_nodes) > 1))
                return *policy;
        within.nodes = policy->kind == MEMORY_POLICY_BIND &&
                                       id_set_meets(&policy->nodes, &unit->memory_nodes)
                               ? id_set_common(&policy->nodes, &unit->memory_nodes)
                               : unit->memory_nodes;
        return within;
}

static Promise *add_row(Maker *maker) {
        Promise *row = vec_push(maker->arena, &maker->promises->list);

        row->used = ARENA_ARRAY(maker->arena, uint64_t, maker->promises->topology->n_nodes);
        return row;
}

Promise *promises_find(const Promises *promises, const char *unit) {
        return (Promise *) index_find(promises->by_unit, unit);
}

static void take_used(Maker *maker, Promise *row, size_t node, uint64_t pages) {
        row->used[node] += pages;
        row->used_pages += pages;
        maker->used_left[node] = sub_floored(maker->used_left[node], pages);
}

static void add_units(Maker *maker) {
        VEC_FOREACH(hold, maker->holds) {
                if (!hold->unit || promises_find(maker->promises, hold->unit))
                        continue;
                const UnitUse *unit = unit_use_find(maker->use, hold->unit);
                const UnitCharge *earlier = NULL;
                Promise *row = add_row(maker);

                row->unit = hold->unit;
                index_add(maker->promises->by_unit, row->unit, row);
                row->policy = promise_policy_within(maker->promises->topology, &hold->policy, unit);
                /* Over all instances of the unit. */
                INDEX_FOREACH(entry, maker->by_unit, row->unit) {
                        const LedgerHold *each = entry->value;

                        row->granted_pages = add_saturated(row->granted_pages, hold_pages(each));
                        earlier = earlier ? earlier : each->earlier;
                }
                /* Counted pages are the unit's own, even if it is not known whether all were counted. */
                const UnitCharge *charge = hold->is_counted || hold->is_assumed || earlier
                                                   ? unit_use_charge(unit, maker->page_size_bytes)
                                                   : NULL;
                /* A run that was counted from its start has reserved all that it touches: what is beyond that has been
                 * touched by processes of earlier runs that had reserved it before the controller counted. */
                const UnitCharge old = {
                        .reserved_pages = charge && hold->is_counted ? charge->old_pages : 0};

                if (earlier || old.reserved_pages > 0)
                        charge = unit_charge_less(maker->arena, charge, earlier ? earlier : &old);
                if (!charge)
                        continue;
                VEC_FOREACH(use, &charge->used) {
                        size_t node = topology_node_index(maker->promises->topology, use->node);

                        if (node < maker->promises->topology->n_nodes)
                                take_used(maker, row, node, use->pages);
                }
                row->is_counted = hold->is_counted || earlier;
                row->pages = sub_floored(charge->reserved_pages, row->used_pages);
                row->owed_pages = sub_floored(row->granted_pages, row->used_pages + row->pages);
                maker->unknown_left = sub_floored(maker->unknown_left, row->pages);
        }
}

/* Adds PAGES that the mount has reserved and that are not counted for the unit. */
static void promise_mount(Maker *maker, Promise *row, uint64_t pages) {
        row->pages += pages;
        row->owed_pages = sub_floored(row->owed_pages, pages);
        maker->unknown_left = sub_floored(maker->unknown_left, pages);
}

/* Attributes up to PAGES in use to ROW, first those on the nodes of GRANTED. */
static void use_mount(Maker *maker, Promise *row, const LedgerInstance *granted, uint64_t pages) {
        const Topology *topology = maker->promises->topology;
        uint64_t left = pages;

        for (int pass = 0; pass < 2; pass++)
                for (size_t i = 0; i < topology->n_nodes; i++) {
                        uint64_t here = MIN(left, maker->used_left[i]);

                        if (pass == 0)
                                here = MIN(here, sub_floored(ledger_pages_on(granted,
                                                                             topology->nodes[i].id),
                                                             row->used[i]));
                        take_used(maker, row, i, here);
                        left -= here;
                }
        row->owed_pages = sub_floored(row->owed_pages, pages - left);
}

static uint64_t file_pages(const Maker *maker, const MountUse *mount) {
        const Promises *promises = maker->promises;

        return mount_use_file_pages(mount,
                                    promises->topology->page_sizes[promises->size].reserved_pages);
}

/* Returns the pages that the mount keeps reserved for files to come. */
static uint64_t earmarked_pages(const Maker *maker, const MountUse *mount) {
        return sub_floored(mount->earmarked_pages, file_pages(maker, mount));
}

static void add_mount(Maker *maker, const MountUse *mount) {
        uint64_t in_files = file_pages(maker, mount);
        const LedgerHold *hold = index_find(maker->by_instance, mount->instance);
        const LedgerInstance *granted = hold ? &hold->granted
                                             : ledger_instance(maker->ledger, mount->instance);
        Promise *row = hold ? promises_find(maker->promises, hold->unit) : NULL;

        if (!row) {
                if (mount->earmarked_pages == 0 && in_files == 0)
                        return;
                row = add_row(maker);
                row->mount_of = mount->instance;
                index_add(maker->promises->by_instance, mount->instance, row);
        }
        uint64_t counted = hold ? 0 : row->used_pages + row->pages;

        /* Of all units that were started with the instance. Mapped pages count for a unit's other instances first, which
         * have no files. */
        INDEX_FOREACH(entry, maker->by_instance, mount->instance) {
                const LedgerHold *each = entry->value;
                const Promise *of = promises_find(maker->promises, each->unit);

                counted += sub_floored(of->used_pages + of->pages,
                                       sub_floored(of->granted_pages, hold_pages(each)));
        }
        /* Pages of files that are not counted for the unit, since an earlier run mapped them: hugepage_subpool_get_pages()
         * counts those that are reserved and those that are touched. What others may have reserved or touched as well
         * counts as reserved, which is the safe side. */
        uint64_t left = sub_floored(in_files, counted);
        uint64_t reserved = MIN(left, sub_floored(maker->unknown_left, maker->earmarked_left));

        promise_mount(maker, row, reserved);
        /* While the unit runs these may be others': when pools are lowered they count as unknown, too. */
        if (hold)
                maker->promises->unknown_pages += reserved;
        use_mount(maker, row, granted, left - reserved);
        maker->earmarked_left -= earmarked_pages(maker, mount);
        promise_mount(maker, row,
                      MIN(maker->unknown_left,
                          sub_floored(mount->earmarked_pages, MAX(in_files, counted))));
}

/* What GROUP has besides OWN processes of earlier runs have: it is others', and no estimate takes it for another
 * unit's. */
static void leave_behind(Maker *maker, const UnitCharge *group, const UnitCharge *own) {
        const Topology *topology = maker->promises->topology;
        uint64_t reserved = MIN(maker->unknown_left,
                                sub_floored(sub_floored(group->reserved_pages, group->pages),
                                            sub_floored(own->reserved_pages, own->pages)));

        VEC_FOREACH(use, &group->used) {
                size_t node = topology_node_index(topology, use->node);
                uint64_t pages = use->pages - unit_charge_used_on(own, use->node);

                if (node >= topology->n_nodes)
                        continue;
                pages = MIN(pages, maker->used_left[node]);
                maker->promises->others_used[node] += pages;
                maker->used_left[node] -= pages;
        }
        maker->promises->others_promised_pages += reserved;
        maker->unknown_left -= reserved;
}

/* Units that start have no hold: what their groups have was left there. */
static void add_left_behind(Maker *maker) {
        VEC_FOREACH(unit, &maker->use->units) {
                const UnitCharge *group = unit_use_charge(unit, maker->page_size_bytes);
                const LedgerHold *hold = group ? index_find(maker->by_unit, unit->unit) : NULL;

                if (hold && hold->earlier)
                        leave_behind(maker, group,
                                     unit_charge_less(maker->arena, group, hold->earlier));
                else if (group && !hold && !promises_find(maker->promises, unit->unit))
                        leave_behind(maker, group, &(UnitCharge){});
        }
}

/* ---- estimates ---- */

static uint64_t budget_of(const Promise *row) {
        return sub_floored(row->granted_pages, row->used_pages + row->pages + row->likely_pages);
}

static void estimate_elsewhere(Maker *maker, Promise *row) {
        /* If the unit ran before its instance was described or the ledger began, all pages in use may be its own. */
        bool has_all = false;

        INDEX_FOREACH(entry, maker->by_unit, row->unit) {
                const LedgerHold *hold = entry->value;

                has_all = has_all ||
                          (hold->is_assumed && !ledger_instance(maker->ledger, hold->granted.name));
        }
        for (size_t i = 0; i < maker->promises->topology->n_nodes; i++) {
                if (row->policy.kind == MEMORY_POLICY_BIND &&
                    !id_set_has(&row->policy.nodes, maker->promises->topology->nodes[i].id))
                        continue;
                uint64_t before = has_all ? 0 : maker->others_before[i];

                take_used(maker, row, i,
                          MIN(sub_floored(maker->used_left[i], before), budget_of(row)));
        }
}

/* ---- instances without a unit ---- */

/* Attributes up to PAGES that came into use since the last plan, on the nodes of GRANTED (NULL: any), to ROW (NULL:
 * to others). Returns how many. */
static uint64_t claim_used(Maker *maker, Promise *row, const LedgerInstance *granted,
                           uint64_t pages) {
        const Topology *topology = maker->promises->topology;
        uint64_t left = pages;

        for (size_t i = 0; i < topology->n_nodes; i++) {
                uint64_t here =
                        MIN(left, sub_floored(maker->used_left[i], maker->others_before[i]));

                if (granted)
                        here = MIN(here, ledger_pages_on(granted, topology->nodes[i].id));
                if (row)
                        take_used(maker, row, i, here);
                else
                        maker->others_before[i] += here;
                left -= here;
        }
        return pages - left;
}

/* Counts an instance's PAGES as others' until they are gone, so that they become no other instance's. GRANTED: its nodes;
 * NULL: any. */
static void leave(Maker *maker, const LedgerInstance *granted, uint64_t pages) {
        uint64_t reserved =
                MIN(pages - claim_used(maker, NULL, granted, pages), maker->promised_left);

        maker->promised_left -= reserved;
        maker->promises->others_promised_pages += reserved;
        maker->promises->left_pages += reserved;
}

/* Leaves the pages of instances that were removed, have a unit now, or get fewer pages. A process without a unit may
 * be any instance's, up to the whole grant, whichever it was attributed to. */
static void leave_all(Maker *maker) {
        /* The pages that came into use since the last plan, or are promised, and are not attributed yet. */
        uint64_t most = maker->promised_left;

        for (size_t i = 0; i < maker->promises->topology->n_nodes; i++)
                most += sub_floored(maker->used_left[i], maker->others_before[i]);
        if (most == 0)
                return;
        /* The holds of this page size without a unit, by instance. */
        const Index *holds =
                INDEX_OF(maker->arena, hold, maker->holds->items, maker->holds->n,
                         hold->unit || hold->granted.page_size_bytes != maker->page_size_bytes
                                 ? NULL
                                 : hold->granted.name);

        VEC_FOREACH(left, &maker->ledger->left)
                if (left->page_size_bytes == maker->page_size_bytes)
                        leave(maker, NULL, left->pages);
        VEC_FOREACH(instance, &maker->ledger->instances) {
                uint64_t granted = ledger_granted_pages(instance);
                const LedgerHold *hold = index_find(holds, instance->name);

                if (instance->is_unitless && instance->page_size_bytes == maker->page_size_bytes)
                        leave(maker, instance,
                              hold ? sub_floored(MIN(most, granted), hold_pages(hold)) : granted);
        }
}

static Promise *row_of(const Maker *maker, const LedgerHold *hold) {
        return hold->unit
                       ? promises_find(maker->promises, hold->unit)
                       : (Promise *) index_find(maker->promises->by_instance, hold->granted.name);
}

/* Adds a row for each instance without a unit. */
static void add_unitless(Maker *maker) {
        VEC_FOREACH(hold, maker->holds) {
                if (hold->unit || hold->granted.page_size_bytes != maker->page_size_bytes)
                        continue;
                Promise *row = row_of(maker, hold); /* its mount's */

                if (!row) {
                        row = add_row(maker);
                        index_add(maker->promises->by_instance, hold->granted.name, row);
                }
                row->unitless = hold->granted.name;
                row->policy = hold->policy;
                row->granted_pages = hold_pages(hold);
        }
}

/* All first get pages on their granted nodes: no estimate may take pages that are more likely another's. */
static void estimate_uncounted(Maker *maker) {
        maker->promised_left = maker->unknown_left;
        VEC_FOREACH(row, &maker->promises->list)
                row->owed_most_pages = budget_of(row);
        leave_all(maker);
        add_unitless(maker);
        VEC_FOREACH(hold, maker->holds) {
                Promise *row = hold->granted.page_size_bytes == maker->page_size_bytes
                                       ? row_of(maker, hold)
                                       : NULL;

                if (row && !row->is_counted && !hold->is_assumed)
                        claim_used(maker, row, &hold->granted, budget_of(row));
        }
        VEC_FOREACH(row, &maker->promises->list)
                if (row->unit && !row->is_counted)
                        estimate_elsewhere(maker, row);
        VEC_FOREACH(row, &maker->promises->list) {
                if (row->unit ? row->is_counted : !row->unitless)
                        continue;
                uint64_t more = MIN(maker->promised_left, budget_of(row));

                row->likely_pages += more;
                row->owed_pages = row->unit ? budget_of(row) : 0;
                maker->promised_left -= more;
        }
        maker->promises->others_promised_pages += maker->promised_left;
        /* An estimate says which unit may have mapped the pages, not which has. Each uncounted unit may lack as many pages
         * as all of them lack together. */
        uint64_t lacking_pages = VEC_SUM(row, &maker->promises->list,
                                         row->unit && !row->is_counted ? row->owed_pages : 0);

        VEC_FOREACH(row, &maker->promises->list)
                row->owed_most_pages = row->unit && !row->is_counted
                                               ? MIN(row->owed_most_pages, lacking_pages)
                                               : row->owed_pages;
}

Promises promises_make(Arena *arena, const Topology *topology, size_t size,
                       const LedgerHolds *holds, const HostUse *use, const Ledger *ledger) {
        Promises promises = {
                .topology = topology,
                .size = size,
                .by_unit = index_new(arena),
                .by_instance = index_new(arena),
                .mounts = index_new(arena),
        };
        Maker maker = {
                .arena = arena,
                .promises = &promises,
                .holds = holds,
                .by_unit = index_new(arena),
                .by_instance = index_new(arena),
                .use = use,
                .ledger = ledger,
                .page_size_bytes = topology->page_sizes[size].bytes,
                .others_before = ARENA_ARRAY(arena, uint64_t, topology->n_nodes),
                .used_left = ARENA_ARRAY(arena, uint64_t, topology->n_nodes),
                .unknown_left = topology->page_sizes[size].reserved_pages,
        };

        for (size_t i = 0; i < topology->n_nodes; i++) {
                const LedgerPool *pool =
                        ledger_pool(ledger, topology->nodes[i].id, maker.page_size_bytes);

                maker.others_before[i] = pool ? pool->others_pages : UINT64_MAX;
                maker.used_left[i] = pool_used_pages(&topology->nodes[i].pools[size]);
        }
        VEC_FOREACH(hold, holds)
                if (hold->unit && hold->granted.page_size_bytes == maker.page_size_bytes) {
                        index_add(maker.by_unit, hold->unit, hold);
                        index_add(maker.by_instance, hold->granted.name, hold);
                }
        /* Each hold and each mount adds at most one row: no row moves. */
        promises.list.capacity = holds->n + (use ? use->mounts.n : 0);
        promises.list.items = ARENA_ARRAY(arena, Promise, promises.list.capacity);
        promises.others_used = ARENA_ARRAY(arena, uint64_t, topology->n_nodes);
        add_units(&maker);
        if (use) {
                VEC_FOREACH(mount, &use->mounts)
                        if (mount->page_size_bytes == maker.page_size_bytes) {
                                index_add(promises.mounts, mount->instance, mount);
                                maker.earmarked_left += earmarked_pages(&maker, mount);
                        }
                VEC_FOREACH(mount, &use->mounts)
                        if (mount->page_size_bytes == maker.page_size_bytes)
                                add_mount(&maker, mount);
                add_left_behind(&maker);
        }
        promises.unknown_pages += maker.unknown_left + promises.others_promised_pages;
        estimate_uncounted(&maker);
        promises.all_unitless_pages = VEC_SUM(
                row, &promises.list, row->unitless ? row->used_pages + row->likely_pages : 0);
        promises.uncounted_used = maker.used_left;
        for (size_t i = 0; i < topology->n_nodes; i++) {
                /* Counts from different moments make pages of units look like others'. */
                if (use && use->is_moving)
                        maker.used_left[i] = MIN(maker.used_left[i], maker.others_before[i]);
                promises.others_used[i] += maker.used_left[i];
        }
        return promises;
}
