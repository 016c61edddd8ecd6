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
 *     kernel_map(database, &(KernelMap){.n_pages = 80}, &memory);        // 0: reserved
 *     kernel_set_pool(kernel, NULL, 1, 2 * MIB, 20);                     // and taken away
 *     if (!kernel_touch_all(memory))
 *             puts(kernel_death(database)->text);                       // SIGBUS: which page, where
 *
 * Handles stay valid until kernel_free(), even if their object is gone. Functions that a real kernel may refuse
 * return 0 or a negative errno. Nothing prints. A WRITER is the process whose cpuset and policy apply to a write;
 * NULL is a writer that may use all nodes.
 *
 * The rules are in model_pool.c, model_fault.c and model_group.c, each with the name of the kernel's function:
 * Linux 6.1.176 (`6.1`), 6.12.117 (`6.12`) and 7.2.12, mm/hugetlb.c, mm/hugetlb_cgroup.c, mm/mempolicy.c.
 * `release` selects the version. kernel_script.c compares the model with a real kernel.
 *
 * Not modelled: fork(2) (from 6.9 to its repair in 6.12.117 and 7.2, the count of reservations is too low if the owner of
 * private pages ends before its child), shared page tables (segments of 1G and more), punching holes, MADV_DONTNEED,
 * migration, poisoned pages, the memory controller's limits, cpusets and policies that change under mapped memory,
 * kernels without NUMA, numa_stat of a group whose children were removed. */

#include "base/size.h"

typedef struct Kernel Kernel;
typedef struct KernelProcess KernelProcess;
typedef struct KernelMapping KernelMapping;
/* A System V segment or a file in a mount: both outlive processes. */
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

/* DESCRIPTION has one fact per line:
 *
 *   release 6.1.176          selects the rules; default: 6.12.0
 *   sizes 1G 2M              page sizes, largest first; the last one is the default
 *   node 0 total=16G free=15G cache=1G scattered=2G pinned=1G keep=64M 1G=3 nocpu distance=10,20
 *
 * Of a node's free memory, `scattered` is in pieces that are too small for a huge page until it is compacted;
 * `pinned` of it remains so even then. `keep` never becomes huge pages. 1G=N: at most N gigantic pages can be
 * allocated. `cache` becomes free, scattered memory when it is reclaimed. Default distances are 10 to the node
 * itself and 20 to others. A node without `total` has no memory. A mistake ends the process. */
Kernel *kernel_new(const char *description);
Kernel *kernel_free(Kernel *kernel); /* takes NULL, returns NULL */
void kernel_freep(Kernel **kernel);

/* A copy of a kernel with all its objects, for simulations. The copy refers to texts of the original, which must
 * outlive it. Handles of the original are not valid in the copy: find processes by their pid. */
Kernel *kernel_copy(Kernel *kernel);

/* ---- processes ---- */

/* The living process with this pid, or NULL. */
KernelProcess *kernel_process(const Kernel *kernel, uint64_t pid);

typedef struct KernelSpawn {
        const char *name;  /* of the command */
        const char *group; /* control group, made with its parents if missing; NULL: the root */
        KernelPolicy
                policy; /* set_mempolicy(2) at the start; no policy if the cpuset has none of the nodes */
        unsigned cpu_node; /* the node whose CPUs it runs on */
} KernelSpawn;

KernelProcess *kernel_spawn(Kernel *kernel, const KernelSpawn *spawn);
void kernel_exit(KernelProcess *process);
int kernel_move(KernelProcess *process, const char *group);
int kernel_set_policy(KernelProcess *process, KernelPolicy policy); /* set_mempolicy(2) */
void kernel_run_on(KernelProcess *process, unsigned cpu_node);
bool kernel_is_alive(const KernelProcess *process);
uint64_t kernel_pid(const KernelProcess *process);

typedef struct KernelDeath {
        uint64_t page; /* of the mapping */
        const char *
                text; /* says whether the page was reserved, and which nodes could have served it */
} KernelDeath;

/* NULL unless the process was killed by SIGBUS. */
const KernelDeath *kernel_death(const KernelProcess *process);

/* The process behind /proc/self, which writes files. By default it exists for that only. */
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
int kernel_unmap(KernelMapping *mapping); /* -EINVAL if it is gone */
int kernel_set_mapping_policy(KernelMapping *mapping, KernelPolicy policy); /* mbind(2) */

/* Writes to one page, to all pages, or to one of the pages that this mapping has not touched yet (chosen by CHANCE).
 * Returns false if the process is dead. */
bool kernel_touch(KernelMapping *mapping, uint64_t page);
bool kernel_touch_all(KernelMapping *mapping);
bool kernel_touch_one_of(KernelMapping *mapping, uint64_t chance);

uint64_t kernel_mapping_pages(const KernelMapping *mapping);
uint64_t kernel_mapping_untouched(const KernelMapping *mapping);
/* The I-th mapping of a process, or NULL. */
KernelMapping *kernel_mapping_at(const KernelProcess *process, size_t i);
/* Pages of a process on a node according to its numa_maps; KERNEL_HOST: on all nodes. */
uint64_t kernel_process_pages(const KernelProcess *process, uint64_t page_bytes, int node);

/* shmget(2); IPC_RMID or unlink(2); mount(8) with min_size= and size= in pages (UINT64_MAX: not given); open(2) of a file in a
 * mount, which is created if missing. */
int kernel_shmget(KernelProcess *process, uint64_t page_bytes, uint64_t n_pages, bool is_noreserve,
                  KernelSegment **ret);
void kernel_remove_segment(KernelSegment *segment);
int kernel_mount(Kernel *kernel, const KernelProcess *writer, const char *path, uint64_t page_bytes,
                 uint64_t min_pages, uint64_t max_pages, KernelMount **ret);
int kernel_unmount(KernelMount *mount); /* -EBUSY while a file of it is mapped */
KernelSegment *kernel_open(KernelMount *mount, const char *name);

/* ---- writes by administrators ---- */

/* Write nr_hugepages of a node or of the host (KERNEL_HOST; for the default size this is also vm.nr_hugepages),
 * nr_hugepages_mempolicy, nr_overcommit_hugepages, demote. */
int kernel_set_pool(Kernel *kernel, const KernelProcess *writer, int node, uint64_t page_bytes,
                    uint64_t n_pages);
int kernel_set_pool_by_policy(Kernel *kernel, const KernelProcess *writer, uint64_t page_bytes,
                              uint64_t n_pages);
int kernel_set_overcommit(Kernel *kernel, uint64_t page_bytes, uint64_t n_pages);
int kernel_demote(Kernel *kernel, int node, uint64_t page_bytes, uint64_t n_pages);

int kernel_compact(Kernel *kernel, int node);
int kernel_reclaim(Kernel *kernel, int node, uint64_t bytes); /* -EAGAIN: less was reclaimed */
void kernel_drop_caches(Kernel *kernel);
/* Other programs take or free small pages. Returns how many bytes they got. */
uint64_t kernel_take_memory(Kernel *kernel, unsigned node, uint64_t bytes);
void kernel_give_memory(Kernel *kernel, unsigned node, uint64_t bytes);
/* All memory of a node is removed, with its free huge pages (-EBUSY: some are used or reserved), or is there again. A node
 * without CPUs goes, too. */
int kernel_remove_memory(Kernel *kernel, unsigned node);
void kernel_add_memory(Kernel *kernel, unsigned node);

/* Control groups, by their path below the mount ("/a/b"). Attributes have the kernel's names:
 * "cgroup.subtree_control", "cpuset.mems", "hugetlb.2MB.rsvd.max"... */
int kernel_group_make(Kernel *kernel, const char *path); /* and its parents */
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
uint64_t kernel_page_bytes(const Kernel *kernel, size_t i); /* largest first; 0: no such index */
/* The name of a size in the hugetlb controller's files: "2MB" (mem_fmt()). */
char *kernel_size_name(Arena *arena, uint64_t page_bytes);

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

/* Counts everything again from the pages, and checks after any operation: the nodes' sums are the host's; each page
 * in use and each reservation has an owner; free pages cover the reservations; groups are charged for their pages.
 * Returns NULL, or the violations in ARENA. Miscounts of the kernel itself (kernel_has_miscounted()) are none. */
const char *kernel_check_invariants(const Kernel *kernel, Arena *arena);

/* Whether one of the kernel's defects (model_pool.c) has made its count of reservations wrong, or has left fewer free
 * pages than are reserved. */
bool kernel_has_miscounted(const Kernel *kernel);
