/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What others have set: what stands in the pools, or what a boot without hugeplan would leave there by all that other
 * programs' configuration is read to set, in the order in which it acts; of both the larger number. */

#include "plan/plan.h"
#include "read/setting_source.h"

#define SET_PAGES_UNEXPLAINED "as they stand now: nothing that was read sets as many"

/* Of one page size. */
typedef struct SetPages {
        uint64_t page_size_bytes;
        uint64_t pages;       /* over all nodes */
        uint64_t *node_pages; /* by index of the node */
        bool is_by_node;      /* somebody chose the nodes; else the kernel would spread them */
        bool is_unexplained;  /* more stand than anything that was read sets */
        VEC(const SettingSource *) sources; /* that have a part in it */
} SetPages;

typedef VEC(SetPages) SetPagesList;

/* Sizes of which something is set, the largest first. The kernel's command line, sysctl.d and tmpfiles.d act one
 * after the other; when tuned and sysfsutils do is not known, so that of these the larger number counts. What PLAN
 * (NULL: there is none yet) has reserved itself is nobody else's. */
SetPagesList set_pages_find(Arena *arena, const SettingSources *entries, const Topology *topology,
                            const Plan *plan);
