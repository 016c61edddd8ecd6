/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Numbers of pages as text and as JSON. */

#include "config/config.h"
#include "model/topology.h"

#include <jansson.h>

/* Returns "1,081 pages of 2M"; several sizes are separated by commas. */
char *page_counts_format(Arena *arena, const PageCounts *counts);

/* Returns "2M:1081 1G:3", as in a configuration: each with its size, since PageSize= may be changed. */
char *page_counts_value(Arena *arena, const PageCounts *counts);

/* Returns whether both have the same number of each size. */
bool page_counts_equal(const PageCounts *a, const PageCounts *b);

/* Returns NULL if COUNT is valid: pages of a size that the host has, at least one, and no more than can be counted;
 * else what is wrong with it. */
const char *page_count_check(const PageCount *count, const Topology *topology);

/* Reads a number that is not negative; returns 0, or -EINVAL. */
static inline int figure_count_from_json(const json_t *json, uint64_t *ret) {
        if (!json_is_integer(json) || json_integer_value(json) < 0)
                return -EINVAL;
        *ret = (uint64_t) json_integer_value(json);
        return 0;
}

/* Convert to and from [{"pageSizeBytes": 2097152, "pages": 1081}], each size once: the one form in which counts are
 * passed on. page_counts_from_json() returns 0, or -EINVAL if a count is not valid. */
json_t *page_counts_to_json(const PageCounts *counts);
int page_counts_from_json(Arena *arena, const json_t *json, const Topology *topology,
                          PageCounts *ret);
