/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A model of Linux's huge pages: deterministic, in memory, the same rules in the same order.
 *
 *     Kernel *kernel = kernel_new("release 6.12.0\n"
 *                                 "sizes 1G 2M\n"
 *                                 "node 0 total=4G free=3G\n"
 *                                 "node 1 total=2G free=1G cache=512M\n");
 *     kernel_set_pool(kernel, NULL, 1, 2 * MIB, 100);
 *     KernelProcess *database = kernel_spawn(
 *             kernel, &(KernelSpawn){.name = "db", .group = "/db.service", .policy = kernel_bind(1)});
 *     KernelMapping *memory;
 *     kernel_map(database, &(KernelMap){.n_pages = 80}, &memory);        // 0: promised
 *     kernel_set_pool(kernel, NULL, 1, 2 * MIB, 20);                     // and taken away
 *     if (!kernel_touch_all(memory))
 *             puts(kernel_death(database)->text);                       // SIGBUS: which page, where
 *
 * Handles stay valid until kernel_free(), whatever became of what they stand for. Functions that a
 * real kernel may refuse return 0 or a negative errno. Nothing prints. Wherever a WRITER is asked for,
 * it is the process whose cpuset and policy count; NULL is one that may use all nodes.
 *
 * The rules stand in model_pool.c, model_fault.c and model_group.c, each with the name of the kernel's
 * function: Linux 6.1.176 (`6.1`), 6.12.117 (`6.12`) and 7.2.12, mm/hugetlb.c, mm/hugetlb_cgroup.c,
 * mm/mempolicy.c. `release` chooses between them. kernel_script.c holds the model against a kernel.
 *
 * Left out, and never modelled by half: shared page tables (segments of 1G and more), punching holes,
 * MADV_DONTNEED, migration, poisoned pages, the memory controller's limits, cpusets and policies that
 * change under mapped memory, kernels without NUMA, numa_stat of a group whose children were removed. */

#include "base/size.h"

typedef struct Kernel Kernel;
typedef struct KernelProcess KernelProcess;
typedef struct KernelMapping KernelMapping;
/* Of System V, or a file of a mount: it outlives processes. */
typedef struct KernelSegment KernelSegment;
typedef struct KernelMount KernelMount;

enum { KERNEL_NODES_MAX = 16, KERNEL_SIZES_MAX = 4, KERNEL_HOST = -1 };

typedef enum KernelPolicyMode {
        KERNEL_POLICY_LOCAL, /* none: the node of the CPU first, then by distance */
        KERNEL_POLICY_BIND,
        KERNEL_POLICY_INTERLEAVE,
        KERNEL_POLICY_PREFERRED,
} KernelPolicyMode;

typedef struct KernelPolicy {
        KernelPolicyMode mode;
        uint64_t nodes; /* a bit for each */
} KernelPolicy;

static inline KernelPolicy kernel_bind(unsigned node) {
        return (KernelPolicy){KERNEL_POLICY_BIND, UINT64_C(1) << node};
}

/* One fact to a line:
 *
 *   release 6.1.176          what the rules are; default: 6.12.0
 *   sizes 1G 2M              page sizes, from the largest down; the last one is the default
 *   node 0 total=16G free=15G cache=1G scattered=2G pinned=1G keep=64M 1G=3 nocpu distance=10,20
 *
 * Of a node's free memory `scattered` is in pieces too small for a huge page until it is compacted,
 * `pinned` of them even then; `keep` is never given; 1G=N: so many gigantic pages can be had at most;
 * `cache` becomes free, scattered memory when it is reclaimed. Distances are 10 to itself and 20 to
 * others by default; a node without `total` has no memory. A mistake ends the process. */
Kernel *kernel_new(const char *description);
Kernel *kernel_free(Kernel *kernel); /* takes NULL, returns NULL */
void kernel_freep(Kernel **kernel);

/* What would be if: a kernel of its own, with all that lives in this one as it is now, in which one may do
 * what one likes. It refers to texts of this one, which must outlive it. Handles are not those of this
 * one: processes are found by their number. */
Kernel *kernel_copy(Kernel *kernel);

/* ---- processes ---- */

/* One that lives; NULL: there is none of that number. */
KernelProcess *kernel_process(const Kernel *kernel, uint64_t pid);

typedef struct KernelSpawn {
        const char *name;    /* of the command */
        const char *group;   /* control group, made with those above it; NULL: the root */
        KernelPolicy policy; /* set_mempolicy(2) at first; none where its cpuset has no such node */
        unsigned cpu_node;   /* where it runs */
} KernelSpawn;

KernelProcess *kernel_spawn(Kernel *kernel, const KernelSpawn *spawn);
/* A child with copies of all mappings; NULL for a dead parent. */
KernelProcess *kernel_fork(KernelProcess *parent, const char *name);
void kernel_exit(KernelProcess *process);
int kernel_move(KernelProcess *process, const char *group);
int kernel_set_policy(KernelProcess *process, KernelPolicy policy); /* set_mempolicy(2) */
void kernel_run_on(KernelProcess *process, unsigned cpu_node);
bool kernel_is_alive(const KernelProcess *process);
uint64_t kernel_pid(const KernelProcess *process);

/* Of a process that a SIGBUS killed; else NULL. */
typedef struct KernelDeath {
        uint64_t page; /* of the mapping */
        const char *
                text; /* for people: whether it had been reserved, and which nodes might have served it */
} KernelDeath;

const KernelDeath *kernel_death(const KernelProcess *process);

/* Whom /proc/self means, and who writes when files are written: a process of its own by default. */
KernelProcess *kernel_self(const Kernel *kernel);

/* ---- mappings ---- */

typedef struct KernelMap {
        uint64_t page_bytes; /* 0: the default size */
        uint64_t n_pages;    /* 0: all of the segment */
        bool is_private;
        bool is_noreserve;
        KernelSegment *segment; /* NULL: anonymous */
} KernelMap;

int kernel_map(KernelProcess *process, const KernelMap *map, KernelMapping **ret);
int kernel_unmap(KernelMapping *mapping); /* -EINVAL where it is gone */
int kernel_set_mapping_policy(KernelMapping *mapping, KernelPolicy policy); /* mbind(2) */

/* Writes to a page, to all, to one of those that this mapping has not touched yet (CHANCE picks it).
 * False: that process is dead, now or since before. */
bool kernel_touch(KernelMapping *mapping, uint64_t page);
bool kernel_touch_all(KernelMapping *mapping);
bool kernel_touch_one_of(KernelMapping *mapping, uint64_t chance);

uint64_t kernel_mapping_pages(const KernelMapping *mapping);
uint64_t kernel_mapping_untouched(const KernelMapping *mapping);
bool kernel_is_mapped(const KernelMapping *mapping);
/* The I-th mapping that a process has; a child's are in the order of its parent's. NULL: no more. */
KernelMapping *kernel_mapping_at(const KernelProcess *process, size_t i);
/* Pages of a process on a node, as its numa_maps tells; KERNEL_HOST: on all. */
uint64_t kernel_process_pages(const KernelProcess *process, uint64_t page_bytes, int node);

/* shmget(2), IPC_RMID; mount(8) with min_size= and size= in pages (UINT64_MAX: not given); a file of a
 * mount, made where there is none; unlink(2). */
int kernel_shmget(KernelProcess *process, uint64_t page_bytes, uint64_t n_pages, bool is_noreserve,
                  KernelSegment **ret);
void kernel_remove_segment(KernelSegment *segment);
int kernel_mount(Kernel *kernel, const KernelProcess *writer, const char *path, uint64_t page_bytes,
                 uint64_t min_pages, uint64_t max_pages, KernelMount **ret);
int kernel_unmount(KernelMount *mount); /* -EBUSY while a file of it is mapped */
KernelSegment *kernel_open(KernelMount *mount, const char *name);

/* ---- what administrators write ---- */

/* nr_hugepages of a node or of the host (KERNEL_HOST; for the default size vm.nr_hugepages is the
 * same), nr_hugepages_mempolicy, nr_overcommit_hugepages, demote. */
int kernel_set_pool(Kernel *kernel, const KernelProcess *writer, int node, uint64_t page_bytes,
                    uint64_t n_pages);
int kernel_set_pool_by_policy(Kernel *kernel, const KernelProcess *writer, uint64_t page_bytes,
                              uint64_t n_pages);
int kernel_set_overcommit(Kernel *kernel, uint64_t page_bytes, uint64_t n_pages);
int kernel_demote(Kernel *kernel, int node, uint64_t page_bytes, uint64_t n_pages);

int kernel_compact(Kernel *kernel, int node);
int kernel_reclaim(Kernel *kernel, int node, uint64_t bytes); /* -EAGAIN: less than that */
void kernel_drop_caches(Kernel *kernel);
/* Small pages that others take, or give back: how many bytes it really were. */
uint64_t kernel_take_memory(Kernel *kernel, unsigned node, uint64_t bytes);
void kernel_give_memory(Kernel *kernel, unsigned node, uint64_t bytes);
/* The next write that grows a pool ends after N pages, as by a signal, and succeeds. */
void kernel_interrupt_growth(Kernel *kernel, uint64_t n_pages);

/* Control groups, by their path below the mount ("/a/b"). Attributes as the kernel names them:
 * "cgroup.subtree_control", "cpuset.mems", "hugetlb.2MB.rsvd.max"... */
int kernel_group_make(Kernel *kernel, const char *path); /* with those above it */
int kernel_group_remove(Kernel *kernel, const char *path);
int kernel_group_write(Kernel *kernel, const char *path, const char *attribute, const char *text);

/* ---- questions ---- */

typedef struct KernelPool {
        uint64_t total_pages; /* surplus included */
        uint64_t free_pages;
        uint64_t surplus_pages;
        /* Of the host only: */
        uint64_t reserved_pages;
        uint64_t overcommit_pages;
        uint64_t max_pages; /* what vm.nr_hugepages reads */
} KernelPool;

KernelPool kernel_pool(const Kernel *kernel, int node, uint64_t page_bytes);
uint64_t kernel_free_bytes(const Kernel *kernel, unsigned node);
uint64_t kernel_memory_nodes(const Kernel *kernel); /* a bit for each */
uint64_t kernel_cpu_nodes(const Kernel *kernel);
uint64_t kernel_page_bytes(const Kernel *kernel, size_t i); /* from the largest down; 0: no more */

typedef struct KernelCharge {
        bool is_counted; /* the group has the controller */
        uint64_t current_pages;
        uint64_t reserved_pages;
        uint64_t max_pages; /* UINT64_MAX: none */
        uint64_t reserved_max_pages;
        uint64_t node_pages[KERNEL_NODES_MAX];
        uint64_t n_refused; /* events: max */
} KernelCharge;

/* -ENOENT where there is no such group. */
int kernel_group_charge(const Kernel *kernel, const char *path, uint64_t page_bytes,
                        KernelCharge *ret);

/* What must hold after every operation, counted anew from the pages themselves: the nodes' sums are
 * the host's, pages in use are somebody's, reservations are somebody's and covered by free pages, groups
 * are charged for what they have. NULL, or what does not hold, in ARENA. Reservations that the kernel
 * itself has uncovered (kernel_broke_promise()) are no fault of the model. */
const char *kernel_check_invariants(const Kernel *kernel, Arena *arena);

/* Whether a kernel's own mistake has left fewer free pages than are reserved: see model_pool.c. */
bool kernel_broke_promise(const Kernel *kernel);
