/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "host/host_use.h"

#include "base/text.h"
#include "host/mounts.h"
#include "host/probe.h"
#include "host/unit_cgroup.h"
#include "model/names.h"
#include "read/process.h"
#include "units/hugetlb_limit.h"

#include <string.h>

typedef struct Reader {
        const Root *root;
        Arena *arena,
                *scratch; /* shared by all units: an arena for each costs more than reading the unit */
        const Topology *topology;
        Index *groups;       /* of all services */
        Index *memory_nodes; /* by control group; "": not known */
        HostUse *use;
} Reader;

bool host_use_read_charge(const Root *root, Arena *arena, Arena *scratch, const char *group,
                          uint64_t page_size_bytes, UnitCharge *ret) {
        const char *prefix = arena_printf(scratch, "%s/hugetlb.%s.", group,
                                          hugetlb_limit_size_name(scratch, page_size_bytes));
        UnitCharge charge = {.page_size_bytes = page_size_bytes};
        uint64_t reserved_bytes;
        char *text;

        if (root_read_attribute(root, scratch, arena_printf(scratch, "%snuma_stat", prefix),
                                &text) < 0 ||
            root_read_u64(root, arena_printf(scratch, "%srsvd.current", prefix), &reserved_bytes) <
                    0 ||
            process_parse_numa_stat(arena, text, page_size_bytes, &charge.pages, &charge.used) < 0)
                return false;
        unit_charge_set_reserved(&charge, reserved_bytes / page_size_bytes);
        *ret = charge;
        return true;
}

/* Page sizes without any pages cannot be in use: they are not read if the controller counts another size for GROUP. */
static void read_charges(const Reader *reader, const char *group, UnitUse *unit) {
        const Topology *topology = reader->topology;

        for (unsigned is_empty = 0; is_empty < 2; is_empty++)
                ARRAY_FOREACH(size, topology->page_sizes, topology->n_page_sizes) {
                        UnitCharge charge = {.page_size_bytes = size->bytes};

                        if ((size->total_pages == 0) != is_empty)
                                continue;
                        if ((is_empty && unit->charges.n > 0) ||
                            host_use_read_charge(reader->root, reader->arena, reader->scratch,
                                                 group, size->bytes, &charge))
                                *vec_push(reader->arena, &unit->charges) = charge;
                }
}

/* A group without the cpuset controller has the memory nodes of the group above, which many groups share. */
static const char *memory_nodes_of(Reader *reader, const char *group) {
        const char *known = index_find(reader->memory_nodes, group);
        Arena *arena = reader->scratch;
        char *text;

        if (known || !text_starts_with(group, PATH_CGROUP "/"))
                return known ? known : "";
        known = root_read_attribute(reader->root, arena,
                                    arena_printf(arena, "%s/cpuset.mems.effective", group),
                                    &text) == 0
                        ? text
                        : memory_nodes_of(reader,
                                          arena_strdup_to(arena, group, strrchr(group, '/')));
        index_add(reader->memory_nodes, group, known);
        return known;
}

static void read_unit(Reader *reader, UnitUse *unit, const char *name) {
        const char *group = index_find(reader->groups, name);

        *unit = (UnitUse){.unit = name, .is_running = group != NULL};
        if (!group)
                return;
        const char *nodes = memory_nodes_of(reader, group);

        unit->has_memory_nodes = id_set_parse(nodes, &unit->memory_nodes) == 0 &&
                                 !id_set_is_empty(&unit->memory_nodes);
        read_charges(reader, group, unit);
}

HostUse *host_use_read(const Root *root, Arena *arena, const Config *config, const Ledger *ledger,
                       Topology *topology) {
        enum { TRIES = 5 };
        CLEANUP(arena_freep) Arena *scratch = arena_new();
        Reader reader = {.root = root, .arena = arena, .scratch = scratch, .topology = topology};
        SourceNames units = {};

        VEC_FOREACH(hold, &ledger->holds)
                *vec_push(scratch, &units) = hold->unit;
        ARRAY_FOREACH(instance, config->instances, config->n_instances)
                if (instance->unit)
                        *vec_push(scratch, &units) = instance->unit;
        vec_sort(&units, text_compare);

        for (unsigned i = 0; i < TRIES; i++) {
                HostUse *use = reader.use = ARENA_NEW(arena, HostUse);

                reader.memory_nodes = index_new(scratch);
                if (units.n > 0)
                        reader.groups = unit_cgroup_all(root, scratch);
                VEC_FOREACH(unit, &units)
                        if (unit == units.items || !text_equals(unit[0], unit[-1]))
                                read_unit(&reader, vec_push(arena, &use->units), *unit);
                ARRAY_FOREACH(instance, config->instances, config->n_instances)
                        if (instance->mount)
                                *vec_push(arena, &use->mounts) = mounts_use(root, instance);
                bool is_changed = false;

                if (use->mounts.n > 0 || VEC_FIND(unit, &use->units, unit->charges.n > 0))
                        probe_counts(root, topology, &is_changed);
                if (!is_changed)
                        return use;
        }
        reader.use->is_moving = true;
        return reader.use;
}

void host_use_read_unit(const Root *root, Arena *arena, HostUse *use, const Topology *topology,
                        const char *name) {
        CLEANUP(arena_freep) Arena *scratch = arena_new();
        const Reader reader = {
                .root = root, .arena = arena, .scratch = scratch, .topology = topology};
        UnitUse *unit = VEC_FIND(found, &use->units, text_equals(found->unit, name));
        const char *group = unit ? unit_cgroup_find(root, arena, name) : NULL;

        if (!group)
                return;
        unit->charges.n = 0;
        read_charges(&reader, group, unit);
}

static bool has_same_counts(const Topology *then, const Topology *now) {
        bool is_same = then->n_nodes == now->n_nodes && then->n_page_sizes == now->n_page_sizes;

        for (size_t k = 0; is_same && k < now->n_page_sizes; k++) {
                is_same = then->page_sizes[k].reserved_pages == now->page_sizes[k].reserved_pages;
                for (size_t i = 0; is_same && i < now->n_nodes; i++) {
                        const Pool *a = &then->nodes[i].pools[k], *b = &now->nodes[i].pools[k];

                        is_same = a->exists == b->exists && a->total_pages == b->total_pages &&
                                  a->free_pages == b->free_pages &&
                                  a->surplus_pages == b->surplus_pages;
                }
        }
        return is_same;
}

bool host_use_is_current(const Root *root, const HostUse *use, const Topology *then,
                         const Topology *now) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        if (use->is_moving || use->mounts.n > 0 || !has_same_counts(then, now))
                return false;
        const Index *groups = use->units.n > 0 ? unit_cgroup_all(root, arena) : NULL;

        return !VEC_ANY(unit, &use->units,
                        unit->is_running != (index_find(groups, unit->unit) != NULL));
}
