/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "units/dropin.h"

#include "base/size.h"
#include "base/text.h"
#include "demand/learned.h"
#include "model/name_check.h"
#include "model/names.h"
#include "plan/limits.h"
#include "plan/thp_plan.h"
#include "units/fence.h"

#include <stdlib.h>
#include <string.h>

/* The nodes that the instance's unit is to keep to; empty where that is left to the kernel. */
static IdSet policy_nodes(const InstanceConfig *instance, Placement placement) {
        IdSet nodes = {};

        if (instance->refusal || instance->placement != placement)
                return nodes;
        if (instance->has_nodes)
                return instance->nodes;
        for (size_t i = 0; i < instance->n_node_memory; i++)
                id_set_add(&nodes, instance->node_memory[i].node);
        return nodes;
}

static int compare_by_unit(const void *a, const void *b) {
        const InstanceConfig *first = *(const InstanceConfig *const *) a;
        const InstanceConfig *second = *(const InstanceConfig *const *) b;
        int order = strcmp(first->unit, second->unit);

        return order != 0 ? order : strcmp(first->name, second->name);
}

/* The instances of one unit. */
typedef struct Served {
        const InstanceConfig *const *instances;
        size_t n;
} Served;

/* As root where it has to learn and grow: to ask the database's program as its owner, to keep the
 * answer in /etc, to be let by the daemon. */
static void add_gates(Text *text, const Served *served, const char *ctl) {
        for (size_t i = 0; i < served->n; i++)
                text_printf(text, "ExecStartPre=%s%s wait %s\n",
                            instance_is_learning(served->instances[i]) ? "+" : "", ctl,
                            served->instances[i]->name);
}

/* As root, once for the unit, and after the gates, which may have the reservation grow. Where nobody
 * insists ("-"), no mishap of ours keeps the database down. Any of its instances stands for the unit,
 * whose own name may need quotes. */
static void add_fence(Text *text, const Served *served, const DropinInput *input) {
        TriState wish = fence_wish(input->config, served->instances[0]->unit);
        size_t i = 0;

        if (wish == TRI_NO)
                return;
        while (served->instances[i]->refusal)
                i++;
        text_printf(text, "ExecStartPre=%s%s fence %s\n", wish == TRI_YES ? "+" : "-+", input->ctl,
                    served->instances[i]->name);
}

/* A policy holds for all of a unit's processes: only where its instances agree on one. */
static bool add_numa_policy(Text *text, const Served *served, Placement placement,
                            const char *policy) {
        IdSet nodes = {};

        for (size_t i = 0; i < served->n; i++) {
                IdSet own = policy_nodes(served->instances[i], placement);

                if (served->instances[i]->placement != placement ||
                    (placement == PLACEMENT_BIND && id_set_is_empty(&own)))
                        return false;
                ID_SET_FOREACH(node, &own)
                id_set_add(&nodes, node);
        }
        if (placement == PLACEMENT_INTERLEAVE && id_set_is_empty(&nodes))
                text_printf(text, "NUMAPolicy=%s\nNUMAMask=all\n", policy);
        else
                text_printf(text, "NUMAPolicy=%s\nNUMAMask=%s\n", policy,
                            id_set_format(text->arena, &nodes));
        return true;
}

/* The largest that one of them wants; "infinity" is the largest. */
static const char *memory_lock_of(const Served *served) {
        const char *largest = NULL;
        uint64_t bytes, most = 0;

        for (size_t i = 0; i < served->n; i++) {
                const char *lock = limits_memory_lock(served->instances[i]);

                if (!lock)
                        continue;
                if (parse_u64(lock, &bytes) < 0)
                        return lock;
                if (bytes >= most) {
                        most = bytes;
                        largest = lock;
                }
        }
        return largest;
}

/* The mount is then there before the database, or neither is: it would fill a disk instead. */
static void add_mounts(Text *text, const Served *served) {
        for (size_t i = 0; i < served->n; i++)
                if (served->instances[i]->mount && !served->instances[i]->refusal)
                        text_printf(text, "RequiresMountsFor=%s\n",
                                    served->instances[i]->mount->path);
}

static void add_limits(Text *text, const Served *served, const DropinInput *input) {
        const char *lock = memory_lock_of(served);
        bool needs_group = false;

        for (size_t i = 0; i < served->n; i++)
                needs_group = needs_group || limits_needs_group(served->instances[i]);
        if (lock)
                text_printf(text, "LimitMEMLOCK=%s\n", lock);
        if (needs_group && input->has_group)
                text_add(text, "SupplementaryGroups=" NAME_HUGETLB_GROUP "\n");
}

/* Who gets more transparent huge pages than it wishes for is served by itself. */
static void add_memory_thp(Text *text, const Served *served, const DropinInput *input) {
        ThpPolicy weakest = THP_ALWAYS;

        for (size_t i = 0; i < served->n; i++) {
                ThpPolicy wish = thp_wish_of(served->instances[i]);

                if (!served->instances[i]->refusal && wish != THP_AUTO)
                        weakest = MIN(weakest, wish);
        }
        if (input->systemd_version >= SYSTEMD_MEMORY_THP &&
            thp_is_served_by_unit(weakest, thp_resolve(input->config)))
                text_printf(text, "MemoryTHP=%s\n", weakest == THP_NEVER ? "disable" : "madvise");
}

static char *make_text(Arena *arena, const Served *served, const DropinInput *input) {
        Text text = text_in(arena);

        /* A line break in a file's name must not begin a line of the unit. */
        text_add(&text, "# Generated by hugeplan-generator from");
        for (size_t i = 0; i < served->n; i++)
                text_printf(&text, "%s %s", i > 0 ? "," : "",
                            text_printable(arena, served->instances[i]->file));
        text_add(
                &text,
                "\n# See hugeplan.d(5). A file of this name in /etc/systemd/system takes its place.\n\n"
                "[Unit]\nWants=" NAME_UNIT "\nAfter=" NAME_UNIT "\n");
        add_mounts(&text, served);
        text_add(&text, "\n[Service]\n");
        add_gates(&text, served, input->ctl);
        add_fence(&text, served, input);
        add_limits(&text, served, input);
        if (!add_numa_policy(&text, served, PLACEMENT_BIND, "bind"))
                add_numa_policy(&text, served, PLACEMENT_INTERLEAVE, "interleave");
        add_memory_thp(&text, served, input);
        return text.string;
}

typedef VEC(const InstanceConfig *) Gated;

/* The instances whose units wait, sorted by unit. */
static Gated find_gated(Arena *arena, const Config *config) {
        Gated gated = {};

        for (size_t i = 0; i < config->n_instances; i++)
                if (config->instances[i].unit && !name_check_instance(config->instances[i].name))
                        *vec_push(arena, &gated) = &config->instances[i];
        if (gated.n > 0)
                qsort(gated.items, gated.n, sizeof(*gated.items), compare_by_unit);
        return gated;
}

/* How many of those from FIRST on share a unit. */
static size_t count_sharing(const Gated *gated, size_t first) {
        size_t n = 1;

        while (first + n < gated->n &&
               text_equals(gated->items[first + n]->unit, gated->items[first]->unit))
                n++;
        return n;
}

SourceNames dropin_units(Arena *arena, const Config *config) {
        const Gated gated = find_gated(arena, config);
        SourceNames units = {};

        for (size_t i = 0; i < gated.n; i += count_sharing(&gated, i))
                *vec_push(arena, &units) = gated.items[i]->unit;
        return units;
}

Dropins dropins_make(Arena *arena, const DropinInput *input) {
        const Gated gated = find_gated(arena, input->config);
        Dropins dropins = {};

        for (size_t i = 0, n; i < gated.n; i += n) {
                n = count_sharing(&gated, i);
                *vec_push(arena, &dropins) =
                        (Dropin){gated.items[i]->unit,
                                 make_text(arena, &(Served){&gated.items[i], n}, input)};
        }
        return dropins;
}
