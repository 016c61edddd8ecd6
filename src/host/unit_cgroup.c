/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "host/unit_cgroup.h"

#include "base/size.h"
#include "base/text.h"
#include "model/name_check.h"
#include "model/names.h"

#include <string.h>

enum { SLICE_DEPTH_MAX = 8 };

/* PID 0: any process. */
static bool has_process(const Root *root, Arena *arena, const char *group, pid_t pid) {
        char *text;
        uint64_t member;

        if (root_read_attribute(root, arena, arena_printf(arena, "%s/cgroup.procs", group), &text) <
            0)
                return false;
        TEXT_FOREACH(word, arena, text, "\n")
                if (parse_u64(word, &member) == 0 && (pid == 0 || member == (uint64_t) pid))
                        return true;
        return false;
}

/* cgroup.events counts the groups below too; only the unified hierarchy has that file. */
bool unit_cgroup_group_is_populated(const Root *root, const char *group) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        char *text;

        return (root_read_attribute(root, arena, arena_printf(arena, "%s/cgroup.events", group),
                                    &text) == 0 &&
                strstr(text, "populated 1")) ||
               has_process(root, arena, group, 0);
}

/* Returns the group of UNIT in SLICE or in a slice below, or NULL if there is none. */
static const char *find_group(const Root *root, Arena *arena, const char *slice, const char *unit,
                              unsigned depth) {
        const char *group = arena_printf(arena, "%s/%s", slice, unit);
        Names names = {};

        if (root_is_directory(root, group))
                return group;
        if (depth == SLICE_DEPTH_MAX)
                return NULL;
        root_list(root, arena, slice, &names);
        VEC_FOREACH(name, &names) {
                if (!text_ends_with(*name, ".slice"))
                        continue;
                group = find_group(root, arena, arena_printf(arena, "%s/%s", slice, *name), unit,
                                   depth + 1);
                if (group)
                        return group;
        }
        return NULL;
}

/* systemd's hierarchy on a unified, hybrid or legacy host. */
static const char *const hierarchies[] = {
        PATH_CGROUP,
        PATH_CGROUP "/unified",
        PATH_CGROUP "/systemd",
};

static void add_groups(const Root *root, Arena *arena, const char *slice, unsigned depth,
                       Index *groups) {
        Names names = {};

        root_list(root, arena, slice, &names);
        VEC_FOREACH(name, &names)
                if (!name_check_unit(*name) && !index_find(groups, *name))
                        index_add(groups, *name, arena_printf(arena, "%s/%s", slice, *name));
        if (depth < SLICE_DEPTH_MAX)
                VEC_FOREACH(name, &names)
                        if (text_ends_with(*name, ".slice"))
                                add_groups(root, arena, arena_printf(arena, "%s/%s", slice, *name),
                                           depth + 1, groups);
}

Index *unit_cgroup_all(const Root *root, Arena *arena) {
        Index *groups = index_new(arena);

        ARRAY_FOREACH(hierarchy, hierarchies, ARRAY_LEN(hierarchies))
                add_groups(root, arena, *hierarchy, 0, groups);
        return groups;
}

const char *unit_cgroup_find(const Root *root, Arena *arena, const char *unit) {
        const char *group = NULL;

        for (size_t i = 0; !group && i < ARRAY_LEN(hierarchies); i++)
                group = find_group(root, arena, hierarchies[i], unit, 0);
        return group;
}

bool unit_cgroup_has_process(const Root *root, const char *unit, pid_t pid) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const char *group = unit_cgroup_find(root, arena, unit);

        /* in the unit's group, or in the group of its control processes */
        return group && (has_process(root, arena, group, pid) ||
                         has_process(root, arena, arena_printf(arena, "%s/.control", group), pid));
}

bool unit_cgroup_is_populated(const Root *root, const char *unit) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const char *group = unit_cgroup_find(root, arena, unit);

        return group && unit_cgroup_group_is_populated(root, group);
}

const char *unit_cgroup_hierarchy(const Root *root) {
        if (root_exists(root, PATH_CGROUP "/cgroup.controllers"))
                return PATH_CGROUP;
        return root_exists(root, PATH_CGROUP "/unified/cgroup.controllers") ? PATH_CGROUP "/unified"
                                                                            : NULL;
}
