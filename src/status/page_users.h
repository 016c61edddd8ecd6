/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* PageUsers: the units and processes that use huge pages, one row for each unit and page size. A process without a unit
 * shares its row with its children.
 *
 * Each source is incomplete in its own way:
 *  - HugetlbPages of a process counts the pages that it touched first, shared ones too: a sum over processes misses
 *    pages touched by ended processes, a maximum misses pages touched by others;
 *  - numa_maps shows the pages that a process touched in each mapping, so that processes sharing a segment (PostgreSQL,
 *    Oracle) show overlapping parts: the largest is taken. Even a single process is a lower bound unless it touched
 *    all, because ended ones may have touched more;
 *  - the unit's hugetlb control group is exact for the pages charged to it.
 * A row is never too high unless a control group is; is_lower_bound tells where it may be too low. Rows are sorted by
 * size, largest first. */

#include "base/diag.h"
#include "config/config.h"
#include "plan/charges.h"
#include "read/process.h"

#include <jansson.h>

typedef struct PageUser {
        const char *unit;         /* NULL: the process has none */
        uint64_t pid;             /* the unit's first process; 0: no process is known */
        const char *command;      /* of that process; without one, what has the pages */
        uint64_t page_size_bytes; /* 0: not known; then `pages` is 0, and only `bytes` is known */
        uint64_t bytes;
        uint64_t pages;        /* in use */
        uint64_t mapped_pages; /* not available to others: in use or reserved; 0: not known */
        PagesByNode nodes;     /* of the pages in use, by node number; empty: not known */
        bool is_lower_bound;   /* more pages may be in use */
        bool is_limited;       /* rsvd.max of its control group, or of one above, is a limit */
        bool is_segment;       /* a System V segment with no process attached */
        uint64_t segment_id;
} PageUser;

typedef struct PageUsers {
        VEC(PageUser) list;
        /* The pages that the rows account for, by size. A segment shared by several rows counts once, so the total may
         * be less than the sum of the rows. */
        PageCounts held;
} PageUsers;

typedef struct PageUsersInput {
        const Topology *topology;
        const Process *processes;
        size_t n_processes;
        const UnitCharge *charges;
        size_t n_charges;
        const char *segments; /* /proc/sysvipc/shm; NULL: not known */
        bool is_complete;     /* all processes could be read */
} PageUsersInput;

/* Returns the rows. If the input is complete, pages that no process accounts for get rows of their own: one for each
 * System V segment without a process, and one for the rest. */
PageUsers *page_users_make(Arena *arena, const PageUsersInput *input);

/* Returns the pages of a size that are in use or reserved, and that no row accounts for. */
uint64_t page_users_unseen_pages(const PageUsers *page_users, const Topology *topology,
                                 uint64_t page_size_bytes);

/* Returns the pages of a row that are not available to others: in use or reserved. */
static inline uint64_t page_user_kept_pages(const PageUser *page_user) {
        return MAX(page_user->pages, page_user->mapped_pages);
}

static inline uint64_t page_user_kept_bytes(const PageUser *page_user) {
        return MAX(page_user->bytes,
                   mul_saturated(page_user_kept_pages(page_user), page_user->page_size_bytes));
}

/* Returns "pid 812, postgres: 1,081 pages of 2M mapped, at least 198 in use (node 0: 100, 1: 98)". */
char *page_user_format_use(Arena *arena, const PageUser *page_user);

/* Returns who has pages in use or reserved: "mariadb.service (pid 812, mariadbd): 198 pages of 2M". */
char *page_user_format(Arena *arena, const PageUser *page_user);

/* Returns a problem without file, id and severity: PAGES that did not exist before hugeplan stay reserved for a unit or
 * process, with the remedy. */
Diag page_user_held(Arena *arena, const PageUser *page_user, uint64_t pages);

/* INSTANCE is the instance of the row's unit; NULL: none. */
json_t *page_user_to_json(const PageUser *page_user, const char *instance);
