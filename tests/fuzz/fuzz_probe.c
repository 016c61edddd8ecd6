/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Any bytes as the kernel's files: meminfo, buddyinfo, status, counts, choices. The first byte says
 * which file the rest stands in; the others are as they should be. */

#include "base/size.h"
#include "host/probe.h"
#include "support/tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct {
        const char *path, *text;
} files[] = {
        {"/proc/meminfo", "MemTotal: 4096 kB\nHugepagesize: 2048 kB\nSwapTotal: 0 kB\n"},
        {"/proc/buddyinfo", "Node 0, zone Normal 1 2 3\n"},
        {"/proc/self/status", "Mems_allowed_list:\t0\n"},
        {"/proc/cmdline", "quiet\n"},
        {"/proc/sys/kernel/random/boot_id", "boot\n"},
        {"/sys/devices/system/node/possible", "0-1\n"},
        {"/sys/devices/system/node/has_memory", "0\n"},
        {"/sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: 4096 kB\n"},
        {"/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages", "3\n"},
        {"/sys/devices/system/node/node0/hugepages/hugepages-2048kB/surplus_hugepages", "1\n"},
        {"/sys/kernel/mm/hugepages/hugepages-2048kB/resv_hugepages", "1\n"},
        {"/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"},
};

static void require(bool holds) {
        if (!holds)
                abort();
}

static void check_topology(Arena *arena, const Topology *topology) {
        require(topology->n_nodes == 1 && topology->n_page_sizes == 1);
        require(topology->default_page_size_bytes == 2 * MIB);
        require(topology->boot_id != NULL);
        for (size_t i = 0; i < topology->n_nodes; i++)
                for (size_t k = 0; k < topology->n_page_sizes; k++) {
                        const Pool *pool = &topology->nodes[i].pools[k];

                        require(pool_persistent_pages(pool) <= pool->total_pages);
                        require(pool_used_pages(pool) <= pool->total_pages);
                        require(topology_promised_pages(topology, 0, 2 * MIB) <= pool->free_pages);
                }
        topology_has_kernel_argument(topology, "hugeplan=off");
        require(strlen(topology_page_size_names(arena, topology)) > 0);
}

static void *state; /* one tree for all inputs */

static void remove_tree(void) {
        tree_teardown(&state);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        Arena *arena = arena_new();
        size_t odd = size > 0 ? data[0] % ARRAY_LEN(files) : 0;

        if (!state) {
                tree_setup(&state);
                atexit(remove_tree);
        }
        const Tree *tree = state;

        for (size_t i = 0; i < ARRAY_LEN(files); i++)
                if (i == odd && size > 0)
                        tree_write_bytes(tree, files[i].path, (const char *) data + 1, size - 1);
                else
                        tree_write(tree, files[i].path, files[i].text);
        check_topology(arena, probe_topology(tree->root, arena));
        arena_free(arena);
        return 0;
}
