/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Memory that is freed together.
 *
 * Every value of the pipeline (configuration, topology, plan, status) is built once, read many times and dropped as a
 * whole. It is allocated in an arena, so that no code frees single objects or takes half-built ones apart. hugeplan
 * needs kilobytes; if the heap is exhausted, a reserve serves them (base/memory.h). */

#include "base/macros.h"

#include <inttypes.h>
#include <stdarg.h>

typedef struct Arena Arena;

/* Never fails (see above). */
Arena *arena_new(void);

/* Frees everything allocated from ARENA. Takes NULL; returns NULL. */
Arena *arena_free(Arena *arena);

/* Returns SIZE zeroed bytes, aligned for any type, which live as long as ARENA. */
void *arena_alloc(Arena *arena, size_t size);

/* Returns N zeroed elements of SIZE bytes each; ends the process on overflow. */
void *arena_alloc_array(Arena *arena, size_t n, size_t size);

/* Copy a string (NULL gives NULL), a string up to END (NULL: all), its first LENGTH bytes, or any bytes. */
char *arena_strdup(Arena *arena, const char *string);
char *arena_strdup_to(Arena *arena, const char *string, const char *end);
char *arena_strndup(Arena *arena, const char *string, size_t length);
void *arena_memdup(Arena *arena, const void *bytes, size_t size);

/* Return a string formatted like printf(3). */
char *arena_printf(Arena *arena, const char *format, ...) PRINTF_LIKE(2, 3);
char *arena_vprintf(Arena *arena, const char *format, va_list arguments) PRINTF_LIKE(2, 0);

#define ARENA_NEW(arena, type)      ((type *) arena_alloc((arena), sizeof(type)))
#define ARENA_ARRAY(arena, type, n) ((type *) arena_alloc_array((arena), (n), sizeof(type)))

/* For CLEANUP(): frees the arena of the variable. */
void arena_freep(Arena **arena);
