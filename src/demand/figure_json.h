/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What a reader process has found, on its way to the caller (inspect/gather.h). It was made from files that others
 * wrote, who may control the reader: every member is checked, and one that is invalid refuses all. */

#include "demand/figures.h"

#include <jansson.h>

/* Returns the figures of one target, which share what was gathered. */
json_t *figures_to_json(Arena *arena, const Figures *figures);

/* Returns 0, or -EINVAL. Strings are printable and bounded; sizes are of PAGE_SIZES, each once. INSTANCE is the
 * figures' name (NULL: none yet). */
int figures_from_json(Arena *arena, const json_t *json, const char *instance,
                      const uint64_t *page_sizes, size_t n_page_sizes, Figures *ret);
