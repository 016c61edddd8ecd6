/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What a gate reports to hugepland about its instance before the start: `Learned` of the interface, without what was
 * seen. The sender may be the database's owner, and may send anything: every member is checked, and one that is invalid
 * refuses all. */

#include "demand/learned.h"

#include <jansson.h>

json_t *learned_to_json(const Learned *learned);

/* Returns 0, or -EINVAL if JSON is not valid for INSTANCE on TOPOLOGY's host. */
int learned_from_json(Arena *arena, const json_t *json, const InstanceConfig *instance,
                      const Topology *topology, Learned *ret);
