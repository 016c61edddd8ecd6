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
        Arena *arena;
        const Topology *topology;
        Index *groups; /* of all services */
        HostUse *use;
} Reader;

static bool read_charge(Reader *reader, const char *group, uint64_t page_size_bytes,
                        UnitCharge *ret) {
        CLEANUP(arena_freep) Arena *scratch = arena_new();
        const char *prefix = arena_printf(scratch, "%s/hugetlb.%s.", group,
                                          hugetlb_limit_size_name(scratch, page_size_bytes));
        UnitCharge charge = {.page_size_bytes = page_size_bytes};
        uint64_t reserved_bytes, pages;
        char *text;

        if (root_read_attribute(reader->root, scratch, arena_printf(scratch, "%snuma_stat", prefix),
                                &text) < 0 ||
            root_read_u64(reader->root, arena_printf(scratch, "%srsvd.current", prefix),
                          &reserved_bytes) < 0 ||
            process_parse_numa_stat(reader->arena, text, page_size_bytes, &pages, &charge.used,
                                    &charge.n_used) < 0)
                return false;
        charge.reserved_pages = reserved_bytes / page_size_bytes;
        *ret = charge;
        return true;
}

/* A group without the controller lives under the limits of the one above. */
static void read_memory_nodes(Reader *reader, const char *group, UnitUse *unit) {
        CLEANUP(arena_freep) Arena *scratch = arena_new();
        char *above = arena_strdup(scratch, group), *text;

        for (; text_starts_with(above, PATH_CGROUP "/"); *strrchr(above, '/') = '\0')
                if (root_read_attribute(reader->root, scratch,
                                        arena_printf(scratch, "%s/cpuset.mems.effective", above),
                                        &text) == 0) {
                        unit->has_memory_nodes = id_set_parse(text, &unit->memory_nodes) == 0 &&
                                                 !id_set_is_empty(&unit->memory_nodes);
                        return;
                }
}

static void add_unit(Reader *reader, const char *name) {
        const char *group = index_find(reader->groups, name);
        UnitUse *unit = vec_push(reader->arena, &reader->use->units);
        *unit = (UnitUse){.unit = name, .is_running = group != NULL};
        if (!group)
                return;
        read_memory_nodes(reader, group, unit);
        ARRAY_FOREACH(size, reader->topology->page_sizes, reader->topology->n_page_sizes) {
                UnitCharge charge;

                if (read_charge(reader, group, size->bytes, &charge))
                        *vec_push(reader->arena, &unit->charges) = charge;
        }
}

HostUse *host_use_read(const Root *root, Arena *arena, const Config *config, const Ledger *ledger,
                       Topology *topology) {
        enum { TRIES = 5 };
        Reader reader = {.root = root, .arena = arena, .topology = topology};
        SourceNames units = {};

        VEC_FOREACH(hold, &ledger->holds)
                *vec_push(arena, &units) = hold->unit;
        ARRAY_FOREACH(instance, config->instances, config->n_instances)
                if (instance->unit)
                        *vec_push(arena, &units) = instance->unit;
        vec_sort(&units, text_compare);

        for (unsigned i = 0; i < TRIES; i++) {
                HostUse *use = reader.use = ARENA_NEW(arena, HostUse);

                if (units.n > 0)
                        reader.groups = unit_cgroup_all(root, arena);
                VEC_FOREACH(unit, &units)
                        if (unit == units.items || !text_equals(unit[0], unit[-1]))
                                add_unit(&reader, *unit);
                ARRAY_FOREACH(instance, config->instances, config->n_instances)
                        if (instance->mount)
                                *vec_push(arena, &use->mounts) = mounts_use(root, instance);
                bool has_counts = use->mounts.n > 0 ||
                                  VEC_FIND(unit, &use->units, unit->charges.n > 0);

                if (!has_counts || !probe_counts_again(root, topology))
                        return use;
        }
        reader.use->is_moving = true;
        return reader.use;
}
