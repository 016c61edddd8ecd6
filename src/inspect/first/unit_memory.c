/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inspect/first/unit_memory.h"

#include "base/size.h"
#include "base/text.h"
#include "model/names.h"
#include "read/process.h"

#include <string.h>

enum { FILE_BYTES_MAX = 64 * 1024, PROCESSES_MAX = 65536 };

/* "VmPTE:      88 kB" */
static uint64_t field_bytes(Arena *arena, const char *status, const char *field) {
        const char *at = strstr(status, field), *word;
        uint64_t kib;

        if (!at)
                return 0;
        at += strlen(field);
        word = text_next_word(arena, &at, " \t\n");
        return word && parse_u64(word, &kib) == 0 ? mul_saturated(kib, KIB) : 0;
}

static void add_process(const Root *root, Arena *arena, uint64_t pid, UnitMemories *ret) {
        CLEANUP(arena_freep) Arena *scratch = arena_new();
        const char *directory = arena_printf(scratch, PATH_PROC "/%" PRIu64, pid);
        char *status, *group;
        Process process = {};

        if (root_read_kernel_file(root, scratch, arena_printf(scratch, "%s/cgroup", directory),
                                  FILE_BYTES_MAX, &group, NULL) < 0 ||
            root_read_kernel_file(root, scratch, arena_printf(scratch, "%s/status", directory),
                                  FILE_BYTES_MAX, &status, NULL) < 0)
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
                add_saturated(memory->tables_bytes, field_bytes(scratch, status, "\nVmPTE:"));
        memory->small_bytes = MAX(memory->small_bytes, field_bytes(scratch, status, "\nRssShmem:"));
        memory->huge_bytes =
                MAX(memory->huge_bytes, field_bytes(scratch, status, "\nHugetlbPages:"));
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
