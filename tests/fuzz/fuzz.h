/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Shared by the fuzzers: the entry point that libFuzzer and replay.c call, assertions, and texts.
 *
 *     FUZZ(arena, data, size) {
 *             require(parse(arena, data, size) == 0);
 *     } */

#include "base/arena.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is done with each input; ARENA is its own. */
#define FUZZ(arena, data, size)                                           \
        static void fuzz(Arena *arena, const uint8_t *data, size_t size); \
                                                                          \
        int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {      \
                CLEANUP(arena_freep) Arena *own = arena_new();            \
                                                                          \
                fuzz(own, bytes, n);                                      \
                return 0;                                                 \
        }                                                                 \
                                                                          \
        static void fuzz(Arena *arena UNUSED, const uint8_t *data UNUSED, size_t size UNUSED)

/* Of what is made once for all inputs. */
static inline Arena *fuzz_lasting(void) {
        static Arena *arena;

        if (!arena)
                arena = arena_new();
        return arena;
}

static inline void require_at(bool holds, const char *what, const char *file, int line) {
        if (holds)
                return;
        fprintf(stderr, "%s:%d: condition failed: %s\n", file, line, what);
        abort();
}

#define require(holds) require_at((holds), #holds, __FILE__, __LINE__)

/* The bytes and a NUL, in memory of exactly this size. */
static inline char *fuzz_text(Arena *arena, const void *bytes, size_t size) {
        char *text = arena_alloc(arena, size + 1);

        if (size > 0)
                memcpy(text, bytes, size);
        return text;
}

/* Whether TEXT is one line without control characters, or NULL. */
static inline bool is_printable(const char *string) {
        if (string && !text_is_utf8(string, strlen(string)))
                return false;
        for (; string && *string; string++)
                if ((unsigned char) *string < ' ' || *string == 0x7F)
                        return false;
        return true;
}

#define require_printable(string) require(is_printable(string))
