/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inspect/processes.h"

#include "base/size.h"
#include "base/text.h"
#include "inspect/process_files.h"
#include "model/names.h"

#include <string.h>
#include <sys/stat.h>

enum {
        PROCESSES_MAX = 65536,
        ARGUMENTS_BYTES_MAX = 128 * 1024,
        STATUS_BYTES_MAX = 64 * 1024,
};

static char *read_file(const Root *root, Arena *arena, uint64_t pid, const char *name, size_t max,
                       size_t *ret_size) {
        char *text;

        process_file_read(root, arena, pid, name, max, &text, ret_size);
        return text;
}

/* "Uid:    112     112     112     112": real, effective... */
static uint64_t parse_uid(Arena *arena, const char *status) {
        const char *value = process_find_field(arena, status, "Uid");
        const char *word = value ? text_next_word(arena, &value, " \t") : NULL;
        uint64_t uid;

        return word && parse_u64(word, &uid) == 0 ? uid : UINT64_MAX;
}

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

static const char *working_directory(const Root *root, Arena *arena, uint64_t pid) {
        char *target = NULL;

        return root_read_link(root, arena, arena_printf(arena, PATH_PROC "/%" PRIu64 "/cwd", pid),
                              &target) >= 0
                       ? target
                       : NULL;
}

static bool read_process(const Root *root, Arena *arena, uint64_t pid, RunningProcess *ret) {
        CLEANUP(arena_freep) Arena *scratch = arena_new();
        size_t size = 0;
        char *arguments = read_file(root, scratch, pid, "cmdline", ARGUMENTS_BYTES_MAX, &size);
        char *status = size > 0 ? read_file(root, scratch, pid, "status", STATUS_BYTES_MAX, NULL)
                                : NULL;
        char *group = status ? read_file(root, scratch, pid, "cgroup", STATUS_BYTES_MAX, NULL)
                             : NULL;
        Process process = {};

        if (!status || process_parse_status(scratch, status, &process) < 0)
                return false;
        if (group)
                process_parse_cgroup(scratch, group, &process);
        const char *container = group ? process_container(arena, group) : NULL;

        *ret = (RunningProcess){
                .pid = pid,
                .uid = parse_uid(scratch, status),
                .command = arena_strdup(arena, process.command),
                .unit = arena_strdup(arena, process.unit),
                .peak_bytes = process_find_bytes(scratch, status, "VmPeak"),
                .tables_bytes = process.tables_bytes,
                .shared_bytes = process_find_bytes(scratch, status, "RssShmem"),
                .huge_bytes = process.huge_bytes,
                .directory = working_directory(root, arena, pid),
                .container = container,
                .is_elsewhere = is_elsewhere(root, scratch, pid, container != NULL),
        };
        /* Each argument ends with a NUL; proc_pid_cmdline(5). */
        for (size_t at = 0; at < size; at += strlen(arguments + at) + 1)
                *vec_push(arena, &ret->arguments) = arena_strdup(arena, arguments + at);
        return true;
}

RunningProcesses processes_list(const Root *root, Arena *arena) {
        CLEANUP(arena_freep) Arena *scratch = arena_new();
        RunningProcesses processes = {};
        Names names = {};
        uint64_t pid;

        root_list(root, scratch, PATH_PROC, &names);
        VEC_FOREACH(name, &names) {
                RunningProcess process;

                if (parse_u64(*name, &pid) == 0 && pid > 0 && processes.n < PROCESSES_MAX &&
                    read_process(root, arena, pid, &process))
                        *vec_push(arena, &processes) = process;
        }
        return processes;
}
