/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Mappings, their reservations, and faults. After mm/hugetlb.c, fs/hugetlbfs/inode.c and mm/mempolicy.c. Functions have
 * their names in 6.1, and those in 6.12 if they differ. Every touch is a write. */
#include "model/kernel_state.h"

#include <string.h>

/* ---- segments ---- */

KernelSegment *segment_new(Kernel *kernel, Size *size, uint64_t n) {
        KernelSegment *segment = ARENA_NEW(kernel->arena, KernelSegment);

        segment->kernel = kernel;
        segment->size = size;
        segment->id = kernel->next_id++;
        segment_grow(segment, n);
        *vec_push(kernel->arena, &kernel->segments) = segment;
        return segment;
}

void segment_grow(KernelSegment *segment, uint64_t n) {
        Arena *arena = segment->kernel->arena;

        segment->n = MAX(segment->n, n);
        if (n <= segment->n_allocated)
                return;
        Page **pages = ARENA_ARRAY(arena, Page *, n);
        Reservation *reservations = ARENA_ARRAY(arena, Reservation, n);

        if (segment->n_allocated > 0) {
                memcpy(pages, segment->pages, segment->n_allocated * sizeof(*pages));
                memcpy(reservations, segment->reservations,
                       segment->n_allocated * sizeof(*reservations));
        }
        segment->pages = pages;
        segment->reservations = reservations;
        segment->n_allocated = n;
}

static Subpool *segment_subpool(const KernelSegment *segment) {
        return segment->mount ? segment->mount->subpool : NULL;
}

/* remove_inode_hugepages(), hugetlb_unreserve_pages(): first the pages, then unused reservations. */
void segment_drop(KernelSegment *segment) {
        uint64_t n_reserved = 0, n_freed = 0;

        if (segment->is_gone || segment->is_linked || segment->n_mappings > 0)
                return;
        for (uint64_t i = 0; i < segment->n_allocated; i++) {
                Page *page = TAKE_PTR(segment->pages[i]);

                if (!page)
                        continue;
                pool_free_page(segment->kernel, page);
                n_freed++;
        }
        for (uint64_t i = 0; i < segment->n_allocated; i++) {
                n_reserved += segment->reservations[i].is_there;
                uncharge(segment->reservations[i].charged, segment->size, 1, true);
        }
        segment->is_gone = true;
        pool_unreserve(segment->kernel, segment->size,
                       subpool_put(segment_subpool(segment), n_reserved - n_freed));
}

/* ---- reserving: hugetlb_reserve_pages() ---- */

static int reserve(Kernel *kernel, Size *size, Subpool *subpool, const KernelProcess *process,
                   uint64_t n, Charges **ret_charged) {
        Charges *charges = group_charges(process->group);
        uint64_t host;
        int r = charge(charges, size, n, true);

        if (r < 0)
                return r;
        r = subpool_get(subpool, n, &host);
        if (r == 0) {
                r = pool_reserve(kernel, size, process, host);
                if (r < 0)
                        subpool_undo(kernel, size, subpool, n, host, false);
        }
        if (r < 0) {
                uncharge(charges, size, n, true);
                return -ENOMEM;
        }
        *ret_charged = charges;
        return 0;
}

/* Reserves those of the first N pages of a shared segment that are not reserved yet. */
int segment_reserve(KernelSegment *segment, const KernelProcess *process, uint64_t n) {
        Charges *charged;
        uint64_t missing = 0;

        segment_grow(segment, n);
        for (uint64_t i = 0; i < n; i++)
                missing += !segment->reservations[i].is_there;
        int r = reserve(segment->kernel, segment->size, segment_subpool(segment), process, missing,
                        &charged);

        for (uint64_t i = 0; r == 0 && i < n; i++)
                if (!segment->reservations[i].is_there)
                        segment->reservations[i] = (Reservation){true, charged};
        return r;
}

static int reserve_private(KernelMapping *mapping) {
        Kernel *kernel = mapping->process->kernel;
        int r = reserve(kernel, mapping->size, NULL, mapping->process, mapping->n,
                        &mapping->charged);

        if (r < 0)
                return r;
        mapping->used = ARENA_ARRAY(kernel->arena, Reservation, mapping->n);
        mapping->is_owner = true;
        return 0;
}

/* ---- mapping: hugetlbfs_file_mmap() ---- */

static KernelMapping *mapping_new(KernelProcess *process, KernelSegment *segment, uint64_t n) {
        Arena *arena = process->kernel->arena;
        KernelMapping *mapping = ARENA_NEW(arena, KernelMapping);

        mapping->process = process;
        mapping->segment = segment;
        mapping->size = segment->size;
        mapping->n = n;
        mapping->pages = ARENA_ARRAY(arena, Page *, n);
        segment->n_mappings++;
        *vec_push(arena, &process->mappings) = mapping;
        return mapping;
}

static KernelMapping *mapping_without(KernelMapping *mapping) {
        mapping->is_gone = true;
        mapping->segment->n_mappings--;
        segment_drop(mapping->segment);
        return NULL;
}

int kernel_map(KernelProcess *process, const KernelMap *map, KernelMapping **ret) {
        Kernel *kernel = process->kernel;
        KernelSegment *segment = map->segment;
        Size *size = segment ? segment->size : kernel_size(kernel, map->page_bytes);
        uint64_t n = map->n_pages > 0 || !segment ? map->n_pages : segment->n;
        int r = 0;

        if (!process->is_alive)
                return -ESRCH;
        if (!size || n == 0 ||
            (segment &&
             (segment->is_gone || !segment->is_linked || (segment->is_sysv && n != segment->n))))
                return -EINVAL;
        if (!segment)
                segment = segment_new(kernel, size, n);
        KernelMapping *mapping = mapping_new(process, segment, n);

        mapping->is_private = map->is_private;
        mapping->is_noreserve = map->is_noreserve;
        if (segment->mount)
                segment_grow(segment, n);
        /* "for SHM_HUGETLB, the pages are reserved in the shmget() call" */
        if (!map->is_noreserve && !segment->is_sysv)
                r = map->is_private ? reserve_private(mapping)
                                    : segment_reserve(segment, process, n);
        if (r < 0)
                mapping = mapping_without(mapping);
        else
                *ret = mapping;
        return r;
}

/* __unmap_hugepage_range(). */
static void drop_pages(KernelMapping *mapping) {
        for (uint64_t i = 0; i < mapping->n; i++) {
                Page *page = TAKE_PTR(mapping->pages[i]);

                if (page && mapping->is_private)
                        pool_free_page(mapping->process->kernel, page);
        }
}

/* hugetlb_vm_op_close(): ends the unused reservations of a private mapping's owner. */
static void close_private(KernelMapping *mapping) {
        uint64_t unused = 0;

        if (!mapping->is_owner)
                return;
        for (uint64_t i = 0; i < mapping->n; i++)
                unused += !mapping->used[i].is_there;
        uncharge(mapping->charged, mapping->size, mapping->n, true);
        pool_unreserve(mapping->process->kernel, mapping->size, unused);
}

int kernel_unmap(KernelMapping *mapping) {
        if (mapping->is_gone)
                return -EINVAL;
        drop_pages(mapping);
        close_private(mapping);
        mapping_without(mapping);
        return 0;
}

/* exit_mmap(): all page tables, then the mappings, lowest first; then task_work_run() closes the files, last one first.
 * The order matters for surplus pages on several nodes. */
void mappings_drop_all(KernelProcess *process) {
        VEC_FOREACH(mapping, &process->mappings)
                if (!(*mapping)->is_gone)
                        drop_pages(*mapping);
        VEC_FOREACH(mapping, &process->mappings)
                if (!(*mapping)->is_gone)
                        close_private(*mapping);
        for (size_t i = process->mappings.n; i > 0; i--)
                if (!process->mappings.items[i - 1]->is_gone)
                        mapping_without(process->mappings.items[i - 1]);
}

/* ---- policies ---- */

typedef struct Place {
        unsigned near;  /* the node whose zonelist is used */
        uint64_t nodes; /* restricts the zonelist */
} Place;

/* offset_il_node(); interleave_nid(). */
static unsigned interleave_node(uint64_t nodes, uint64_t page) {
        uint64_t turn = page % (uint64_t) __builtin_popcountll(nodes);

        for (; turn > 0; turn--)
                nodes &= nodes - 1;
        return (unsigned) __builtin_ctzll(nodes);
}

/* huge_node(), with policy_node() or policy_nodemask(): the mapping's policy, else the task's. Only `bind` excludes
 * other nodes, unless the cpuset has none of the policy's nodes. */
static Place place_of(const KernelMapping *mapping, uint64_t page) {
        const KernelProcess *process = mapping->process;
        KernelPolicy policy = mapping->has_policy   ? mapping->policy
                              : process->has_policy ? process->policy
                                                    : (KernelPolicy){};

        switch (policy.mode) {
        case KERNEL_POLICY_BIND:
                return (Place){process->cpu_node,
                               policy.nodes & process_mems(process) ? policy.nodes : UINT64_MAX};
        case KERNEL_POLICY_INTERLEAVE:
                return (Place){interleave_node(policy.nodes, page), UINT64_MAX};
        case KERNEL_POLICY_PREFERRED:
                return (Place){(unsigned) __builtin_ctzll(policy.nodes), UINT64_MAX};
        case KERNEL_POLICY_LOCAL:
                break;
        }
        return (Place){process->cpu_node, UINT64_MAX};
}

/* ---- allocating ---- */

/* vma_needs_reservation(): whether the page has no unused reservation. */
static bool needs_reservation(const KernelMapping *mapping, uint64_t page) {
        if (!mapping->is_private)
                return !mapping->segment->reservations[page].is_there;
        return !mapping->is_owner || mapping->used[page].is_there;
}

/* vma_has_reserves(). */
static bool has_reservation(const KernelMapping *mapping, bool needs) {
        if (mapping->is_noreserve && mapping->is_private)
                return false;
        return !needs && (!mapping->is_private || mapping->is_owner);
}

/* vma_commit_reservation(). */
static void commit_reservation(KernelMapping *mapping, uint64_t page) {
        if (!mapping->is_private)
                mapping->segment->reservations[page].is_there = true;
        else if (mapping->is_owner)
                mapping->used[page].is_there = true;
}

/* dequeue_huge_page_vma(): a free page, if this page is reserved or the host has unreserved pages; then
 * alloc_buddy_huge_page_with_mpol(): a surplus page. */
static bool find_page(const KernelMapping *mapping, uint64_t page, bool is_from_reserve,
                      unsigned *ret_node) {
        Kernel *kernel = mapping->process->kernel;
        Size *size = mapping->size;
        uint64_t mems = process_mems(mapping->process);
        Place place = place_of(mapping, page);

        if (is_from_reserve || size->n_free - size->reserved != 0)
                if (pool_dequeue(size, kernel, place.near, place.nodes, mems, ret_node))
                        return true;
        return pool_alloc_surplus(kernel, size, place.near, place.nodes, mems, ret_node);
}

/* alloc_huge_page(); alloc_hugetlb_folio(). NULL: the fault ends in SIGBUS. */
static Page *alloc_page(KernelMapping *mapping, uint64_t page) {
        Kernel *kernel = mapping->process->kernel;
        Size *size = mapping->size;
        Subpool *subpool = segment_subpool(mapping->segment);
        Charges *charges = group_charges(mapping->process->group);
        bool needs = needs_reservation(mapping, page);
        uint64_t host = needs;
        unsigned node;

        if (needs && subpool_get(subpool, 1, &host) < 0)
                return NULL;
        bool is_from_reserve = has_reservation(mapping, host > 0);

        if (needs && charge(charges, size, 1, true) < 0)
                goto put_subpool;
        if (charge(charges, size, 1, false) < 0)
                goto uncharge_reservation;
        if (!find_page(mapping, page, is_from_reserve, &node))
                goto uncharge_use;

        size->reserved -= is_from_reserve;
        charges->of[size->index].used_on[node]++;
        commit_reservation(mapping, page);
        Page *found = ARENA_NEW(kernel->arena, Page);

        *found = (Page){
                .size = size,
                .node = node,
                .charged = charges,
                .charged_reservation = needs ? charges : NULL,
                .subpool = subpool,
        };
        return found;

uncharge_use:
        uncharge(charges, size, 1, false);
uncharge_reservation:
        if (needs)
                uncharge(charges, size, 1, true);
put_subpool:
        if (needs)
                subpool_undo(kernel, size, subpool, 1, host, true);
        return NULL;
}

/* ---- faults ---- */

/* hugetlb_no_page(). */
static bool fault_in(KernelMapping *mapping, uint64_t i) {
        KernelSegment *segment = mapping->segment;
        Page *page = mapping->is_private ? NULL : segment->pages[i];

        if (!page) {
                page = alloc_page(mapping, i);
                if (page && !mapping->is_private)
                        segment->pages[i] = page;
        }
        mapping->pages[i] = page;
        return page != NULL;
}

static void die(KernelMapping *mapping, uint64_t page, bool was_reserved) {
        KernelProcess *process = mapping->process;
        Arena *arena = process->kernel->arena;
        KernelDeath *death = ARENA_NEW(arena, KernelDeath);
        uint64_t nodes = place_of(mapping, page).nodes & process_mems(process);
        const char *suffix = was_reserved ? ", which was reserved" : "";

        *death = (KernelDeath){
                .page = page,
                .text = arena_printf(arena,
                                     "%s (pid %" PRIu64 ") died of SIGBUS at page %" PRIu64
                                     " of %" PRIu64
                                     "%s; nodes that could have served it: 0x%" PRIx64,
                                     process->name, process->pid, page, mapping->n, suffix, nodes),
        };
        process->death = death;
        kernel_exit(process);
}

bool kernel_touch(KernelMapping *mapping, uint64_t page) {
        if (!mapping->process->is_alive)
                return false;
        if (mapping->is_gone || page >= mapping->n)
                return true;
        bool is_there = mapping->pages[page] != NULL;
        bool was_reserved = !is_there && (mapping->is_private || !mapping->segment->pages[page]) &&
                            has_reservation(mapping, needs_reservation(mapping, page));

        if (is_there || fault_in(mapping, page))
                return true;
        die(mapping, page, was_reserved);
        return false;
}

bool kernel_touch_all(KernelMapping *mapping) {
        for (uint64_t i = 0; i < mapping->n && mapping->process->is_alive; i++)
                kernel_touch(mapping, i);
        return mapping->process->is_alive;
}

bool kernel_touch_one_of(KernelMapping *mapping, uint64_t chance) {
        uint64_t n = kernel_mapping_untouched(mapping), turn = n > 0 ? chance % n : 0;

        for (uint64_t i = 0; n > 0 && i < mapping->n; i++)
                if (!mapping->pages[i] && turn-- == 0)
                        return kernel_touch(mapping, i);
        return mapping->process->is_alive;
}
