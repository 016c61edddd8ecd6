/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "units/dropin.h"

#include "base/size.h"
#include "base/text.h"
#include "demand/learned.h"
#include "demand/unit_policy.h"
#include "model/name_check.h"
#include "model/names.h"
#include "plan/limits.h"
#include "plan/thp_plan.h"

#include <stdlib.h>
#include <string.h>

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

/* As the unit's own user: in a unit whose environment is others' to set, nothing of ours runs as root. */
static void add_gates(Text *text, const Served *served, const char *ctl) {
        for (size_t i = 0; i < served->n; i++)
                text_printf(text, "ExecStartPre=%s wait %s\n", ctl, served->instances[i]->name);
}

static void add_numa_policy(Text *text, const Served *served, const DropinInput *input) {
        const char *unit = served->instances[0]->unit;
        MemoryPolicy policy = unit_policy(input->config, unit);
        const InstanceConfig *neighbour = unit_policy_neighbour(input->config, unit);

        if (policy.kind == MEMORY_POLICY_ANY)
                return;
        if (neighbour)
                text_printf(
                        text,
                        "# In turn from its nodes: beside %s, which is bound to some of them.\n",
                        neighbour->name);
        text_printf(text, "NUMAPolicy=%s\nNUMAMask=%s\n",
                    policy.kind == MEMORY_POLICY_BIND ? "bind" : "interleave",
                    id_set_count(&policy.nodes) == ID_SET_MAX
                            ? "all"
                            : id_set_format(text->arena, &policy.nodes));
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

/* Finds out before each start what the instance needs, in our own unit. Whatever becomes of that, the gate
 * goes on with what was known before: never Requires=. */
static void add_asks(Text *text, const Served *served) {
        for (size_t i = 0; i < served->n; i++)
                if (instance_is_learning(served->instances[i])) {
                        const char *unit = arena_printf(text->arena, NAME_ASK_UNIT,
                                                        served->instances[i]->name);

                        text_printf(text, "Wants=%s\nAfter=%s\n", unit, unit);
                }
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
        add_asks(&text, served);
        add_mounts(&text, served);
        text_add(&text, "\n[Service]\n");
        add_gates(&text, served, input->ctl);
        add_limits(&text, served, input);
        add_numa_policy(&text, served, input);
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
