/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What was found out about an instance before its start, as its gate says it to hugepland: `Learned` of the interface.
 * What was seen of it is not in it. Whoever says it may be the database's owner, who may say anything: every member is
 * checked, and what is not as it should be refuses all of it. */

#include "demand/learned.h"

#include <jansson.h>

json_t *learned_to_json(const Learned *learned);

/* 0, or -EINVAL. Of INSTANCE, on TOPOLOGY's host. */
int learned_from_json(Arena *arena, const json_t *json, const InstanceConfig *instance,
                      const Topology *topology, Learned *ret);
