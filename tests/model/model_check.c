/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks the model after an operation by counting everything again. */
#include "model/kernel_state.h"

#include "base/text.h"

typedef struct Check {
        const Kernel *kernel;
        Text problems;
        uint64_t used_on[KERNEL_SIZES_MAX][KERNEL_NODES_MAX];
        uint64_t reserved[KERNEL_SIZES_MAX];
} Check;

static void expect(Check *check, uint64_t counted, uint64_t found, const char *what, uint64_t of,
                   unsigned node) {
        if (counted != found)
                text_printf(&check->problems,
                            "%s (%" PRIu64 ", %u): counted %" PRIu64 ", there are %" PRIu64 "\n",
                            what, of, node, counted, found);
}

static void expect_most(Check *check, uint64_t counted, uint64_t most, const char *what,
                        uint64_t of, unsigned node) {
        if (counted > most)
                text_printf(&check->problems,
                            "%s (%" PRIu64 ", %u): %" PRIu64 ", of at most %" PRIu64 "\n", what, of,
                            node, counted, most);
}

/* ---- pages and reservations ---- */

static void count_charge(Charges *charges, const Size *size, uint64_t used, uint64_t reserved) {
        for (; charges; charges = charges->parent) {
                charges->of[size->index].used_seen += used;
                charges->of[size->index].reserved_seen += reserved;
        }
}

static void add_page(Check *check, const Page *page) {
        const Size *size = page->size;

        check->used_on[size->index][page->node]++;
        count_charge(page->charged, size, 1, 0);
        count_charge(page->charged_reservation, size, 0, 1);
}

static void find_in_segment(Check *check, const KernelSegment *segment) {
        for (uint64_t i = 0; !segment->is_gone && i < segment->n_allocated; i++) {
                const Reservation *reservation = &segment->reservations[i];

                count_charge(reservation->charged, segment->size, 0, 1);
                if (segment->pages[i])
                        add_page(check, segment->pages[i]);
                else
                        check->reserved[segment->size->index] += reservation->is_there;
        }
}

static void find_in_mapping(Check *check, const KernelMapping *mapping) {
        if (!mapping->is_gone && mapping->is_owner)
                count_charge(mapping->charged, mapping->size, 0, mapping->n);
        for (uint64_t i = 0; !mapping->is_gone && i < mapping->n; i++) {
                if (mapping->is_owner)
                        check->reserved[mapping->size->index] += !mapping->used[i].is_there;
                if (mapping->is_private && mapping->pages[i])
                        add_page(check, mapping->pages[i]);
        }
}

static void find_all(Check *check) {
        const Kernel *kernel = check->kernel;

        VEC_FOREACH(segment, &kernel->segments)
                find_in_segment(check, *segment);
        VEC_FOREACH(process, &kernel->processes)
                VEC_FOREACH(mapping, &(*process)->mappings)
                        find_in_mapping(check, *mapping);
        VEC_FOREACH(mount, &kernel->mounts)
                if ((*mount)->subpool && (*mount)->subpool->min != -1)
                        check->reserved[(*mount)->size->index] +=
                                (uint64_t) (*mount)->subpool->reserved;
}

/* ---- the pools ---- */

static void check_size(Check *check, const Size *size) {
        uint64_t n = 0, n_free = 0, surplus = 0;

        for (unsigned node = 0; node < KERNEL_NODES_MAX; node++) {
                n += size->n_on[node];
                n_free += size->free_on[node];
                surplus += size->surplus_on[node];
                expect_most(check, size->free_on[node], size->n_on[node], "free", size->bytes,
                            node);
                expect(check, size->n_on[node] - size->free_on[node],
                       check->used_on[size->index][node], "in use", size->bytes, node);
        }
        expect(check, size->n, n, "the host's pages", size->bytes, 0);
        expect(check, size->n_free, n_free, "the host's free pages", size->bytes, 0);
        expect(check, size->surplus, surplus, "the host's surplus", size->bytes, 0);
        /* A node may have more surplus than pages, because remove_pool_huge_page() removes any free page. */
        expect_most(check, size->surplus, size->n, "surplus", size->bytes, 0);
        expect(check, size->reserved, check->reserved[size->index] + (uint64_t) size->n_astray,
               "reserved", size->bytes, 0);
        if (!size->is_uncovered && size->n_astray == 0)
                expect_most(check, size->reserved, size->n_free, "reserved, of free pages",
                            size->bytes, 0);
}

/* ---- control groups ---- */

static void check_charges(Check *check, Charges *charges) {
        for (unsigned i = 0; i < check->kernel->n_sizes; i++) {
                uint64_t bytes = check->kernel->sizes[i].bytes;
                typeof(charges->of[i]) *of = &charges->of[i];

                expect(check, of->used, of->used_seen, charges->group->path, bytes, 0);
                expect(check, of->reserved, of->reserved_seen, charges->group->path, bytes, 1);
                of->used_seen = of->reserved_seen = 0;
        }
}

const char *kernel_check_invariants(const Kernel *kernel, Arena *arena) {
        Check check = {.kernel = kernel, .problems = text_in(arena)};

        find_all(&check);
        for (unsigned i = 0; i < kernel->n_sizes; i++)
                check_size(&check, &kernel->sizes[i]);
        for (unsigned id = 0; id < KERNEL_NODES_MAX; id++) {
                const MemoryNode *node = &check.kernel->nodes[id];
                uint64_t all = node->free + node->cache + node->others;

                for (unsigned i = 0; i < check.kernel->n_sizes; i++)
                        all += check.kernel->sizes[i].n_on[id] * check.kernel->sizes[i].bytes;
                expect(&check, all, node->total, "memory", 0, id);
                expect_most(&check, node->scattered, node->free, "scattered", 0, id);
        }
        VEC_FOREACH(charges, &kernel->charges)
                check_charges(&check, *charges);
        return check.problems.length > 0 ? check.problems.string : NULL;
}
