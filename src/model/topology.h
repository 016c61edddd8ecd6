/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Topology: what the host has, as the probe found it at one moment.
 *
 * Invariants: nodes are sorted by number, page sizes from the largest down; every node has one pool per page size of
 * the host, in the same order, with `exists` false if the node has no such directory. Counts are pages of the pool's
 * size; memory is bytes. Sources: Documentation/admin-guide/mm/hugetlbpage.rst,
 * Documentation/admin-guide/mm/numaperf.rst, Documentation/ABI/stable/sysfs-devices-node. */

#include "base/id_set.h"
#include "base/size.h"
#include "base/vec.h"
#include "model/reason.h"

/* A number of pages on one node; the context gives their size. */
typedef struct NodePages {
        unsigned node;
        uint64_t pages;
} NodePages;

/* Pages on several nodes, usually sorted by node; of each node one entry. */
typedef VEC(NodePages) PagesByNode;

PagesByNode pages_by_node_copy(Arena *arena, const PagesByNode *pages);

/* Adds PAGES on NODE. */
void pages_add_on(Arena *arena, PagesByNode *all, unsigned node, uint64_t pages);

/* Returns the entry of NODE, or NULL. */
static inline NodePages *pages_find_on(const PagesByNode *all, unsigned node) {
        return VEC_SEEK(each, all, node < each->node ? -1 : node > each->node);
}

/* Return the pages on NODE, and those on NODES. */
static inline uint64_t pages_on(const PagesByNode *all, unsigned node) {
        const NodePages *found = pages_find_on(all, node);

        return found ? found->pages : 0;
}

static inline uint64_t pages_within(const PagesByNode *all, const IdSet *nodes) {
        return VEC_SUM(each, all, id_set_has(nodes, each->node) ? each->pages : 0);
}

enum { BUDDY_ORDERS = 32 };

/* The smallest huge pages of any kernel that databases run on: arm64's contiguous ones. */
#define HUGE_PAGE_BYTES_MIN ((uint64_t) 64 * KIB)

/* Parses a possible size of huge pages: a power of two of at least HUGE_PAGE_BYTES_MIN. Returns 0 or -EINVAL. */
int page_size_parse(const char *string, uint64_t *ret_bytes);

typedef struct Pool {
        uint64_t page_size_bytes;
        bool exists;
        uint64_t total_pages;   /* nr_hugepages as read: persistent and surplus */
        uint64_t free_pages;    /* free, reserved ones included */
        uint64_t surplus_pages; /* beyond the persistent count; freed when released */
        /* The size into which the kernel can demote a free page of this pool (`demote`); 0: it cannot. */
        uint64_t demote_to_bytes;
} Pool;

typedef struct Node {
        unsigned id;
        bool has_memory;
        uint64_t memory_bytes;      /* MemTotal */
        uint64_t free_bytes;        /* MemFree */
        uint64_t reclaimable_bytes; /* page cache and slab: unmapped file LRU, and SReclaimable */
        bool can_reclaim;           /* nodeN/reclaim exists */
        bool can_compact;           /* nodeN/compact exists */
        Pool *pools;                /* one per page size of the host */
        /* Free blocks of 2^order base pages over all zones (/proc/buddyinfo). */
        uint64_t free_blocks[BUDDY_ORDERS];
        unsigned n_orders; /* that the kernel lists; larger blocks may be free and are in no list */
} Node;

typedef struct PageSize {
        uint64_t bytes;
        uint64_t total_pages; /* over all nodes */
        uint64_t free_pages;
        uint64_t surplus_pages;
        uint64_t reserved_pages; /* resv_hugepages: mapped, not touched yet; host-wide only */
} PageSize;

typedef struct ThpSize {
        uint64_t bytes;
        const char *enabled;       /* "always", "inherit", "madvise", "never"; NULL unreadable */
        const char *shmem_enabled; /* "always", "inherit", "within_size", "advise", "never" */
} ThpSize;

/* The kernel's limits on System V segments; UINT64_MAX: not known. */
typedef struct KernelLimits {
        uint64_t shmmax_bytes; /* of one segment */
        uint64_t shmall_pages; /* of all, in base pages */
        uint64_t shm_group;    /* vm.hugetlb_shm_group: a gid */
} KernelLimits;

/* What programs may allocate with vm.overcommit_memory=2: swap, and a share of the memory that is not huge pages, so that
 * each huge page lowers it. Documentation/mm/overcommit-accounting.rst, vm_commit_limit() in mm/util.c. */
typedef struct CommitLimit {
        uint64_t percent; /* vm.overcommit_ratio; 0: no such limit, or vm.overcommit_kbytes sets it */
        uint64_t bytes;   /* CommitLimit */
        uint64_t committed_bytes; /* Committed_AS */
} CommitLimit;

typedef struct Topology {
        Node *nodes; /* the nodes that are online */
        size_t n_nodes;
        PageSize *page_sizes;
        size_t n_page_sizes;
        uint64_t default_page_size_bytes; /* 0: no hugetlb in this kernel */
        uint64_t base_page_bytes;         /* 0: a captured host does not show it */
        uint64_t swap_bytes;              /* SwapTotal */
        uint64_t cma_bytes;               /* CmaTotal */
        uint64_t failed_bytes; /* HardwareCorrupted: not used any more because of memory errors */
        CommitLimit commit;
        unsigned n_cpus;         /* online; 0: not known */
        bool can_reclaim;        /* the root cgroup's memory.reclaim exists */
        bool has_no_sysfs;       /* as in a plain chroot: what the kernel has is not known */
        bool is_numa;            /* false: no node directories; node 0 is the host */
        IdSet possible_nodes;    /* online or not */
        IdSet allowed_nodes;     /* hugeplan's cpuset; other nodes silently give nothing */
        const char *thp_enabled; /* "always", "madvise", "never"; NULL unreadable */
        /* Of shared memory and tmpfs: "always", "within_size", "advise", "never", "deny", "force". */
        const char *thp_shmem_enabled;
        const char *thp_defrag;        /* "always", "defer", "defer+madvise", "madvise", "never" */
        const char *thp_max_ptes_none; /* khugepaged may add so many small pages to a huge one */
        VEC(ThpSize) thp_sizes;
        KernelLimits limits;
        Reason no_hugetlb_limit; /* why no unit can be limited; REASON_NONE: it can, or that is not known */
        const char *kernel_command_line;
        const char *kernel_release;
        const char *boot_id; /* "": unreadable */
} Topology;

/* Returns the node of that number, or NULL if it is not online. */
const Node *topology_node(const Topology *topology, unsigned id);

/* Returns the index of the node in `nodes`, or n_nodes if it is not online. */
size_t topology_node_index(const Topology *topology, unsigned id);

/* Returns the index of a page size, or -1 if the host does not have it. */
int topology_page_size_index(const Topology *topology, uint64_t page_size_bytes);

/* Returns the pool of a page size on a node, or NULL if node, size or directory is missing. */
const Pool *topology_pool(const Topology *topology, unsigned node, uint64_t page_size_bytes);

/* Compares pools for qsort(3): largest pages first, then by node. */
static inline int topology_compare_pools(unsigned node, uint64_t page_size_bytes,
                                         unsigned other_node, uint64_t other_bytes) {
        if (page_size_bytes != other_bytes)
                return page_size_bytes > other_bytes ? -1 : 1;
        return node < other_node ? -1 : node > other_node;
}

/* Return paths of kernel files: FILE of a NUMA node; FILE of a page size in DIRECTORY, such as PATH_HUGEPAGES
 * ("DIRECTORY/hugepages-2048kB/FILE"); FILE of a pool, which is the host's if there is no NUMA. */
char *node_path(Arena *arena, unsigned node, const char *file);
char *page_size_path(Arena *arena, const char *directory, uint64_t page_size_bytes,
                     const char *file);
char *topology_pool_path(Arena *arena, const Topology *topology, unsigned node,
                         uint64_t page_size_bytes, const char *file);

/* Returns the bytes that a full lowest-level page table maps: one base page of 8-byte entries, each for a base page. A
 * PMD entry maps the same amount. Returns 0 if BASE_PAGE_BYTES is 0. */
static inline uint64_t page_table_reach_bytes(uint64_t base_page_bytes) {
        return base_page_bytes / 8 * base_page_bytes;
}

/* Returns the bytes of page tables, in whole tables, of a process that has touched BYTES in base pages; 0: not
 * known. */
static inline uint64_t page_tables_bytes(uint64_t bytes, uint64_t base_page_bytes) {
        uint64_t reach_bytes = page_table_reach_bytes(base_page_bytes);

        return reach_bytes > 0 ? mul_saturated(div_round_up(bytes, reach_bytes), base_page_bytes)
                               : 0;
}

/* Returns the page size to assume if none is named: the default one, or the size that would be the default if this
 * kernel has no huge pages; 0: not known. */
static inline uint64_t topology_usual_page_size(const Topology *topology) {
        return topology->default_page_size_bytes > 0
                       ? topology->default_page_size_bytes
                       : page_table_reach_bytes(topology->base_page_bytes);
}

/* Returns BYTES in base pages, the unit of kernel.shmall; 0, which no limit is below, if the page size is not known. */
static inline uint64_t topology_base_pages(const Topology *topology, uint64_t bytes) {
        return topology->base_page_bytes > 0 ? div_round_up(bytes, topology->base_page_bytes) : 0;
}

/* Persistent pages: what a write to nr_hugepages sets. The file's value includes surplus pages, so that writing it back
 * would turn surplus into persistent pages. */
static inline uint64_t pool_persistent_pages(const Pool *pool) {
        return sub_floored(pool->total_pages, pool->surplus_pages);
}

static inline uint64_t pool_used_pages(const Pool *pool) {
        return sub_floored(pool->total_pages, pool->free_pages);
}

/* Returns whether the running kernel is known to be older than MAJOR.MINOR. */
bool topology_kernel_is_older(const Topology *topology, uint64_t major, uint64_t minor);

/* Returns whether the running kernel is known to lack two features of Linux 5.16 (commits b5389086ad7b and 83c1fd763b32):
 * "hugepages=0:2,1:4" on the command line, which older kernels read as 0, and vm.hugetlb_shm_group as the only permission
 * for SHM_HUGETLB, which a memlock limit gave before. RHEL 9 and its derivatives backported them to 5.14.0-179.el9, and so
 * have them since 9.2 (their kernels' changelogs and sources). */
bool topology_kernel_is_before_5_16(const Topology *topology);

/* Returns whether the boot leads to a rescue or emergency shell: kernel-command-line(7). */
bool kernel_command_line_is_rescue(const char *line);

/* Return the online nodes, and those of them that have memory. */
IdSet topology_all_nodes(const Topology *topology);
IdSet topology_memory_nodes(const Topology *topology);

/* Returns the memory of all nodes together; 0: not known. */
uint64_t topology_memory_bytes(const Topology *topology);

/* "node 1", "nodes 0-2": for messages. */
char *topology_format_nodes(Arena *arena, const IdSet *nodes);

/* "2M, 1G": for messages; smallest first. */
char *topology_page_size_names(Arena *arena, const Topology *topology);

/* Returns the free pages of the page size with index SIZE, by node index. */
uint64_t *topology_free_pages(Arena *arena, const Topology *topology, size_t size);
