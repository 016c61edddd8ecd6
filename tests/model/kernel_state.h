/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the model holds, for its own files. The kernel's names stand beside ours. Everything lives in
 * one arena until kernel_free(). Counts are unsigned, as the kernel's are: some of its mistakes come
 * from that. */

#include "base/vec.h"
#include "model/kernel_model.h"

typedef struct Charges Charges; /* struct hugetlb_cgroup: a group that has the controller */

/* struct hstate. */
typedef struct Size {
        uint64_t bytes;
        unsigned index;
        bool is_gigantic;            /* hstate_is_gigantic(): beyond the buddy allocator's blocks */
        struct Size *demote_to;      /* demote_order; NULL: the smallest */
        uint64_t n, n_free, surplus; /* nr_huge_pages, free_huge_pages, surplus_huge_pages */
        uint64_t reserved;           /* resv_huge_pages */
        uint64_t overcommit;         /* nr_overcommit_huge_pages */
        uint64_t max;                /* max_huge_pages */
        uint64_t n_on[KERNEL_NODES_MAX], free_on[KERNEL_NODES_MAX], surplus_on[KERNEL_NODES_MAX];
        unsigned next_to_alloc, next_to_free; /* nodes; next_nid_to_alloc, next_nid_to_free */
        bool is_uncovered; /* the kernel's own mistake left fewer free pages than are reserved */
        int64_t n_astray;  /* reserved by nobody, or less than somebody has: by its own mistakes */
} Size;

typedef struct MemoryNode {
        bool exists, has_memory, has_cpus;
        uint64_t total, free, cache, scattered, pinned, keep; /* bytes */
        uint64_t others;        /* bytes: all that is neither free, nor cache, nor in a pool */
        uint64_t gigantic_left; /* pages that can be had at run time */
        unsigned distance[KERNEL_NODES_MAX];
        unsigned order[KERNEL_NODES_MAX], n_order; /* its zonelist: nodes, the nearest first */
} MemoryNode;

/* struct hugepage_subpool: what a mount with size= or min_size= has to itself. Signed, as there: the use
 * may be miscounted. */
typedef struct Subpool {
        int64_t max, used; /* max_hpages, used_hpages; max: -1 for none, and then the use stays 0 */
        int64_t min, reserved; /* min_hpages, rsv_hpages; min: -1 for none */
} Subpool;

/* Where the last copy of the kernel has it: kernel_copy(). */
typedef struct Copied {
        void *to;
        uint64_t in; /* the number of that copy */
} Copied;

/* A huge page in use. */
typedef struct Page {
        Size *size;
        unsigned node;
        unsigned n_mappings; /* page tables that refer to it */
        Charges *charged;    /* for its use; NULL: nobody */
        Charges *charged_reservation;
        Subpool *subpool;
        bool is_owed;    /* HPageRestoreReserve: its reservation comes back when it is freed */
        unsigned n_seen; /* for kernel_check_invariants() */
        Copied copied;
} Page;

/* An entry of a resv_map. */
typedef struct Promise {
        bool is_there; /* shared: reserved, now or since used up; private: used up */
        Charges *charged;
} Promise;

/* An inode of hugetlbfs: of an anonymous mapping, a System V segment, or a file of a mount. */
struct KernelSegment {
        Kernel *kernel;
        Size *size;
        uint64_t n;
        Page **pages; /* the page cache */
        Promise *promises;
        uint64_t n_allocated; /* elements of both */
        KernelMount *mount;
        const char *name; /* of the file, or NULL */
        bool is_sysv;
        uint64_t id;
        bool is_linked; /* its name, or id, is still there */
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
        bool is_owner; /* HPAGE_RESV_OWNER: the process that has the reservation of a private mapping */
        bool is_unmapped; /* HPAGE_RESV_UNMAPPED: a page of it was taken away for its parent */
        bool has_policy;
        KernelPolicy policy;
        Promise *used;    /* of the owner of a private mapping; NULL: no reservation */
        Charges *charged; /* for that reservation */
        Page **pages;     /* the page table */
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
                        reserved_max;               /* pages, those of groups below included */
                uint64_t used_on[KERNEL_NODES_MAX]; /* its own */
                uint64_t n_refused, n_refused_here;
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
        unsigned release_major, release_minor, release_patch;
        const char *release;
        /* Where kernels differ. */
        bool adds_surplus;         /* before 6.7: see pool_count_on_node() */
        bool returns_early;        /* since 6.9, mended later: see zap() */
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
        uint64_t interrupt_after; /* UINT64_MAX: no signal is under way */
        Group *root;
        VEC(Group *) groups;
        VEC(Charges *) charges; /* all that ever were */
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

/* NULL where the host has no such size; 0 stands for the default one. */
Size *kernel_size(const Kernel *kernel, uint64_t page_bytes);

/* The nodes that a writer or process may allocate on: its cpuset, without those that have no memory. */
uint64_t process_mems(const KernelProcess *process);

/* ---- model_memory.c: what nodes have ---- */

/* A huge page's worth of memory of a node; false where it has none in one piece. */
bool memory_take(Kernel *kernel, unsigned node, const Size *size);
void memory_give(Kernel *kernel, unsigned node, const Size *size);
void memory_build_orders(Kernel *kernel);

/* ---- model_pool.c ---- */

/* A page in NODES and MEMS, the nearest to NEAR first; false where none is free. */
bool pool_dequeue(Size *size, const Kernel *kernel, unsigned near, uint64_t nodes, uint64_t mems,
                  unsigned *ret_node);
/* A surplus page beyond the pool, likewise. */
bool pool_alloc_surplus(Kernel *kernel, Size *size, unsigned near, uint64_t nodes, uint64_t mems,
                        unsigned *ret_node);
/* Reserves N pages for the process, or gives N reservations back. */
int pool_reserve(Kernel *kernel, Size *size, const KernelProcess *process, uint64_t n);
void pool_unreserve(Kernel *kernel, Size *size, uint64_t n);
void pool_free_page(Kernel *kernel, Page *page);

/* A subpool may be NULL. -ENOMEM, or how many the host has to reserve beside. */
int subpool_get(Subpool *subpool, uint64_t n, uint64_t *ret_host);
/* How many reservations of the host end with it. */
uint64_t subpool_put(Subpool *subpool, uint64_t n);
/* Of N that were got, HOST of them beside the subpool, nothing came: at mmap(2), and at a fault. */
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
/* "2MB". */
char *group_size_name(Arena *arena, const Size *size);

/* ---- model_fault.c ---- */

KernelSegment *segment_new(Kernel *kernel, Size *size, uint64_t n);
void segment_grow(KernelSegment *segment, uint64_t n);
void segment_drop(KernelSegment *segment); /* when nothing refers to it any more */
int segment_reserve(KernelSegment *segment, const KernelProcess *process, uint64_t n);
void mappings_drop_all(KernelProcess *process);
