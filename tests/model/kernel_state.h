/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The model's state, for its own files, with the kernel's names in comments. Everything lives in one arena until
 * kernel_free(). Counts are unsigned like the kernel's, because some of its defects result from that. */

#include "base/vec.h"
#include "model/kernel_model.h"

typedef struct Charges Charges; /* struct hugetlb_cgroup: of a group with the controller */

/* struct hstate. */
typedef struct Size {
        uint64_t bytes;
        unsigned index;
        bool is_gigantic;       /* hstate_is_gigantic(): larger than the buddy allocator's blocks */
        struct Size *demote_to; /* demote_order; NULL: the smallest */
        uint64_t n, n_free, surplus; /* nr_huge_pages, free_huge_pages, surplus_huge_pages */
        uint64_t reserved;           /* resv_huge_pages */
        uint64_t overcommit;         /* nr_overcommit_huge_pages */
        uint64_t max;                /* max_huge_pages */
        uint64_t n_on[KERNEL_NODES_MAX], free_on[KERNEL_NODES_MAX], surplus_on[KERNEL_NODES_MAX];
        unsigned next_to_alloc, next_to_free; /* nodes; next_nid_to_alloc, next_nid_to_free */
        bool is_uncovered; /* a defect of the kernel has left fewer free pages than are reserved */
        int64_t n_astray;  /* by how much defects of the kernel have made `reserved` too large */
} Size;

typedef struct MemoryNode {
        bool exists, has_memory, has_cpus;
        uint64_t total, free, cache, scattered, pinned, keep; /* bytes */
        uint64_t others;        /* bytes that are neither free, nor cache, nor in a pool */
        uint64_t gigantic_left; /* gigantic pages that can still be allocated */
        unsigned distance[KERNEL_NODES_MAX];
        unsigned order[KERNEL_NODES_MAX], n_order; /* its zonelist: nodes, the nearest first */
} MemoryNode;

/* struct hugepage_subpool: the limits of a mount with size= or min_size=. Signed like the kernel's, because the use
 * may be miscounted. */
typedef struct Subpool {
        int64_t max, used;     /* max_hpages, used_hpages; max: -1 for none, then `used` stays 0 */
        int64_t min, reserved; /* min_hpages, rsv_hpages; min: -1 for none */
} Subpool;

/* Where the latest copy of the kernel has an object: kernel_copy(). */
typedef struct Copied {
        void *to;
        uint64_t in; /* the number of the copy */
} Copied;

/* A huge page in use. */
typedef struct Page {
        Size *size;
        unsigned node;
        Charges *charged; /* for its use; NULL: none */
        Charges *charged_reservation;
        Subpool *subpool;
        Copied copied;
} Page;

/* An entry of a resv_map. */
typedef struct Reservation {
        bool is_there; /* shared: reserved, and perhaps used since; private: used */
        Charges *charged;
} Reservation;

/* An inode of hugetlbfs: of an anonymous mapping, a System V segment, or a file of a mount. */
struct KernelSegment {
        Kernel *kernel;
        Size *size;
        uint64_t n;
        Page **pages; /* the page cache */
        Reservation *reservations;
        uint64_t n_allocated; /* elements of both */
        KernelMount *mount;
        const char *name; /* of the file, or NULL */
        bool is_sysv;
        uint64_t id;
        bool is_linked; /* its name or id still exists */
        unsigned n_mappings;
        bool is_gone;
        Copied copied;
};

struct KernelMount {
        Kernel *kernel;
        const char *path;
        Size *size;
        Subpool *subpool;
        uint64_t min, max; /* pages as given; UINT64_MAX: not given */
        unsigned id;
        bool is_mounted;
        Copied copied;
};

/* struct vm_area_struct. */
struct KernelMapping {
        KernelProcess *process;
        KernelSegment *segment;
        Size *size;
        uint64_t n;
        bool is_private, is_noreserve;
        bool is_owner; /* HPAGE_RESV_OWNER: of the reservation of a private mapping */
        bool has_policy;
        KernelPolicy policy;
        Reservation *used; /* of the owner of a private mapping; NULL: no reservation */
        Charges *charged;  /* for that reservation */
        Page **pages;      /* the page table */
        bool is_gone;
};

typedef struct Group {
        const char *path; /* "" for the root */
        struct Group *parent;
        bool gives_hugetlb, gives_cpuset; /* cgroup.subtree_control */
        Charges *charges;                 /* NULL: the controller is off here */
        bool has_mems;
        uint64_t mems; /* cpuset.mems */
        bool is_gone;
        Copied copied;
} Group;

struct Charges {
        Charges *parent;
        Group *group;
        bool is_online;
        struct {
                uint64_t used, reserved, max,
                        reserved_max;               /* pages, including those of groups below */
                uint64_t used_on[KERNEL_NODES_MAX]; /* excluding those */
                uint64_t n_refused, n_refused_here;
                uint64_t used_seen, reserved_seen; /* for kernel_check_invariants() */
        } of[KERNEL_SIZES_MAX];
        Copied copied;
};

struct KernelProcess {
        Kernel *kernel;
        const char *name;
        uint64_t pid;
        Group *group;
        unsigned cpu_node;
        bool has_policy;
        KernelPolicy policy;
        VEC(KernelMapping *) mappings;
        bool is_alive;
        const KernelDeath *death;
};

struct Kernel {
        Arena *arena;
        unsigned release_major, release_minor;
        const char *release;
        /* Differences between kernels. */
        bool adds_surplus;         /* before 6.7: see pool_count_on_node() */
        bool gathers_on_own_nodes; /* since 6.12: see gather_page() */
        bool demotes_in_bulk;      /* since 6.12: see demote_some() */
        bool spares_surplus;       /* before 6.15: see idle_pages() */
        bool leaks_use;            /* since 6.15: see subpool_undo() */
        bool gathers_nearest;      /* since 6.16: see gather_page() */
        bool overcommits_gigantic; /* since 6.19 */
        MemoryNode nodes[KERNEL_NODES_MAX];
        uint64_t memory_nodes; /* N_MEMORY */
        Size sizes[KERNEL_SIZES_MAX];
        unsigned n_sizes;
        Group *root;
        VEC(Group *) groups;
        VEC(Charges *) charges; /* including those of removed groups */
        VEC(KernelProcess *) processes;
        VEC(KernelSegment *) segments;
        VEC(KernelMount *) mounts;
        KernelProcess *self;
        uint64_t next_pid, next_id;
        uint64_t n_copies;
};

static inline uint64_t node_bit(unsigned node) {
        return UINT64_C(1) << node;
}

#define NODES_FOREACH(node, mask)                                \
        for (unsigned node = 0; node < KERNEL_NODES_MAX; node++) \
                if ((mask) &node_bit(node))

/* NULL if the host does not have the size; 0 is the default size. */
Size *kernel_size(const Kernel *kernel, uint64_t page_bytes);

/* The nodes that a process may allocate on: those of its cpuset that have memory. */
uint64_t process_mems(const KernelProcess *process);

/* ---- model_memory.c: the memory of nodes ---- */

/* Takes memory for a huge page from a node. Returns false if it has none in one piece. */
bool memory_take(Kernel *kernel, unsigned node, const Size *size);
void memory_give(Kernel *kernel, unsigned node, const Size *size);
void memory_build_orders(Kernel *kernel);

/* ---- model_pool.c ---- */

/* Takes a free page of NODES and MEMS, the nearest to NEAR first. Returns false if there is none. */
bool pool_dequeue(Size *size, const Kernel *kernel, unsigned near, uint64_t nodes, uint64_t mems,
                  unsigned *ret_node);
/* Makes a surplus page in the same way. */
bool pool_alloc_surplus(Kernel *kernel, Size *size, unsigned near, uint64_t nodes, uint64_t mems,
                        unsigned *ret_node);
int pool_reserve(Kernel *kernel, Size *size, const KernelProcess *process, uint64_t n);
void pool_unreserve(Kernel *kernel, Size *size, uint64_t n);
void pool_free_page(Kernel *kernel, Page *page);

/* A subpool may be NULL. *RET_HOST: how many of N pages the host has to reserve. */
int subpool_get(Subpool *subpool, uint64_t n, uint64_t *ret_host);
/* Returns how many reservations of the host end with N pages. */
uint64_t subpool_put(Subpool *subpool, uint64_t n);
/* Undoes subpool_get() after a failed mmap(2) or fault. */
void subpool_undo(Kernel *kernel, Size *size, Subpool *subpool, uint64_t n, uint64_t host,
                  bool is_fault);
bool subpool_is_free(const Subpool *subpool);

/* ---- model_group.c ---- */

Group *group_find(const Kernel *kernel, const char *path);
Charges *group_charges(const Group *group);
uint64_t group_mems(const Kernel *kernel, const Group *group);
int charge(Charges *charges, const Size *size, uint64_t n, bool is_reservation);
void uncharge(Charges *charges, const Size *size, uint64_t n, bool is_reservation);
bool group_has_processes(const Kernel *kernel, const Group *group);
char *group_read(const Kernel *kernel, Arena *arena, const Group *group, const char *attribute);

/* ---- model_fault.c ---- */

KernelSegment *segment_new(Kernel *kernel, Size *size, uint64_t n);
void segment_grow(KernelSegment *segment, uint64_t n);
void segment_drop(KernelSegment *segment); /* if nothing refers to it any more */
int segment_reserve(KernelSegment *segment, const KernelProcess *process, uint64_t n);
void mappings_drop_all(KernelProcess *process);
