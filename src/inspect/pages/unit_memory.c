/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inspect/pages/unit_memory.h"

#include "base/size.h"
#include "base/text.h"
#include "inspect/process_files.h"
#include "model/names.h"

#include <string.h>

enum { FILE_BYTES_MAX = 64 * 1024, PROCESSES_MAX = 65536 };

static void add_process(const Root *root, Arena *arena, uint64_t pid, UnitMemories *ret) {
        CLEANUP(arena_freep) Arena *scratch = arena_new();
        char *status, *group;
        Process process = {};

        if (process_file_read(root, scratch, pid, "cgroup", FILE_BYTES_MAX, &group, NULL) < 0 ||
            process_file_read(root, scratch, pid, "status", FILE_BYTES_MAX, &status, NULL) < 0)
                return;
        process_parse_cgroup(scratch, group, &process);
        if (!process.unit)
                return;
        UnitMemory *memory = VEC_FIND(each, ret, text_equals(each->unit, process.unit));

        if (!memory) {
                memory = vec_push(arena, ret);
                memory->unit = arena_strdup(arena, process.unit);
        }
        memory->n_processes++;
        memory->tables_bytes =
                add_saturated(memory->tables_bytes, process_find_bytes(scratch, status, "VmPTE"));
        memory->small_bytes =
                MAX(memory->small_bytes, process_find_bytes(scratch, status, "RssShmem"));
        memory->huge_bytes =
                MAX(memory->huge_bytes, process_find_bytes(scratch, status, "HugetlbPages"));
}

UnitMemories unit_memories_read(const Root *root, Arena *arena) {
        UnitMemories memories = {};
        Names names = {};
        uint64_t pid;

        root_list(root, arena, PATH_PROC, &names);
        for (size_t i = 0; i < MIN(names.n, (size_t) PROCESSES_MAX); i++)
                if (parse_u64(names.items[i], &pid) == 0 && pid > 0)
                        add_process(root, arena, pid, &memories);
        return memories;
}
