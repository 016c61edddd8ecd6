/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inspect/process_files.h"

#include "base/size.h"
#include "base/text.h"
#include "host/host_sources.h"
#include "model/names.h"
#include "read/process.h"
#include "read/unit_file.h"

#include <string.h>
#include <sys/stat.h>

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
        const char *path = arena_printf(arena, "%s/cgroup.procs", group);
        RootFolder folder;
        char *text = NULL;
        uint64_t pid;

        if (root_read_kernel_file(root, arena, path, PROCESSES_BYTES_MAX, &text, NULL) >= 0)
                TEXT_FOREACH(word, arena, text, "\n")
                        if (parse_u64(word, &pid) == 0 && pid > 0 && ret->n < PROCESSES_MAX)
                                *vec_push(arena, ret) = pid;
        if (depth == DEPTH_MAX)
                return;
        root_open_folder(root, arena, group, &folder);
        root_close_folder(&folder);
        VEC_FOREACH(name, &folder.names) {
                const char *below = arena_printf(arena, "%s/%s", group, *name);

                /* A group has some fifty files. */
                if (**name != '.' && !index_find(folder.files, *name) &&
                    root_is_directory(root, below))
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

/* ---- all processes ---- */

enum { ARGUMENTS_BYTES_MAX = 128 * 1024 };

/* The link leads into the process's own mount namespace, where any path may be "/": only following it finds out. If
 * this process may not follow the link, the control group decides. On a captured host the link's text decides. */
static bool is_elsewhere(const Root *root, Arena *scratch, uint64_t pid, bool is_contained) {
        const char *path = arena_printf(scratch, PATH_PROC "/%" PRIu64 "/root", pid);
        struct stat own, other;
        char *target;

        if (!root_is_host(root))
                return root_read_link(root, scratch, path, &target) >= 0 ? !text_equals(target, "/")
                                                                         : is_contained;
        if (stat("/", &own) < 0 || stat(path, &other) < 0)
                return is_contained;
        bool is = own.st_dev != other.st_dev || own.st_ino != other.st_ino;

        if (root_recorder(root))
                root_recorder(root)->add(root_recorder(root), RECORDED_LINK, path,
                                         is ? "/elsewhere" : "/", is ? strlen("/elsewhere") : 1);
        return is;
}

/* The makers of containers, by the prefixes of their control groups; "docker" is a directory of groups. Sources:
 * podman-systemd.unit(5) and podman-run(1) (--cgroups=split), Docker's and CRI-O's systemd drivers,
 * lxc.container.conf(5), systemd-nspawn(1). */
static const struct {
        const char *prefix, *title;
} container_groups[] = {
        {"libpod-payload-", "Podman container"}, {"libpod-", "Podman container"},
        {"docker-", "Docker container"},         {"docker/", "Docker container"},
        {"crio-", "Kubernetes container"},       {"cri-containerd-", "Kubernetes container"},
        {"kubepods/", "Kubernetes pod"},         {"lxc.payload.", "LXC container"},
        {"systemd-nspawn@", "container"},
};

/* Returns the container that /proc/PID/cgroup shows: "Podman container 0123456789ab"; NULL: none. */
static const char *find_container(Arena *arena, const char *text) {
        for (const char *at = strchr(text, '/'); at; at = strchr(at + 1, '/'))
                ARRAY_FOREACH(group, container_groups, ARRAY_LEN(container_groups)) {
                        if (!text_starts_with(at + 1, group->prefix) ||
                            text_starts_with(at + 1, "libpod-conmon-"))
                                continue;
                        const char *name = at + 1 + strlen(group->prefix);
                        /* Shorten an identifier like the products' own lists do. */
                        bool is_id = strspn(name, "0123456789abcdef") >= 64;

                        name = arena_strndup(arena, name, is_id ? 12 : strcspn(name, "/\n"));
                        return arena_printf(arena, "%s %s", group->title,
                                            text_printable(arena, name));
                }
        return NULL;
}

static bool read_process(const Root *root, Arena *arena, uint64_t pid, Process *ret) {
        CLEANUP(arena_freep) Arena *scratch = arena_new();
        const char *link = arena_printf(scratch, PATH_PROC "/%" PRIu64 "/cwd", pid);
        char *arguments, *status, *group;
        Process process = {.pid = pid, .uid = UINT64_MAX};
        size_t size = 0;

        if (process_file_read(root, scratch, pid, "cmdline", ARGUMENTS_BYTES_MAX, &arguments,
                              &size) < 0 ||
            size == 0 ||
            process_file_read(root, scratch, pid, "status", STATUS_BYTES_MAX, &status, NULL) < 0 ||
            process_parse_status(arena, status, &process) < 0)
                return false;
        if (process_file_read(root, scratch, pid, "cgroup", STATUS_BYTES_MAX, &group, NULL) >= 0) {
                process_parse_cgroup(arena, group, &process);
                process.container = find_container(arena, group);
        }
        /* "Uid:    112     112     112     112": real, effective... */
        const char *uids = process_find_field(scratch, status, "Uid");

        parse_u64((uids ? text_next_word(scratch, &uids, " \t") : NULL) ?: "", &process.uid);
        process.peak_bytes = process_find_bytes(scratch, status, "VmPeak");
        process.shared_bytes = process_find_bytes(scratch, status, "RssShmem");
        char *directory;

        if (root_read_link(root, arena, link, &directory) >= 0)
                process.directory = directory;
        process.is_elsewhere = is_elsewhere(root, scratch, pid, process.container);
        *ret = process;
        /* Each argument ends with a NUL; proc_pid_cmdline(5). */
        for (size_t at = 0; at < size; at += strlen(arguments + at) + 1)
                *vec_push(arena, &ret->arguments) = arena_strdup(arena, arguments + at);
        return true;
}

Processes processes_list(const Root *root, Arena *arena) {
        CLEANUP(arena_freep) Arena *scratch = arena_new();
        Processes processes = {};
        Names names = {};
        uint64_t pid;

        root_list(root, scratch, PATH_PROC, &names);
        VEC_FOREACH(name, &names) {
                Process process;

                if (parse_u64(*name, &pid) == 0 && pid > 0 && processes.n < PROCESSES_MAX &&
                    read_process(root, arena, pid, &process))
                        *vec_push(arena, &processes) = process;
        }
        return processes;
}
