/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Paths. A directory is a control group, or any path above an attribute (model_attributes.c), a control group or a
 * mount. */
#include "model/kernel_files.h"

#include "base/text.h"
#include "model/model_attributes.h"
#include "model/names.h"

#include <string.h>

/* The length of the first part of a path. */
static size_t part_length(const char *path) {
        return (size_t) (strchrnul(path, '/') - path);
}

static const char *next_part(const char *path) {
        path += part_length(path);
        while (*path == '/')
                path++;
        return path;
}

/* Reads LENGTH digits that cannot overflow. */
static bool read_number(const char *text, size_t length, uint64_t *ret) {
        enum { DIGITS_MAX = 18 };

        *ret = 0;
        for (size_t i = 0; i < length; i++) {
                if (text[i] < '0' || text[i] > '9')
                        return false;
                *ret = *ret * 10 + (uint64_t) (text[i] - '0');
        }
        return length > 0 && length <= DIGITS_MAX;
}

/* Matches one part of a path against one part of a pattern. Called very often, hence without copies. */
static bool match_part(Where *where, const char *pattern, const char *path) {
        size_t wanted = part_length(pattern), length = part_length(path);
        const char *variable = memchr(pattern, '%', wanted);
        uint64_t number;

        if (!variable)
                return wanted == length && memcmp(pattern, path, length) == 0;
        size_t before = (size_t) (variable - pattern), after = wanted - before - 1;

        if (length <= before + after || memcmp(pattern, path, before) != 0 ||
            memcmp(path + length - after, variable + 1, after) != 0 ||
            !read_number(path + before, length - before - after, &number))
                return false;
        /* The prefix tells what the number is: a node, a page size, or a process (no prefix). */
        const Kernel *kernel = where->kernel;

        if (before == strlen("node")) {
                where->is_on_node = true;
                where->node = (unsigned) number;
                return number < KERNEL_NODES_MAX && kernel->nodes[number].exists;
        }
        if (before > 0 && strncmp(pattern, NAME_HUGEPAGES_DIR, before) == 0) {
                where->size = kernel_size(kernel, MAX(number, UINT64_C(1)) * KIB);
                return where->size != NULL;
        }
        VEC_FOREACH(process, &kernel->processes)
                if ((*process)->pid == number && (*process)->is_alive)
                        where->process = *process;
        return where->process != NULL;
}

/* Matches PATH against the beginning of PATTERN. *ret_rest is the rest of the pattern. */
static bool match(Where *where, const char *pattern, const char *path, const char **ret_rest) {
        for (pattern++, path++; *path; pattern = next_part(pattern), path = next_part(path))
                if (!*pattern || !match_part(where, pattern, path))
                        return false;
        *ret_rest = pattern;
        return true;
}

/* Resolves the link /proc/self above a file. */
static const char *through_self(const Kernel *kernel, Arena *arena, const char *path) {
        static const char self[] = PATH_PROC "/self/";

        return text_starts_with(path, self) ? arena_printf(arena, PATH_PROC "/%" PRIu64 "/%s",
                                                           kernel->self->pid, path + strlen(self))
                                            : path;
}

static bool ends_with(const char *path, const char *name, size_t length) {
        size_t path_length = strlen(path);

        return path_length >= length && path[path_length - 1] == name[length - 1] &&
               memcmp(path + path_length - length, name, length) == 0;
}

static const Attribute *find_attribute(Where *where, const char *path) {
        const char *name = strrchr(path, '/');
        size_t name_length = name ? strlen(name) : 0;

        for (size_t i = 0; i < n_kernel_attributes; i++) {
                const Attribute *attribute = &kernel_attributes[i];
                Where here = {.kernel = where->kernel, .arena = where->arena};
                const char *rest;

                /* Comparing the file name first is fast. */
                if (!name || !ends_with(attribute->path, name, name_length) ||
                    !match(&here, attribute->path, path, &rest) || *rest ||
                    (attribute->exists && !attribute->exists(&here)))
                        continue;
                *where = here;
                return attribute;
        }
        return NULL;
}

/* ---- control groups ---- */

static const char group_attributes[][32] = {
        "cgroup.controllers", "cgroup.subtree_control", "cgroup.procs", "cgroup.events",
        "cpuset.mems",        "cpuset.mems.effective",
};
static const char hugetlb_attributes[][16] = {
        "current", "max", "rsvd.current", "rsvd.max", "numa_stat", "events", "events.local",
};

static const char *group_path(const char *path) {
        size_t length = strlen(PATH_CGROUP);

        return text_starts_with(path, PATH_CGROUP) && (path[length] == '/' || !path[length])
                       ? path + length
                       : NULL;
}

/* Returns the group and the name of its attribute; NULL for other paths. */
static Group *split_group_path(const Kernel *kernel, Arena *arena, const char *path,
                               const char **ret_name) {
        const char *below = group_path(path), *slash = below ? strrchr(below, '/') : NULL;

        if (!slash)
                return NULL;
        *ret_name = slash + 1;
        return group_find(kernel, arena_strndup(arena, below, (size_t) (slash - below)));
}

static void list_group(const Kernel *kernel, Arena *arena, const Group *group, KernelNames *names) {
        for (size_t i = 0; i < ARRAY_LEN(group_attributes); i++)
                if (group_read(kernel, arena, group, group_attributes[i]))
                        *vec_push(arena, names) = arena_strdup(arena, group_attributes[i]);
        for (unsigned i = 0; i < kernel->n_sizes && group->parent && group->charges; i++)
                for (size_t k = 0; k < ARRAY_LEN(hugetlb_attributes); k++)
                        *vec_push(arena, names) =
                                arena_printf(arena, "hugetlb.%s.%s",
                                             kernel_size_name(arena, kernel->sizes[i].bytes),
                                             hugetlb_attributes[k]);
        VEC_FOREACH(child, &kernel->groups)
                if ((*child)->parent == group && !(*child)->is_gone)
                        *vec_push(arena, names) =
                                arena_strdup(arena, strrchr((*child)->path, '/') + 1);
}

int kernel_file_make_directory(Kernel *kernel, const char *path) {
        const char *below = group_path(path);

        return below ? kernel_group_make(kernel, below) : -ENOENT;
}

/* ---- all ---- */

/* The part of FAR that follows PATH; NULL if PATH is not above FAR. */
static char *step_towards(Arena *arena, const char *path, const char *far) {
        size_t length = text_equals(path, "/") ? 0 : strlen(path);

        if (strncmp(path, far, length) != 0 || far[length] != '/' || !far[length + 1])
                return NULL;
        return arena_strndup(arena, far + length + 1, part_length(far + length + 1));
}

/* Lists directories that lead to mounts. */
static void list_above(const Kernel *kernel, Arena *arena, const char *path, KernelNames *names) {
        char *name;

        VEC_FOREACH(mount, &kernel->mounts)
                if ((*mount)->is_mounted && (name = step_towards(arena, path, (*mount)->path)))
                        *vec_push(arena, names) = name;
}

static bool is_directory(const Kernel *kernel, const char *path) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const char *below = group_path(path);
        KernelNames names = {};

        if (below)
                return group_find(kernel, below) != NULL;
        list_above(kernel, arena, path, &names);
        if (names.n > 0)
                return true;
        for (size_t i = 0; i < n_kernel_attributes; i++) {
                Where where = {.kernel = kernel};
                const char *rest;

                if (match(&where, kernel_attributes[i].path, path, &rest) && *rest)
                        return true;
        }
        return false;
}

KernelFileKind kernel_file_kind(const Kernel *kernel, const char *path) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Where where = {.kernel = kernel, .arena = arena};
        const char *name;

        path = through_self(kernel, arena, path);
        if (group_path(path) && is_directory(kernel, path))
                return KERNEL_FILE_DIRECTORY;
        const Group *group = split_group_path(kernel, arena, path, &name);

        if ((group && group_read(kernel, arena, group, name)) || find_attribute(&where, path))
                return KERNEL_FILE_ATTRIBUTE;
        return is_directory(kernel, path) ? KERNEL_FILE_DIRECTORY : KERNEL_FILE_NONE;
}

int kernel_file_read(const Kernel *kernel, Arena *arena, const char *path, char **ret) {
        Where where = {.kernel = kernel, .arena = arena};
        const char *name;

        path = through_self(kernel, arena, path);
        const Group *group = split_group_path(kernel, arena, path, &name);
        char *text = group ? group_read(kernel, arena, group, name) : NULL;
        const Attribute *attribute = text ? NULL : find_attribute(&where, path);

        if (!text && !attribute)
                return is_directory(kernel, path) ? -EISDIR : -ENOENT;
        if (!text && !attribute->read)
                return -EACCES;
        *ret = text ? text : attribute->read(&where);
        return 0;
}

int kernel_file_write(Kernel *kernel, const KernelProcess *writer, const char *path,
                      const char *text) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Where where = {.kernel = kernel, .arena = arena};
        const char *name;

        path = through_self(kernel, arena, path);
        if (is_directory(kernel, path))
                return -EISDIR;
        /* write(2) of nothing does nothing. */
        if (!*text)
                return kernel_file_kind(kernel, path) == KERNEL_FILE_NONE ? -ENOENT : 0;
        const Attribute *attribute = find_attribute(&where, path);
        const Group *group = split_group_path(kernel, arena, path, &name);

        if (!attribute)
                return group ? kernel_group_write(kernel, group->path, name, text) : -ENOENT;
        return attribute->write ? attribute->write(kernel, writer, &where, text) : -EACCES;
}

/* Lists the values of a variable part of a pattern. */
static void list_variable(const Where *where, Arena *arena, const char *part, KernelNames *names) {
        const Kernel *kernel = where->kernel;

        if (text_starts_with(part, "node")) {
                for (unsigned node = 0; node < KERNEL_NODES_MAX; node++)
                        if (kernel->nodes[node].exists)
                                *vec_push(arena, names) = arena_printf(arena, "node%u", node);
                return;
        }
        if (text_starts_with(part, NAME_HUGEPAGES_DIR)) {
                for (unsigned i = 0; i < kernel->n_sizes; i++)
                        *vec_push(arena, names) = arena_printf(arena,
                                                               NAME_HUGEPAGES_DIR "%" PRIu64 "kB",
                                                               kernel->sizes[i].bytes / KIB);
                return;
        }
        VEC_FOREACH(process, &kernel->processes)
                if ((*process)->is_alive)
                        *vec_push(arena, names) = arena_printf(arena, "%" PRIu64, (*process)->pid);
}

static void list_pattern(const Kernel *kernel, Arena *arena, const Attribute *attribute,
                         const char *path, KernelNames *names) {
        Where where = {.kernel = kernel, .arena = arena};
        const char *rest;

        if (!match(&where, attribute->path, path, &rest) || !*rest)
                return;
        char *part = arena_strndup(arena, rest, part_length(rest));

        if (strchr(part, '%'))
                list_variable(&where, arena, part, names);
        else if (*next_part(rest) || !attribute->exists || attribute->exists(&where))
                *vec_push(arena, names) = part;
}

void kernel_file_list(const Kernel *kernel, Arena *arena, const char *path, KernelNames *names) {
        const char *below = group_path(path);
        const Group *group = below ? group_find(kernel, below) : NULL;

        path = through_self(kernel, arena, path);
        if (group)
                list_group(kernel, arena, group, names);
        for (size_t i = 0; i < n_kernel_attributes; i++)
                list_pattern(kernel, arena, &kernel_attributes[i], path, names);
        if (text_equals(path, PATH_PROC))
                *vec_push(arena, names) = arena_strdup(arena, "self");
        list_above(kernel, arena, path, names);
        VEC_FOREACH(segment, &kernel->segments)
                if ((*segment)->mount && (*segment)->is_linked &&
                    text_equals((*segment)->mount->path, path))
                        *vec_push(arena, names) = arena_strdup(arena, (*segment)->name);
}

/* ---- mounts ---- */

const KernelMount *kernel_mount_at(const Kernel *kernel, const char *path) {
        VEC_FOREACH(mount, &kernel->mounts)
                if ((*mount)->is_mounted && text_equals((*mount)->path, path))
                        return *mount;
        return NULL;
}

/* hugetlbfs_statfs() */
void kernel_mount_blocks(const KernelMount *mount, uint64_t *ret_bytes, uint64_t *ret_blocks,
                         uint64_t *ret_free) {
        const Subpool *subpool = mount->subpool;

        *ret_bytes = mount->size->bytes;
        *ret_blocks = subpool ? (uint64_t) subpool->max : 0;
        *ret_free = subpool ? (uint64_t) (subpool->max - subpool->used) : 0;
}
