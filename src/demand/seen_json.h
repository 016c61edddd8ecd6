/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What was seen of a unit, on its way to root, who keeps it: from hugeplan-look@.service, which may look into
 * others' processes and is nobody, to hugeplan-learn@.service, which is root and may not. What it says comes from
 * what these processes map and are called, so that it is taken like what a reader says (demand/figure_json.h):
 * every member is checked, and what is not as it should be refuses all of it. */

#include "demand/seen.h"
#include "model/topology.h"

#include <jansson.h>

/* All that is said in one go: a line for each look. */
#define SEEN_BYTES_MAX ((size_t) 64 << 10)

/* Pages, command, is_exact, is_whole, and IS_LAST (seen_merge()); whoever keeps it knows the rest. */
json_t *seen_to_json(Arena *arena, const Seen *seen, bool is_last);

/* 0, or -EINVAL. Of INSTANCE, as it is described now: at least one page, of sizes that TOPOLOGY has, each once. */
int seen_from_json(Arena *arena, const json_t *json, const InstanceConfig *instance,
                   const Topology *topology, Seen *ret, bool *ret_is_last);
