/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the hugetlb controller has counted for one control group: a few small files that everyone may read. */

#include "host/root.h"
#include "status/page_users.h"

typedef VEC(PageUserCharge) PageUserCharges;

/* Of GROUP, a path of the unified hierarchy, which is that of UNIT (NULL: none): one for each page size of TOPOLOGY
 * that is counted. */
PageUserCharges page_charges_read(const Root *root, Arena *arena, const Topology *topology,
                                  const char *group, const char *unit);
