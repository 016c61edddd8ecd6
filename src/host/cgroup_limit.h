/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The hugetlb limits of units/hugetlb_limit.h, set in the control groups of units.
 *
 * systemd knows nothing of the hugetlb controller: it neither turns it on nor off. So it is turned on
 * here, for the groups from the root down to the one of the unit, and what is written into the unit's
 * own lasts as long as that. Documentation/admin-guide/cgroup-v2.rst */

#include "config/config.h"
#include "host/root.h"
#include "model/reason.h"

/* Why no unit of this host can be limited: REASON_NO_HUGETLB_LIMIT. REASON_NONE where nothing speaks against
 * it, or nothing can be found out. */
Reason cgroup_limit_judge(const Root *root);

/* Has the controller count for GROUP, which is a unit's, from now on: what was mapped before is counted
 * above it. REASON_NONE, or REASON_NO_HUGETLB_LIMIT with what failed. Needs to be root. */
Reason cgroup_limit_count(const Root *root, Arena *arena, const char *group);

/* Limits GROUP (unit_cgroup_own()) to LIMITS, and reads back. REASON_NONE, or REASON_NO_HUGETLB_LIMIT with
 * what failed; limits of other page sizes may be set then. Needs to be root. */
Reason cgroup_limit_set(const Root *root, Arena *arena, const char *group,
                        const PageCounts *limits);

/* Takes limits of GROUP away that are smaller than LIMITS: of an earlier configuration. */
void cgroup_limit_widen(const Root *root, Arena *arena, const char *group,
                        const PageCounts *limits);
