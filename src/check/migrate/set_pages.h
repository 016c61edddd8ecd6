/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What a boot without hugeplan would leave in the pools: all that other programs' configuration sets, in the
 * order in which it acts. */

#include "read/setting_source.h"

/* Of one page size. */
typedef struct SetPages {
        uint64_t page_size_bytes;
        uint64_t pages;       /* over all nodes */
        uint64_t *node_pages; /* by index of the node */
        bool is_by_node;      /* somebody chose the nodes; else the kernel would spread them */
        VEC(const SettingSource *) sources; /* that have a part in it */
} SetPages;

typedef VEC(SetPages) SetPagesList;

/* Sizes of which something is set, the largest first. The kernel's command line, sysctl.d and tmpfiles.d act one
 * after the other; when tuned and scripts do is not known, and of two lines of a script one may stand in a branch
 * that is not taken, so that of these the larger number counts. */
SetPagesList set_pages_find(Arena *arena, const SettingSources *entries, const Topology *topology);
