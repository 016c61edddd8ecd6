/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Numbers of pages as text. */

#include "config/config.h"
#include "model/topology.h"

#include <jansson.h>

/* "1,081 pages of 2M"; several sizes with commas between. */
char *page_counts_format(Arena *arena, const PageCounts *counts);

/* "2M:1081 1G:3": as a configuration has it, with its size each, for PageSize= may be changed. */
char *page_counts_value(Arena *arena, const PageCounts *counts);

/* Whether that is a figure at all, whoever says it: pages of a size that the host has, at least one, and no more than
 * can be counted. NULL, or what is wrong with it. */
const char *page_count_check(const PageCount *count, const Topology *topology);

/* A number that is not negative. 0, or -EINVAL. */
static inline int figure_count_from_json(const json_t *json, uint64_t *ret) {
        if (!json_is_integer(json) || json_integer_value(json) < 0)
                return -EINVAL;
        *ret = (uint64_t) json_integer_value(json);
        return 0;
}

/* [{"pageSizeBytes": 2097152, "pages": 1081}], each size once: the one form in which they are handed on. 0, or -EINVAL
 * where one of them is no figure. */
json_t *page_counts_to_json(const PageCounts *counts);
int page_counts_from_json(Arena *arena, const json_t *json, const Topology *topology,
                          PageCounts *ret);
