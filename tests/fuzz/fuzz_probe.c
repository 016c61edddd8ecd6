/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Any bytes as a file of the kernel: meminfo, buddyinfo, status, counts, choices. The first byte selects the file; the
 * others are valid. Conditions: no promise exceeds the reserved pages, and no page is spare that is not free. */

#include "base/size.h"
#include "fuzz/fuzz.h"
#include "host/probe.h"
#include "model/model_root.h"
#include "plan/promise/balance.h"

static const struct {
        const char *path, *text;
} files[] = {
        {"/proc/meminfo", "MemTotal: 4096 kB\nHugepagesize: 2048 kB\nSwapTotal: 0 kB\n"},
        {"/proc/buddyinfo", "Node 0, zone Normal 1 2 3\n"},
        {"/sys/fs/cgroup/hugeplan.service/cpuset.mems.effective", "0\n"},
        {"/proc/cmdline", "quiet\n"},
        {"/proc/sys/kernel/random/boot_id", "boot\n"},
        {"/sys/devices/system/node/possible", "0-1\n"},
        {"/sys/devices/system/node/has_memory", "0\n"},
        {"/sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: 4096 kB\n"},
        {"/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages", "3\n"},
        {"/sys/devices/system/node/node0/hugepages/hugepages-2048kB/surplus_hugepages", "1\n"},
        {"/sys/kernel/mm/hugepages/hugepages-2048kB/resv_hugepages", "1\n"},
        {"/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"},
        {"/proc/self/smaps", "KernelPageSize: 4 kB\n"},
};

static void check_promises(Arena *arena, const Topology *topology) {
        const LedgerHolds nobody = {};
        const uint64_t free_pages[] = {topology->nodes[0].pools[0].free_pages};
        const Promises promises = promises_make(arena, topology, 0, &nobody, NULL, &(Ledger){});
        const Balance *balance = balance_new(arena, &promises, free_pages, false);

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
        require(topology->base_page_bytes == 0 || is_power_of_two(topology->base_page_bytes));
        for (size_t i = 0; i < topology->n_nodes; i++)
                for (size_t k = 0; k < topology->n_page_sizes; k++) {
                        const Pool *pool = &topology->nodes[i].pools[k];

                        require(pool_persistent_pages(pool) <= pool->total_pages);
                        require(pool_used_pages(pool) <= pool->total_pages);
                }
        check_promises(arena, topology);
        require(strlen(topology_page_size_names(arena, topology)) > 0);
}

FUZZ(arena, data, size) {
        CLEANUP(root_freep) Root *root = model_root_new(NULL);

        for (size_t i = 0; i < ARRAY_LEN(files); i++)
                model_root_add(root, files[i].path, files[i].text, strlen(files[i].text));
        if (size > 0)
                model_root_add(root, files[data[0] % ARRAY_LEN(files)].path,
                               (const char *) data + 1, size - 1);
        check_topology(arena, probe_topology(root, arena, NULL));
}
