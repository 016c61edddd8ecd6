/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/size.h"
#include "base/text.h"
#include "host/probe.h"
#include "model/names.h"

#include <stdlib.h>
#include <string.h>

/* ---- meminfo: "Key:   123 kB", with "Node 0 " in front in the nodes' own files ---- */

static bool meminfo_value(Arena *arena, const char *line, const char *key, uint64_t *ret_bytes) {
        const char *found = strstr(line, key);
        char *number;
        uint64_t kib;

        if (!found || (found > line && found[-1] != ' ') || found[strlen(key)] != ':')
                return false;
        found += strlen(key) + 1;
        number = text_next_word(arena, &found, " \t");
        if (!number || parse_u64(number, &kib) < 0)
                return false;
        *ret_bytes = mul_saturated(kib, KIB);
        return true;
}

uint64_t probe_meminfo(Arena *arena, const char *text, const char *key) {
        uint64_t bytes = 0;
        char *line;

        while ((line = text_next_word(arena, &text, "\n")))
                if (meminfo_value(arena, line, key, &bytes))
                        break;
        return bytes;
}

/* ---- page sizes ---- */

uint64_t probe_size_of_name(Arena *arena, const char *name) {
        uint64_t kib;

        if (!text_starts_with(name, NAME_HUGEPAGES_DIR) || !text_ends_with(name, "kB"))
                return 0;
        name += strlen(NAME_HUGEPAGES_DIR);
        if (parse_u64(arena_strndup(arena, name, strlen(name) - 2), &kib) < 0 || kib == 0 ||
            kib > UINT64_MAX / KIB)
                return 0;
        return kib * KIB;
}

static int compare_sizes_down(const void *a, const void *b) {
        uint64_t first = ((const PageSize *) a)->bytes, second = ((const PageSize *) b)->bytes;

        return first > second ? -1 : first < second;
}

void probe_page_size(const Root *root, PageSize *size) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const char *base = arena_printf(
                arena, PATH_HUGEPAGES "/" NAME_HUGEPAGES_DIR "%" PRIu64 "kB", size->bytes / KIB);
        const struct {
                const char *attribute;
                uint64_t *count;
        } files[] = {
                {"nr_hugepages", &size->total_pages},
                {"free_hugepages", &size->free_pages},
                {"surplus_hugepages", &size->surplus_pages},
                {"resv_hugepages", &size->reserved_pages},
        };

        for (size_t i = 0; i < ARRAY_LEN(files); i++)
                root_read_u64(root, arena_printf(arena, "%s/%s", base, files[i].attribute),
                              files[i].count);
}

static void list_page_sizes(const Root *root, Arena *arena, Topology *topology) {
        VEC(PageSize) sizes = {};
        Names names = {};

        root_list(root, arena, PATH_HUGEPAGES, &names);
        VEC_FOREACH(name, &names) {
                uint64_t bytes = probe_size_of_name(arena, *name);

                if (bytes == 0)
                        continue;
                PageSize *size = vec_push(arena, &sizes);

                *size = (PageSize){.bytes = bytes};
                probe_page_size(root, size);
        }
        if (sizes.n > 0)
                qsort(sizes.items, sizes.n, sizeof(PageSize), compare_sizes_down);
        topology->page_sizes = sizes.items;
        topology->n_page_sizes = sizes.n;
}

static const char *read_or_empty(const Root *root, Arena *arena, const char *path) {
        char *text;

        return root_read_attribute(root, arena, path, &text) < 0 ? "" : text;
}

/* Where meminfo does not tell a size that there is, the smallest. */
static uint64_t default_size(const Topology *topology, const char *meminfo, Arena *arena) {
        uint64_t bytes = probe_meminfo(arena, meminfo, "Hugepagesize");

        if (topology_page_size_index(topology, bytes) >= 0 || topology->n_page_sizes == 0)
                return topology->n_page_sizes > 0 ? bytes : 0;
        return topology->page_sizes[topology->n_page_sizes - 1].bytes;
}

Topology *probe_page_sizes(const Root *root, Arena *arena) {
        Topology *topology = ARENA_NEW(arena, Topology);
        const char *meminfo = read_or_empty(root, arena, PATH_MEMINFO);

        list_page_sizes(root, arena, topology);
        topology->default_page_size_bytes = default_size(topology, meminfo, arena);
        topology->swap_bytes = probe_meminfo(arena, meminfo, "SwapTotal");
        return topology;
}

/* ---- the kernel ---- */

const char *probe_kernel_command_line(const Root *root, Arena *arena) {
        return read_or_empty(root, arena, PATH_CMDLINE);
}

const char *probe_boot_id(const Root *root, Arena *arena) {
        return read_or_empty(root, arena, PATH_BOOT_ID);
}
