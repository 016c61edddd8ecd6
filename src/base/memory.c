/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/memory.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Without any heap, the reserve is enough for a plan or a status of a hundred instances on eight nodes (measured;
 * test_reserve in tests/run_faults.py). Its unused pages cost only address space. */
enum {
        RESERVE_BYTES = 2 * 1024 * 1024,
        UNIT_BYTES = 16, /* pieces consist of whole units */
        UNITS = RESERVE_BYTES / UNIT_BYTES,
        EXIT_CODE = 1,
};

/* Precedes each piece. */
typedef struct __attribute__((may_alias)) Head {
        _Alignas(max_align_t) size_t n_units; /* including this head */
} Head;

static struct {
        atomic_flag is_locked; /* the daemon writes in a thread */
        atomic_uint n_shortages;
        void (*end)(void);
        size_t first; /* all units before it are in use */
        bool is_used[UNITS];
        _Alignas(max_align_t) char bytes[RESERVE_BYTES];
} reserve = {.is_locked = ATOMIC_FLAG_INIT};

static void lock_reserve(void) {
        while (atomic_flag_test_and_set_explicit(&reserve.is_locked, memory_order_acquire))
                ;
}

static void unlock_reserve(void) {
        atomic_flag_clear_explicit(&reserve.is_locked, memory_order_release);
}

/* Finds the first N free units in a row. */
static Head *find_units(size_t n) {
        size_t n_free = 0, at = reserve.first;

        for (; at < UNITS && n_free < n; at++)
                n_free = reserve.is_used[at] ? 0 : n_free + 1;
        return n_free == n ? (Head *) (void *) (reserve.bytes + (at - n) * UNIT_BYTES) : NULL;
}

static void mark_units(const Head *head, size_t n, bool is_used) {
        size_t first = (size_t) ((const char *) head - reserve.bytes) / UNIT_BYTES;

        memset(reserve.is_used + first, is_used, n);
        if (!is_used)
                reserve.first = MIN(reserve.first, first);
        else if (first == reserve.first)
                reserve.first = first + n;
}

static void *take_from_reserve(size_t size) {
        if (size > RESERVE_BYTES)
                return NULL;
        atomic_fetch_add(&reserve.n_shortages, 1);
        lock_reserve();
        size_t n = (sizeof(Head) + size + UNIT_BYTES - 1) / UNIT_BYTES;
        Head *head = find_units(n);

        if (head) {
                mark_units(head, n, true);
                head->n_units = n;
        }
        unlock_reserve();
        return head ? head + 1 : NULL;
}

void memory_end(void) {
        /* _exit(2), because exit(3) would flush partly written output. */
        if (reserve.end)
                reserve.end();
        fputs("hugeplan: out of memory\n", stderr);
        _exit(EXIT_CODE);
}

void *memory_new_unset(size_t size) {
        void *memory = malloc(MAX(size, (size_t) 1));

        if (!memory)
                memory = take_from_reserve(size);
        if (!memory)
                memory_end();
        return memory;
}

void *memory_new(size_t size) {
        return memset(memory_new_unset(size), 0, size);
}

void memory_free(void *memory) {
        const char *at = memory;

        if (at < reserve.bytes || at >= reserve.bytes + RESERVE_BYTES) {
                free(memory);
                return;
        }
        const Head *head = (const Head *) memory - 1;

        lock_reserve();
        mark_units(head, head->n_units, false);
        unlock_reserve();
}

unsigned memory_shortages(void) {
        return atomic_load(&reserve.n_shortages);
}

void memory_set_end(void (*end)(void)) {
        reserve.end = end;
}
