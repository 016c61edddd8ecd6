/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/size.h"
#include "base/text.h"
#include "host/probe.h"
#include "model/names.h"

#include <string.h>

/* ---- meminfo: "Key:   123 kB", with "Node 0 " in front in the nodes' own files ---- */

uint64_t probe_meminfo(Arena *arena, const char *text, const char *key) {
        size_t length = strlen(key);
        uint64_t kib;

        for (const char *found = text; (found = strstr(found, key)); found += length) {
                if ((found > text && !strchr(" \n", found[-1])) || found[length] != ':')
                        continue;
                const char *rest = found + length + 1;
                char *number = text_next_word(arena, &rest, " \t\n");

                if (number && parse_u64(number, &kib) == 0)
                        return mul_saturated(kib, KIB);
        }
        return 0;
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

static void list_page_sizes(const Root *root, Arena *arena, Topology *topology) {
        VEC(PageSize) sizes = {};
        Names names = {};

        root_list(root, arena, PATH_HUGEPAGES, &names);
        VEC_FOREACH(name, &names) {
                uint64_t bytes = probe_size_of_name(arena, *name);

                if (bytes > 0)
                        *vec_push(arena, &sizes) = (PageSize){.bytes = bytes};
        }
        vec_sort(&sizes, compare_sizes_down);
        topology->page_sizes = sizes.items;
        topology->n_page_sizes = sizes.n;
}

const char *probe_text(const Root *root, Arena *arena, const char *path) {
        char *text;

        return root_read_attribute(root, arena, path, &text) < 0 ? "" : text;
}

bool probe_is_switched_off(const Root *root) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        return text_has_word(probe_text(root, arena, PATH_CMDLINE), KERNEL_SWITCH_OFF);
}

Topology *probe_page_sizes(const Root *root, Arena *arena) {
        CLEANUP(arena_freep) Arena *scratch = arena_new();
        Topology *topology = ARENA_NEW(arena, Topology);
        const char *meminfo = probe_text(root, scratch, PATH_MEMINFO);
        uint64_t bytes = probe_meminfo(scratch, meminfo, "Hugepagesize");

        list_page_sizes(root, arena, topology);
        if (topology_page_size_index(topology, bytes) >= 0)
                topology->default_page_size_bytes = bytes;
        else if (topology->n_page_sizes > 0) /* the smallest, if meminfo has no existing size */
                topology->default_page_size_bytes =
                        topology->page_sizes[topology->n_page_sizes - 1].bytes;
        topology->swap_bytes = probe_meminfo(scratch, meminfo, "SwapTotal");
        topology->failed_bytes = probe_meminfo(scratch, meminfo, "HardwareCorrupted");
        topology->cma_bytes = probe_meminfo(scratch, meminfo, "CmaTotal");
        return topology;
}

uint64_t probe_page_tables(const Root *root, Arena *arena) {
        return probe_meminfo(arena, probe_text(root, arena, PATH_MEMINFO), "PageTables");
}
