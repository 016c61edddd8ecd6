/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What a reader has found, on its way to who asked (inspect/gather.h): it was made from what strangers
 * wrote, and whoever wrote it may have the reader. So every member is checked, and what is not as it should
 * be refuses all of it. */

#include "demand/figures.h"

#include <jansson.h>

/* All of one target, which share what was gathered. */
json_t *figures_to_json(Arena *arena, const Figures *figures);

/* 0, or -EINVAL. Strings are printable and bounded; sizes are of PAGE_SIZES, each once. INSTANCE is their
 * name (NULL: none yet). */
int figures_from_json(Arena *arena, const json_t *json, const char *instance,
                      const uint64_t *page_sizes, size_t n_page_sizes, Figures *ret);
