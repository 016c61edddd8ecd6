/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What there is on a host of which nothing is described yet: databases, what their memory is mapped by, what that
 * costs in page tables, and who sets huge pages. */

#include "check/migrate/set_pages.h"
#include "check/suggest.h"

typedef struct FirstLook {
        const Suggestions *suggestions;
        const SetPagesList *set_pages;
        const Topology *topology;
        uint64_t tables_bytes; /* page tables of the whole host; 0: not known */
} FirstLook;
