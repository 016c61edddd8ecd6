/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/memory.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* With not a byte of heap, it does for a plan or a status of a hundred instances on eight nodes (measured;
 * test_reserve in tests/run_faults.py). Pages of it that were never used cost nothing but address space. */
enum { RESERVE_BYTES = 2 * 1024 * 1024, EXIT_CODE = 1 };

/* The reserve is cut into pieces that follow each other; its end is a piece of no bytes. */
typedef struct __attribute__((may_alias)) Piece {
        size_t size; /* with this head; 0: nothing was cut off from here on */
        bool is_used;
        max_align_t bytes[];
} Piece;

static struct {
        atomic_flag is_locked; /* writes of the daemon are made in a thread */
        atomic_uint n_shortages;
        void (*end)(void);
        _Alignas(max_align_t) char bytes[RESERVE_BYTES];
} reserve = {.is_locked = ATOMIC_FLAG_INIT};

static Piece *piece_at(size_t at) {
        return (Piece *) (void *) (reserve.bytes + at);
}

static void lock_reserve(void) {
        while (atomic_flag_test_and_set_explicit(&reserve.is_locked, memory_order_acquire))
                ;
}

static void unlock_reserve(void) {
        atomic_flag_clear_explicit(&reserve.is_locked, memory_order_release);
}

/* With the free ones that follow it made one with it. */
static void join_free(Piece *piece, size_t at) {
        while (at + piece->size + sizeof(Piece) < RESERVE_BYTES) {
                Piece *next = piece_at(at + piece->size);

                if (next->is_used)
                        return;
                if (next->size == 0) {
                        piece->size = 0;
                        return;
                }
                piece->size += next->size;
        }
}

/* Of a free piece that is large enough; what is left of it follows. */
static Piece *take_piece(Piece *piece, size_t at, size_t size) {
        size_t room = piece->size ? piece->size : RESERVE_BYTES - at;

        if (room < size)
                return NULL;
        if (room - size <= sizeof(Piece))
                size = room;
        else
                *piece_at(at + size) = (Piece){.size = piece->size ? room - size : 0};
        *piece = (Piece){.size = size, .is_used = true};
        return piece;
}

/* The first that fits. */
static Piece *find_piece(size_t size) {
        for (size_t at = 0; at + sizeof(Piece) < RESERVE_BYTES; at += piece_at(at)->size) {
                Piece *piece = piece_at(at);

                if (piece->is_used)
                        continue;
                if (piece->size > 0)
                        join_free(piece, at);
                Piece *taken = take_piece(piece, at, size);

                if (taken || piece->size == 0)
                        return taken;
        }
        return NULL;
}

static void *take_from_reserve(size_t size) {
        enum { ALIGNMENT = _Alignof(max_align_t) };

        if (size > RESERVE_BYTES)
                return NULL;
        atomic_fetch_add(&reserve.n_shortages, 1);
        lock_reserve();
        Piece *piece = find_piece((sizeof(Piece) + size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);

        unlock_reserve();
        return piece ? memset(piece->bytes, 0, size) : NULL;
}

void *memory_new(size_t size) {
        void *memory = calloc(1, MAX(size, (size_t) 1));

        if (!memory)
                memory = take_from_reserve(size);
        if (!memory) {
                /* Without exit(3), which would have the half of a text printed. */
                if (reserve.end)
                        reserve.end();
                fputs("hugeplan: out of memory\n", stderr);
                _exit(EXIT_CODE);
        }
        return memory;
}

void memory_free(void *memory) {
        const char *at = memory;

        if (at < reserve.bytes || at >= reserve.bytes + RESERVE_BYTES) {
                free(memory);
                return;
        }
        lock_reserve();
        ((Piece *) (void *) ((char *) memory - offsetof(Piece, bytes)))->is_used = false;
        unlock_reserve();
}

unsigned memory_shortages(void) {
        return atomic_load(&reserve.n_shortages);
}

void memory_set_end(void (*end)(void)) {
        reserve.end = end;
}
