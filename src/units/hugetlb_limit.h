/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Hugetlb limits: a pool of huge pages is one for the whole host, and whoever comes first takes what was
 * reserved for somebody else. The hugetlb controller keeps a unit to its own pages: with
 * hugetlb.SIZE.rsvd.max a mapping beyond them fails (ENOMEM). Never hugetlb.SIZE.max, which counts
 * pages when they are touched: a database that has started would die of SIGBUS.
 *
 * A hugetlb limit is an upper bound of the unit, that is, of all instances whose Unit= it is; the pages of
 * an instance are safe once all others have theirs. Sources: hugetlb in
 * Documentation/admin-guide/cgroup-v2.rst, mm/hugetlb_cgroup.c. */

#include "status/status.h"

/* Whether UNIT is to be limited, as Isolate= of its instances has it: TRI_YES: or it must not start;
 * TRI_AUTO: where that can be done; TRI_NO: not. For their unit is one, yes goes before no, and no
 * before auto; and auto asks for a hugetlb limit only where another unit may take pages of a size that an
 * instance of this one takes as well. */
TriState hugetlb_limit_preference(const Config *config, const char *unit);

/* What UNIT may take: one count for each page size of the host, 0 of those that none of its instances
 * has. By what STATUS grants them; or by what they want, where nobody granted anything, for there is
 * no daemon. No counts at all where STATUS has no instance of the unit. */
PageCounts hugetlb_limit_counts(Arena *arena, const Topology *topology, const Status *status,
                                const char *unit, bool is_by_preference);

/* "GROUP/hugetlb.2MB.rsvd.max": the file that holds the limit of a control group, in bytes. */
char *hugetlb_limit_path(Arena *arena, const char *group, uint64_t page_size_bytes);

/* Whether what such a file holds limits anything: no limit reads as "max", or as a number that no
 * memory reaches. */
static inline bool hugetlb_limit_is_limit(uint64_t bytes) {
        return bytes < UINT64_C(1) << 62;
}

/* "2MB", "1GB", "64KB": as the hugetlb controller has a page size in the names of its files. */
char *hugetlb_limit_size_name(Arena *arena, uint64_t page_size_bytes);
