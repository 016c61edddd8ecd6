/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What there is on a host of which nothing is described yet: databases, what their memory is mapped by, what that
 * costs in page tables, and who sets huge pages. */

#include "check/migrate/set_pages.h"
#include "check/suggest.h"

/* How the processes of a unit have mapped their memory. */
typedef struct UnitMemory {
        const char *unit;
        uint64_t n_processes;
        uint64_t tables_bytes; /* page tables, of all of them (VmPTE) */
        uint64_t small_bytes;  /* shared memory on small pages: of the one that has touched most */
        uint64_t huge_bytes;   /* likewise on huge ones; a lower bound */
} UnitMemory;

typedef VEC(UnitMemory) UnitMemories;

typedef struct FirstLook {
        const Suggestions *suggestions;
        const UnitMemories *memories;
        const SetPagesList *set_pages;
        uint64_t default_page_size_bytes;
        uint64_t tables_bytes; /* page tables of the whole host; 0: not known */
} FirstLook;
