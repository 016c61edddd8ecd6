/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The kernel's files about processes, parts of which processes can choose. The input is a list of texts separated by
 * NULs, five for each process: status, cgroup, numa_maps, maps, uptime; the last text is the list of System V segments.
 *
 * Conditions: all texts are printable, nodes are in order, and JSON is read as the value that it was made of. */

#include "fuzz/fuzz.h"
#include "read/process.h"
#include "status/page_users.h"
#include "support/testing.h"

enum { TEXTS_MAX = 5 * 16 };

static Process read_process(Arena *arena, uint64_t pid, char *const *texts) {
        Process process = {.pid = pid};
        const Devices devices = process_parse_hugetlbfs(arena, texts[1]);
        uint64_t bytes;

        if (process_parse_status(arena, texts[0], &process) < 0)
                process.command = "x";
        process_parse_cgroup(arena, texts[1], &process);
        process.mappings = process_parse_numa_maps(arena, texts[2]);
        process_add_maps(arena, texts[3], &process.mappings);
        memory_map_parse(arena, texts[3], NULL, &devices);
        const MemoryMap map = memory_map_parse(arena, texts[3], texts[2], &devices);

        require(map.doubtful_bytes == 0 && map.sysv_bytes <= map.shared_bytes);
        process_parse_age(arena, texts[0], texts[4], &bytes);
        process_find_field(arena, texts[0], "Mems_allowed_list");
        process.is_detailed = process.mappings.n > 0;
        return process;
}

static bool read_charge(Arena *arena, const char *text, const char *unit, UnitCharge *ret) {
        *ret = (UnitCharge){.unit = unit, .page_size_bytes = 2 * MIB};
        return unit && process_parse_numa_stat(arena, text, ret->page_size_bytes, &ret->pages,
                                               &ret->used) == 0;
}

static void check_row(Arena *arena, const PageUser *page_user) {
        require(page_user->unit || page_user->command);
        require_printable(page_user_format(arena, page_user));
        require_printable(page_user_format_use(arena, page_user));
        VEC_FOREACH(here, &page_user->nodes) {
                require(here->node < ID_SET_MAX);
                require(here == page_user->nodes.items || here->node >= (here - 1)->node);
        }
}

static size_t split(Arena *arena, const uint8_t *data, size_t size, char **texts) {
        const char *rest = (const char *) data;
        size_t n = 0;

        while (n < TEXTS_MAX) {
                size_t length = strnlen(rest, size);

                texts[n++] = arena_strndup(arena, rest, length);
                if (length == size)
                        break;
                rest += length + 1;
                size -= length + 1;
        }
        return n;
}

FUZZ(arena, data, size) {
        const Topology *topology =
                host_make(arena, "sizes 1G 2M\nnode 0 1G=- 2M=40/30/0\nreserved 2M=4\n");
        char *texts[TEXTS_MAX];
        Process processes[TEXTS_MAX / 5];
        PageUsersInput input = {.topology = topology, .processes = processes, .is_complete = true};
        size_t n = split(arena, data, size, texts);
        UnitCharge charge;

        for (size_t i = 0; i + 5 <= n; i += 5, input.n_processes++)
                processes[input.n_processes] =
                        read_process(arena, 1 + input.n_processes, &texts[i]);
        input.segments = texts[n - 1];
        if (input.n_processes > 0 && read_charge(arena, texts[n - 1], processes[0].unit, &charge)) {
                input.charges = &charge;
                input.n_charges = 1;
        }
        const PageUsers *page_users = page_users_make(arena, &input);

        VEC_FOREACH(page_user, &page_users->list)
                check_row(arena, page_user);
}
