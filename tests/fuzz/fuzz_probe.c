/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Any bytes as the kernel's files: meminfo, buddyinfo, status, counts, choices. The first byte says
 * which file the rest stands in; the others are as they should be. Whatever they say, nobody is
 * promised more than is reserved, and nothing is spare that is not free. */

#include "base/size.h"
#include "host/probe.h"
#include "promise/balance.h"
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

static void check_promises(Arena *arena, const Topology *topology) {
        const LedgerHolds nobody = {};
        const uint64_t free_pages[] = {topology->nodes[0].pools[0].free_pages};
        const Promises promises = promises_make(arena, topology, 0, &nobody, NULL, &(Ledger){});
        const Balance *balance = balance_new(arena, &promises, free_pages);

        require(promises.unknown_pages == topology->page_sizes[0].reserved_pages);
        require(promises.others_promised_pages == promises.unknown_pages);
        require(balance_spare_pages(balance, 0) ==
                sub_floored(free_pages[0], promises.unknown_pages));
        require(balance_missing_pages(balance, 0) ==
                sub_floored(promises.unknown_pages, free_pages[0]));
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
                }
        check_promises(arena, topology);
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
