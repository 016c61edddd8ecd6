/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Pages set by others: the existing ones, or those that a boot without hugeplan would leave after all configuration of
 * other programs that was read, in the order in which it applies; the larger number of both. */

#include "plan/plan.h"
#include "read/setting_source.h"

#define SET_PAGES_UNEXPLAINED "as they stand now: nothing that was read sets as many"

/* Pages of one size. */
typedef struct SetPages {
        uint64_t page_size_bytes;
        uint64_t pages;       /* over all nodes */
        uint64_t *node_pages; /* by index of the node */
        bool is_by_node;      /* the nodes were chosen; else the kernel spreads the pages */
        bool is_unexplained;  /* more exist than any entry that was read sets */
        VEC(const SettingSource *) sources; /* those that contribute */
} SetPages;

typedef VEC(SetPages) SetPagesList;

/* Returns the sizes with pages that are set, largest first. The kernel command line, sysctl.d and tmpfiles.d apply in
 * this order; when tuned and sysfsutils apply is not known, so only their larger number counts. Pages that PLAN (NULL:
 * none yet) has reserved do not count. */
SetPagesList set_pages_find(Arena *arena, const SettingSources *entries, const Topology *topology,
                            const Plan *plan);
