/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The pools: growing, shrinking, reserving, freeing. After mm/hugetlb.c. Functions have their names in 6.1, and those in
 * 6.12 if they differ. */
#include "model/kernel_state.h"

/* ---- taking turns ---- */

/* next_node_in(). */
static unsigned next_node_in(unsigned node, uint64_t nodes) {
        for (unsigned i = 1; i <= KERNEL_NODES_MAX; i++)
                if (nodes & node_bit((node + i) % KERNEL_NODES_MAX))
                        return (node + i) % KERNEL_NODES_MAX;
        return node;
}

/* hstate_next_node_to_alloc(), hstate_next_node_to_free(): returns the node whose turn it is, and advances the turn. */
static unsigned take_turn(unsigned *turn, uint64_t nodes) {
        unsigned node = nodes & node_bit(*turn) ? *turn : next_node_in(*turn, nodes);

        *turn = next_node_in(node, nodes);
        return node;
}

static unsigned count_nodes(uint64_t nodes) {
        return (unsigned) __builtin_popcountll(nodes);
}

/* ---- single pages ---- */

/* __prep_account_new_huge_page(). */
static void account_new(Size *size, unsigned node) {
        size->n++;
        size->n_on[node]++;
}

/* enqueue_huge_page(); enqueue_hugetlb_folio(). */
static void enqueue(Size *size, unsigned node) {
        size->n_free++;
        size->free_on[node]++;
}

/* remove_hugetlb_page(), update_and_free_page(). */
static void remove_page(Kernel *kernel, Size *size, unsigned node, bool was_free,
                        bool was_surplus) {
        size->n_free -= was_free;
        size->free_on[node] -= was_free;
        size->surplus -= was_surplus;
        size->surplus_on[node] -= was_surplus;
        size->n--;
        size->n_on[node]--;
        memory_give(kernel, node, size);
}

/* free_huge_page() without its accounting: if the node has surplus pages, the page is freed, else it stays in the pool. */
static void release(Kernel *kernel, Size *size, unsigned node) {
        if (size->surplus_on[node] > 0)
                remove_page(kernel, size, node, false, true);
        else
                enqueue(size, node);
}

/* 6.1 passes a fresh page through free_huge_page(), 6.12 puts it into the pool (prep_and_add_allocated_folios()). That
 * makes a difference on a node with surplus pages. */
static void add_fresh(Kernel *kernel, Size *size, unsigned node) {
        account_new(size, node);
        if (kernel->demotes_in_bulk)
                enqueue(size, node);
        else
                release(kernel, size, node);
}

static void note_cover(Size *size) {
        if (size->n_free < size->reserved)
                size->is_uncovered = true;
}

/* free_huge_page(); free_huge_folio(). */
void pool_free_page(Kernel *kernel, Page *page) {
        Size *size = page->size;
        /* "the subpool will be under its minimum size if the reservation is not restored" */
        bool is_restored = subpool_put(page->subpool, 1) == 0;

        if (page->charged)
                page->charged->of[size->index].used_on[page->node]--;
        uncharge(page->charged, size, 1, false);
        uncharge(page->charged_reservation, size, 1, true);
        size->reserved += is_restored;
        release(kernel, size, page->node);
        /* If the page itself was freed as a surplus page, no page covers the restored reservation. */
        if (is_restored)
                note_cover(size);
}

/* remove_pool_huge_page(); remove_pool_hugetlb_folio(). If all pages of the node are surplus, removing a page that counts
 * as persistent leaves the node with more surplus than pages. */
static bool remove_free(Kernel *kernel, Size *size, uint64_t nodes, bool is_surplus) {
        for (unsigned i = count_nodes(nodes); i > 0; i--) {
                unsigned node = take_turn(&size->next_to_free, nodes);

                if ((!is_surplus || size->surplus_on[node] > 0) && size->free_on[node] > 0) {
                        remove_page(kernel, size, node, true, is_surplus);
                        return true;
                }
        }
        return false;
}

/* ---- the size of the pool ---- */

/* persistent_huge_pages(). */
static uint64_t persistent(const Size *size) {
        return size->n - size->surplus;
}

/* adjust_pool_surplus(). */
static bool adjust_surplus(Size *size, uint64_t nodes, bool is_more) {
        for (unsigned i = count_nodes(nodes); i > 0; i--) {
                unsigned node =
                        take_turn(is_more ? &size->next_to_free : &size->next_to_alloc, nodes);
                bool may_be = is_more ? size->surplus_on[node] < size->n_on[node]
                                      : size->surplus_on[node] > 0;

                if (!may_be)
                        continue;
                size->surplus += is_more ? 1 : UINT64_MAX;
                size->surplus_on[node] += is_more ? 1 : UINT64_MAX;
                return true;
        }
        return false;
}

/* alloc_pool_huge_page(); alloc_pool_huge_folio(). MEMS: contrary to hugetlbpage.rst, prepare_alloc_pages() keeps to the
 * writer's cpuset. */
static bool alloc_fresh(Kernel *kernel, Size *size, uint64_t nodes, uint64_t mems) {
        for (unsigned i = count_nodes(nodes); i > 0; i--) {
                unsigned node = take_turn(&size->next_to_alloc, nodes);

                if (mems & node_bit(node) && memory_take(kernel, node, size)) {
                        add_fresh(kernel, size, node);
                        return true;
                }
        }
        return false;
}

/* The beginning of set_max_huge_pages(): converts a node's count to the host's. Before 6.7 the surplus pages of the other
 * nodes are added to the requested count (b72b3c9c34c8). Since then a node with more surplus than pages (see
 * remove_free()) does harm. A write to its own file subtracts in 32 bits, which makes the count four billions. A write to
 * another node's file may get a sum below the requested count, which means "as many as possible". Either way the write
 * takes all memory of the node. */
static uint64_t pool_count_on_node(const Kernel *kernel, const Size *size, unsigned node,
                                   uint64_t count) {
        uint32_t here = (uint32_t) (size->n_on[node] - size->surplus_on[node]);
        uint64_t others = kernel->adds_surplus ? size->n - size->n_on[node]
                                               : persistent(size) - here;

        return count + others < count ? UINT64_MAX : count + others;
}

static bool grow(Kernel *kernel, Size *size, uint64_t count, uint64_t nodes, uint64_t mems) {
        while (size->surplus > 0 && count > persistent(size))
                if (!adjust_surplus(size, nodes, false))
                        break;
        while (count > persistent(size))
                if (!alloc_fresh(kernel, size, nodes, mems))
                        return false;
        return true;
}

/* The pages that set_max_huge_pages() considers free persistent pages. Before 6.15 it mistakes surplus pages in use for
 * persistent pages in use, and keeps as many free pages, which become surplus. */
static uint64_t idle_pages(const Kernel *kernel, const Size *size) {
        if (kernel->spares_surplus)
                return size->n_free - size->surplus;
        return size->n_free > persistent(size) ? sub_floored(size->n_free, size->surplus)
                                               : size->n_free;
}

/* set_max_huge_pages(). */
static int set_count(Kernel *kernel, Size *size, uint64_t count, uint64_t nodes, uint64_t mems) {
        if (grow(kernel, size, count, nodes, mems)) {
                /* Pages are removed on these nodes only, and never below what the host has in use or reserved. */
                uint64_t at_least =
                        MAX(count, size->reserved + persistent(size) - idle_pages(kernel, size));

                while (at_least < persistent(size))
                        if (!remove_free(kernel, size, nodes, false))
                                break;
                while (count < persistent(size))
                        if (!adjust_surplus(size, nodes, true))
                                break;
        }
        size->max = persistent(size);
        return 0;
}

static bool has_node(const Kernel *kernel, int node) {
        return node == KERNEL_HOST ||
               (node >= 0 && node < KERNEL_NODES_MAX && kernel->nodes[node].exists);
}

static uint64_t writer_mems(const Kernel *kernel, const KernelProcess *writer) {
        return writer ? process_mems(writer) : kernel->memory_nodes;
}

int kernel_set_pool(Kernel *kernel, const KernelProcess *writer, int node, uint64_t page_bytes,
                    uint64_t n_pages) {
        Size *size = kernel_size(kernel, page_bytes);
        uint64_t mems = writer_mems(kernel, writer);

        if (!size || !has_node(kernel, node))
                return -ENOENT;
        if (node == KERNEL_HOST)
                return set_count(kernel, size, n_pages, kernel->memory_nodes, mems);
        return set_count(kernel, size, pool_count_on_node(kernel, size, (unsigned) node, n_pages),
                         node_bit((unsigned) node), mems);
}

/* init_nodemask_of_mempolicy(). */
int kernel_set_pool_by_policy(Kernel *kernel, const KernelProcess *writer, uint64_t page_bytes,
                              uint64_t n_pages) {
        Size *size = kernel_size(kernel, page_bytes);
        bool has_policy = writer && writer->has_policy;

        if (!size)
                return -ENOENT;
        return set_count(kernel, size, n_pages,
                         has_policy ? writer->policy.nodes : kernel->memory_nodes,
                         writer_mems(kernel, writer));
}

/* nr_overcommit_hugepages_store(). */
int kernel_set_overcommit(Kernel *kernel, uint64_t page_bytes, uint64_t n_pages) {
        Size *size = kernel_size(kernel, page_bytes);

        if (!size)
                return -ENOENT;
        if (size->is_gigantic && !kernel->overcommits_gigantic)
                return -EINVAL;
        size->overcommit = n_pages;
        return 0;
}

/* ---- demotion ---- */

/* demote_free_huge_page(); demote_free_hugetlb_folios(). */
static void demote_page(Kernel *kernel, Size *size, unsigned node) {
        Size *to = size->demote_to;
        uint64_t n = size->bytes / to->bytes;

        size->n--;
        size->n_on[node]--;
        size->n_free--;
        size->free_on[node]--;
        for (uint64_t i = 0; i < n; i++)
                add_fresh(kernel, to, node);
        size->max--;
        to->max += n;
}

/* demote_pool_huge_page(): one page in 6.1; in 6.12 the requested number, of which only the first is known to be
 * unreserved. Returns how many were demoted. */
static uint64_t demote_some(Kernel *kernel, Size *size, uint64_t nodes, uint64_t n) {
        uint64_t done = 0, at_most = kernel->demotes_in_bulk ? n : 1;

        for (unsigned i = count_nodes(nodes); i > 0 && done < at_most; i--) {
                unsigned node = take_turn(&size->next_to_free, nodes);

                for (; done < at_most && size->free_on[node] > 0; done++)
                        demote_page(kernel, size, node);
        }
        return done;
}

/* demote_store() subtracts the host's reserved pages from the node's free pages, unsigned: a negative result counts as
 * enough free pages. */
int kernel_demote(Kernel *kernel, int node, uint64_t page_bytes, uint64_t n_pages) {
        Size *size = kernel_size(kernel, page_bytes);
        int r = 0;

        if (!size || !size->demote_to || !has_node(kernel, node))
                return -ENOENT;
        for (uint64_t left = n_pages, done; left > 0; left -= done) {
                uint64_t n_free = node == KERNEL_HOST ? size->n_free : size->free_on[node];

                if (n_free - size->reserved == 0)
                        break;
                done = demote_some(kernel, size,
                                   node == KERNEL_HOST ? kernel->memory_nodes
                                                       : node_bit((unsigned) node),
                                   left);
                if (done == 0) {
                        r = -EBUSY;
                        break;
                }
        }
        note_cover(size);
        return r;
}

/* ---- pages for processes ---- */

/* dequeue_huge_page_nodemask(); dequeue_hugetlb_folio_nodemask(). */
bool pool_dequeue(Size *size, const Kernel *kernel, unsigned near, uint64_t nodes, uint64_t mems,
                  unsigned *ret_node) {
        const MemoryNode *from = &kernel->nodes[near];

        for (unsigned i = 0; i < from->n_order; i++) {
                unsigned node = from->order[i];

                if (!(nodes & mems & node_bit(node)) || size->free_on[node] == 0)
                        continue;
                size->n_free--;
                size->free_on[node]--;
                *ret_node = node;
                return true;
        }
        return false;
}

/* alloc_surplus_huge_page(); alloc_surplus_hugetlb_folio(). */
bool pool_alloc_surplus(Kernel *kernel, Size *size, unsigned near, uint64_t nodes, uint64_t mems,
                        unsigned *ret_node) {
        const MemoryNode *from = &kernel->nodes[near];

        if (size->surplus >= size->overcommit)
                return false;
        for (unsigned i = 0; i < from->n_order; i++) {
                unsigned node = from->order[i];

                if (!(nodes & mems & node_bit(node)) || !memory_take(kernel, node, size))
                        continue;
                account_new(size, node);
                size->surplus++;
                size->surplus_on[node]++;
                *ret_node = node;
                return true;
        }
        return false;
}

/* ---- reservations ---- */

/* policy_mbind_nodemask(): uses the task's policy, not the mapping's. */
static uint64_t bound_nodes(const Kernel *kernel, const KernelProcess *process) {
        uint64_t mems = writer_mems(kernel, process);

        if (process && process->has_policy && process->policy.mode == KERNEL_POLICY_BIND &&
            process->policy.nodes & mems)
                return mems & process->policy.nodes;
        return mems;
}

/* allowed_mems_nr(): free pages of the process's nodes, including reserved ones. */
static uint64_t allowed_free(const Kernel *kernel, const Size *size, const KernelProcess *process) {
        uint64_t n = 0;

        NODES_FOREACH(node, bound_nodes(kernel, process))
                n += size->free_on[node];
        return n;
}

/* The node on whose CPUs a writer runs; without a process, the first node with CPUs. */
static unsigned writer_node(const Kernel *kernel, const KernelProcess *process) {
        uint64_t nodes = kernel_cpu_nodes(kernel);

        if (process)
                return process->cpu_node;
        return nodes ? (unsigned) __builtin_ctzll(nodes) : 0;
}

/* Allocates one page for gather_surplus_pages(). 6.1: from the node where the process runs, or the next in its zonelist,
 * whatever its policy. 6.12: from the first of its nodes, or the next in that zonelist. 6.16: like 6.1, but only from its
 * nodes. */
static bool gather_page(Kernel *kernel, Size *size, const KernelProcess *process,
                        unsigned *ret_node) {
        uint64_t mems = writer_mems(kernel, process), own = bound_nodes(kernel, process);

        if (!kernel->gathers_on_own_nodes || kernel->gathers_nearest)
                return pool_alloc_surplus(kernel, size, writer_node(kernel, process),
                                          kernel->gathers_nearest ? own : UINT64_MAX, mems,
                                          ret_node);
        NODES_FOREACH(node, own)
                if (pool_alloc_surplus(kernel, size, node, UINT64_MAX, mems, ret_node))
                        return true;
        return false;
}

/* gather_surplus_pages(): reserves N of the host's free pages, and makes surplus pages if they are too few. All or
 * none. */
static int pool_gather_surplus(Kernel *kernel, Size *size, const KernelProcess *process,
                               uint64_t n) {
        uint64_t needed = sub_floored(size->reserved + n, size->n_free), got = 0;
        uint64_t got_on[KERNEL_NODES_MAX] = {};
        unsigned node;

        for (; got < needed && gather_page(kernel, size, process, &node); got++)
                got_on[node]++;
        for (unsigned id = 0; id < KERNEL_NODES_MAX; id++)
                for (; got_on[id] > 0; got_on[id]--)
                        if (got == needed)
                                enqueue(size, id);
                        else
                                release(kernel, size, id);
        if (got < needed)
                return -ENOMEM;
        size->reserved += n;
        return 0;
}

/* return_unused_surplus_pages(). */
void pool_unreserve(Kernel *kernel, Size *size, uint64_t n) {
        size->reserved -= n;
        for (uint64_t i = MIN(n, size->surplus); i > 0; i--)
                if (!remove_free(kernel, size, kernel->memory_nodes, true))
                        break;
}

/* hugetlb_acct_memory(). */
int pool_reserve(Kernel *kernel, Size *size, const KernelProcess *process, uint64_t n) {
        if (n == 0)
                return 0;
        int r = pool_gather_surplus(kernel, size, process, n);

        if (r < 0)
                return r;
        if (n > allowed_free(kernel, size, process)) {
                pool_unreserve(kernel, size, n);
                return -ENOMEM;
        }
        return 0;
}

/* ---- mounts ---- */

/* hugepage_subpool_get_pages(). */
int subpool_get(Subpool *subpool, uint64_t n, uint64_t *ret_host) {
        int64_t delta = (int64_t) n;

        *ret_host = n;
        if (!subpool)
                return 0;
        if (subpool->max != -1) {
                if (subpool->used + delta > subpool->max)
                        return -ENOMEM;
                subpool->used += delta;
        }
        if (subpool->min != -1 && subpool->reserved != 0) {
                *ret_host = delta > subpool->reserved ? (uint64_t) (delta - subpool->reserved) : 0;
                subpool->reserved = MAX(subpool->reserved - delta, INT64_C(0));
        }
        return 0;
}

/* hugepage_subpool_put_pages(). */
uint64_t subpool_put(Subpool *subpool, uint64_t n) {
        int64_t delta = (int64_t) n, host = delta;

        if (!subpool)
                return n;
        if (subpool->max != -1)
                subpool->used -= delta;
        if (subpool->min != -1 && subpool->used < subpool->min) {
                host = MAX(subpool->reserved + delta - subpool->min, INT64_C(0));
                subpool->reserved = MIN(subpool->reserved + delta, subpool->min);
        }
        return (uint64_t) host;
}

/* subpool_is_free() */
bool subpool_is_free(const Subpool *subpool) {
        if (subpool->max != -1)
                return subpool->used == 0;
        return subpool->min == -1 || subpool->reserved == subpool->min;
}

/* Before 6.15, "put back original number of pages": the subpool then counts more reserved pages than it had, and the
 * host's count of reservations ends below 0. Since (a833a693a490) only the subpool's part is put back. The host's part
 * stays counted as used, forever after a fault, and after mmap(2) until 1d3f9bb4c8af. */
void subpool_undo(Kernel *kernel, Size *size, Subpool *subpool, uint64_t n, uint64_t host,
                  bool is_fault) {
        if (!subpool)
                return;
        if (!kernel->leaks_use) {
                int64_t before = subpool->reserved;

                subpool_put(subpool, n);
                size->n_astray -= subpool->reserved - before - (int64_t) (n - host);
                return;
        }
        pool_unreserve(kernel, size, n > host ? subpool_put(subpool, n - host) : 0);
        if (!is_fault && subpool->max != -1)
                subpool->used -= (int64_t) host;
}
