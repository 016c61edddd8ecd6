/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the hugetlb controller has counted for one control group: a few small files that everyone may read. */

#include "host/root.h"
#include "status/page_users.h"

/* Of GROUP, a path of the unified hierarchy; *ret without its unit. False: it is not counted for. */
bool page_charge_read(const Root *root, Arena *arena, const char *group, uint64_t page_size_bytes,
                      PageUserCharge *ret);
