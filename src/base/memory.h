/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Memory that is there when the host has none left.
 *
 * Values are made of many small pieces, and code that looks at each of them for NULL is code that nobody
 * runs. So an allocation does not fail: when the heap is exhausted it is served from a reserve, which the
 * program has had since it was started, so that what is under way ends as usual. Whoever would begin more
 * (the daemon's next round) sees by memory_shortages() that it was drawn upon, drops what it has made, and
 * tries later. When the reserve is exhausted, too, the program ends, with a sentence and exit code 1: what
 * it leaves is what it would leave if it were killed at that moment.
 *
 * Large pieces that strangers ask for are not for this: they may fail, and are asked of malloc(3). */

#include "base/macros.h"

/* SIZE zeroed bytes, aligned for any type. Never NULL. */
void *memory_new(size_t size);

/* Takes NULL. */
void memory_free(void *memory);

/* How often the reserve was drawn upon: what was made between two equal counts was made of the heap. */
unsigned memory_shortages(void);

/* Who has more to say at the end than a line on standard error: END is called before that, must allocate
 * nothing, and may return. */
void memory_set_end(void (*end)(void));
