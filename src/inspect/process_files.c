/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inspect/process_files.h"

#include "base/size.h"
#include "base/text.h"
#include "host/host_sources.h"
#include "model/names.h"
#include "read/process.h"
#include "read/unit_file.h"

enum { MOUNTS_BYTES_MAX = 8 << 20, STATUS_BYTES_MAX = 64 * 1024 };

int process_file_read(const Root *root, Arena *arena, uint64_t pid, const char *name, size_t max,
                      char **ret, size_t *ret_size) {
        const char *path = pid > 0 ? arena_printf(arena, PATH_PROC "/%" PRIu64 "/%s", pid, name)
                                   : arena_printf(arena, PATH_PROC "/self/%s", name);

        *ret = NULL;
        return root_read_kernel_file(root, arena, path, max, ret, ret_size);
}

int process_read_status(const Root *root, Arena *arena, uint64_t pid, Process *ret) {
        CLEANUP(arena_freep) Arena *scratch = arena_new();
        char *text;
        int r = process_file_read(root, scratch, pid, "status", STATUS_BYTES_MAX, &text, NULL);

        *ret = (Process){.pid = pid};
        if (r >= 0 && process_parse_status(scratch, text, ret) < 0)
                r = -ESRCH; /* truncated: the process has ended */
        ret->command = arena_strdup(arena, ret->command);
        return r;
}

Devices process_file_hugetlbfs(const Root *root, Arena *arena, uint64_t pid) {
        char *text;

        return process_file_read(root, arena, pid, "mountinfo", MOUNTS_BYTES_MAX, &text, NULL) >= 0
                       ? process_parse_hugetlbfs(arena, text)
                       : (Devices){};
}

/* ---- the processes of a unit ---- */

enum { DEPTH_MAX = 8, PROCESSES_MAX = 65536, PROCESSES_BYTES_MAX = 1 << 20 };

/* Databases may have groups of their own below the unit's (Delegate=); ".control" is systemd's. */
static void add_processes(const Root *root, Arena *arena, const char *group, unsigned depth,
                          ProcessIds *ret) {
        const char *path = arena_printf(arena, "%s/cgroup.procs", group), *word;
        Names names = {};
        char *text = NULL;
        uint64_t pid;

        if (root_read_kernel_file(root, arena, path, PROCESSES_BYTES_MAX, &text, NULL) >= 0)
                for (const char *rest = text; (word = text_next_word(arena, &rest, "\n"));)
                        if (parse_u64(word, &pid) == 0 && pid > 0 && ret->n < PROCESSES_MAX)
                                *vec_push(arena, ret) = pid;
        if (depth == DEPTH_MAX)
                return;
        root_list(root, arena, group, &names);
        VEC_FOREACH(name, &names) {
                const char *below = arena_printf(arena, "%s/%s", group, *name);

                if (**name != '.' && root_is_directory(root, below))
                        add_processes(root, arena, below, depth + 1, ret);
        }
}

ProcessIds unit_cgroup_processes(const Root *root, Arena *arena, const char *group) {
        CLEANUP(arena_freep) Arena *scratch = arena_new();
        ProcessIds found = {}, ids = {};

        if (group)
                add_processes(root, scratch, group, 0, &found);
        vec_push_all(arena, &ids, &found);
        return ids;
}

/* ---- this process ---- */

/* *RET_GROUP is below the unified hierarchy's mount; NULL if the unit is in systemd's own (a legacy host). */
static bool is_own(const Root *root, Arena *arena, const char *unit, const char **ret_group) {
        HostSources sources = host_sources(root, arena);
        Process self = {};
        char *text;

        if (root_read_attribute(root, arena, PATH_SELF_CGROUP, &text) < 0)
                return false;
        process_parse_cgroup(arena, text, &self);
        *ret_group = self.unit_group;
        return text_equals(self.unit, unit) ||
               text_equals(self.unit, unit_file_read(arena, &sources.sources, unit)->name);
}

bool unit_cgroup_is_own(const Root *root, const char *unit) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const char *group;

        return is_own(root, arena, unit, &group);
}

char *unit_cgroup_own(const Root *root, Arena *arena, const char *unit) {
        const char *hierarchy = unit_cgroup_hierarchy(root);
        const char *group = NULL;
        bool is_there = hierarchy && is_own(root, arena, unit, &group) && group;

        return is_there ? arena_printf(arena, "%s%s", hierarchy, group) : NULL;
}
