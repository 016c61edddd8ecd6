/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What was found out as the database's owner, on its way to root, who keeps it: from hugeplan-ask@.service to
 * hugeplan-learn@.service. The owner may have written it himself, so it is taken like what a reader says
 * (demand/figure_json.h): every member is checked, and what is not as it should be refuses all of it. */

#include "demand/learned.h"

#include <jansson.h>

/* More is no answer: a reader's, which is 1 MiB at most, and what the server has said. */
#define LESSON_BYTES_MAX ((size_t) 2 << 20)

json_t *lesson_to_json(Arena *arena, const Lesson *lesson);

/* 0, or -EINVAL. Of INSTANCE, which takes pages of PAGE_SIZES. */
int lesson_from_json(Arena *arena, const json_t *json, const InstanceConfig *instance,
                     const uint64_t *page_sizes, size_t n_page_sizes, Lesson *ret);
