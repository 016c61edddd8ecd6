/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Sets the hugetlb limits of units/hugetlb_limit.h in the control groups of units.
 *
 * systemd does not support the hugetlb controller: it neither enables nor disables it. So hugeplan enables the
 * controller in each group from the root down to the unit's, and a limit lasts as long as the unit's control
 * group. Documentation/admin-guide/cgroup-v2.rst */

#include "config/config.h"
#include "host/root.h"
#include "model/reason.h"

/* Returns REASON_NO_HUGETLB_LIMIT and the cause if no unit of this host can be limited; REASON_NONE if units can be
 * limited or if that is not known. */
Reason cgroup_limit_judge(const Root *root);

/* Enables the controller for GROUP, the control group of a unit. Pages mapped earlier stay charged to the group above.
 * Returns REASON_NONE, or REASON_NO_HUGETLB_LIMIT with what failed. Needs root. */
Reason cgroup_limit_count(const Root *root, Arena *arena, const char *group);

/* Sets LIMITS for GROUP, a unit's control group, and reads them back. Returns REASON_NONE, or REASON_NO_HUGETLB_LIMIT
 * with what failed; limits of other page sizes may have been set in that case. Needs root. */
Reason cgroup_limit_set(const Root *root, Arena *arena, const char *group,
                        const PageCounts *limits);

/* Removes limits of GROUP that are smaller than LIMITS: an earlier configuration has set them. */
void cgroup_limit_widen(const Root *root, Arena *arena, const char *group,
                        const PageCounts *limits);
