/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Memory that is available even if the host has none left.
 *
 * Values consist of many small pieces, and code that checks each of them for NULL is code that is never run. So an
 * allocation does not fail: if the heap is exhausted, it is served from a reserve that the program has from its start,
 * so that the current work ends normally. Code that would start more work (the daemon's next round) detects by
 * memory_shortages() that the reserve was used, drops its results, and tries again later. If the reserve is exhausted
 * too, the program ends with a message and exit code 1; it leaves the same state as if it were killed at that moment.
 *
 * Large pieces whose size untrusted input determines must be allowed to fail, and so come from malloc(3). */

#include "base/macros.h"

/* Returns SIZE zeroed bytes, aligned for any type. Never NULL. */
void *memory_new(size_t size);

/* The same without zeroing: for arenas, and for jansson, which sets all of its many small pieces. */
void *memory_new_unset(size_t size);

/* Ends the program as if the reserve were exhausted: for a library that allocates memory by itself. */
_Noreturn void memory_end(void);

/* MEMORY may be NULL. */
void memory_free(void *memory);

/* Returns how often the reserve was used: no allocation between two equal counts came from the reserve. */
unsigned memory_shortages(void);

/* Sets END, which is called before the program ends for lack of memory, to do more than print a line on standard error;
 * END must not allocate memory, and may return. */
void memory_set_end(void (*end)(void));
