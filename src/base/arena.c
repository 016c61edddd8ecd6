/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/arena.h"

#include "base/memory.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Block Block;

struct Block {
        Block *next;
        size_t used;
        size_t size;
        max_align_t bytes[];
};

struct Arena {
        Block *blocks;
        size_t usual; /* bytes of the last block not made for a large object; 0: none */
};

/* Under the address sanitizer objects have gaps between them, and the gaps are poisoned: so an access beyond an object
 * is found even if the next object is in the same block. */
#ifdef __has_feature
#        if __has_feature(address_sanitizer)
#                define IS_GUARDED 1
#        endif
#elif defined(__SANITIZE_ADDRESS__)
#        define IS_GUARDED 1
#endif
#ifdef IS_GUARDED
#        include <sanitizer/asan_interface.h>
#else
#        define IS_GUARDED                               0
#        define ASAN_POISON_MEMORY_REGION(bytes, size)   ((void) (bytes), (void) (size))
#        define ASAN_UNPOISON_MEMORY_REGION(bytes, size) ((void) (bytes), (void) (size))
#endif

enum {
        FIRST_BYTES = 512, /* many arenas need little; each next block is twice as large */
        BLOCK_BYTES = 8192,
        ALIGNMENT = _Alignof(max_align_t),
        GAP_BYTES = IS_GUARDED ? ALIGNMENT : 0, /* after each object */
};

Arena *arena_new(void) {
        return memory_new(sizeof(Arena));
}

Arena *arena_free(Arena *arena) {
        if (!arena)
                return NULL;
        for (Block *block = arena->blocks, *next; block; block = next) {
                next = block->next;
                ASAN_UNPOISON_MEMORY_REGION(block->bytes, block->size);
                memory_free(block);
        }
        memory_free(arena);
        return NULL;
}

void arena_freep(Arena **arena) {
        *arena = arena_free(*arena);
}

static Block *arena_add_block(Arena *arena, size_t size) {
        Block *block = memory_new_unset(sizeof(Block) + size);
        /* A block made for one large object goes after the current one, which has room left. */
        Block **at = arena->blocks && size > BLOCK_BYTES ? &arena->blocks->next : &arena->blocks;

        *block = (Block){.next = *at, .size = size};
        ASAN_POISON_MEMORY_REGION(block->bytes, size);
        return *at = block;
}

/* Returns memory that is not set: blocks are not zeroed as a whole, so that what is never used takes no page. */
static void *take(Arena *arena, size_t wanted) {
        Block *block = arena->blocks;
        size_t size = wanted;

        if (size > SIZE_MAX / 2) {
                fputs("hugeplan: impossible allocation\n", stderr);
                abort();
        }
        size = (MAX(size, (size_t) 1) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + GAP_BYTES;
        if (!block || block->size - block->used < size) {
                arena->usual =
                        MIN(MAX(2 * arena->usual, (size_t) FIRST_BYTES), (size_t) BLOCK_BYTES);
                block = arena_add_block(arena, MAX(size, arena->usual));
        }
        void *memory = (char *) block->bytes + block->used;

        block->used += size;
        ASAN_UNPOISON_MEMORY_REGION(memory, wanted);
        return memory;
}

void *arena_alloc(Arena *arena, size_t size) {
        return memset(take(arena, size), 0, size);
}

void *arena_alloc_array(Arena *arena, size_t n, size_t size) {
        size_t total;

        if (__builtin_mul_overflow(n, size, &total))
                total = SIZE_MAX;
        return arena_alloc(arena, total);
}

void *arena_memdup(Arena *arena, const void *bytes, size_t size) {
        void *copy = take(arena, size);

        if (size > 0)
                memcpy(copy, bytes, size);
        return copy;
}

char *arena_strndup(Arena *arena, const char *string, size_t length) {
        length = strnlen(string, length);
        char *copy = take(arena, length + 1);

        memcpy(copy, string, length);
        copy[length] = '\0';
        return copy;
}

char *arena_strdup(Arena *arena, const char *string) {
        return string ? arena_strndup(arena, string, strlen(string)) : NULL;
}

char *arena_strdup_to(Arena *arena, const char *string, const char *end) {
        return arena_strndup(arena, string, end ? (size_t) (end - string) : strlen(string));
}

char *arena_vprintf(Arena *arena, const char *format, va_list arguments) {
        Block *block = arena->blocks;
        size_t room = block && !IS_GUARDED ? block->size - block->used : 0;
        char *here = room > 0 ? (char *) block->bytes + block->used : NULL;
        va_list again;

        /* Most strings fit where the next object would be, so that they need no copy. */
        va_copy(again, arguments);
        int length = vsnprintf(here, room, format, again);

        va_end(again);
        if (length >= 0 && (size_t) length < room)
                return take(arena, (size_t) length + 1);
        if (length < 0)
                return arena_strdup(arena, "");
        char *string = take(arena, (size_t) length + 1);

        vsnprintf(string, (size_t) length + 1, format, arguments);
        return string;
}

char *arena_printf(Arena *arena, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        char *string = arena_vprintf(arena, format, arguments);

        va_end(arguments);
        return string;
}
