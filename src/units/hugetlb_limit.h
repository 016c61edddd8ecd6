/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Hugetlb limits: all units share the host's pools, so that a unit can take pages planned for another. The hugetlb
 * controller restricts a unit to its own pages: with hugetlb.SIZE.rsvd.max a mapping beyond them fails (ENOMEM).
 * hugetlb.SIZE.max is never used: it counts pages when they are touched, and would kill a running database by SIGBUS.
 *
 * A hugetlb limit is an upper bound for the unit, that is, for all instances with that Unit=; the pages of an instance
 * are safe once all other units are limited. Sources: hugetlb in Documentation/admin-guide/cgroup-v2.rst,
 * mm/hugetlb_cgroup.c. */

#include "status/status.h"

/* Returns whether to limit UNIT by Isolate= of its instances: TRI_YES: the unit must not start without a limit;
 * TRI_AUTO: limited if possible; TRI_NO: not limited. If instances differ, yes has precedence over no, and no over
 * auto; auto asks for a limit only if another unit may use pages of the same size as an instance of this unit. */
TriState hugetlb_limit_preference(const Config *config, const char *unit);

/* Returns the limits of UNIT: of each page size of the host the pages that STATUS has granted, 0 for sizes that no
 * instance of the unit uses; no counts if STATUS has no instance of the unit. */
PageCounts hugetlb_limit_counts(Arena *arena, const Topology *topology, const Status *status,
                                const char *unit);

/* Returns "GROUP/hugetlb.2MB.rsvd.max", the file with the limit of a control group, in bytes. */
char *hugetlb_limit_path(Arena *arena, const char *group, uint64_t page_size_bytes);

/* Returns whether the value of such a file is a limit. Without a limit the file reads "max" or a number beyond
 * any memory. */
static inline bool hugetlb_limit_is_limit(uint64_t bytes) {
        return bytes < UINT64_C(1) << 62;
}

/* Returns "2MB", "1GB" or "64KB", as in the names of the hugetlb controller's files. */
char *hugetlb_limit_size_name(Arena *arena, uint64_t page_size_bytes);
