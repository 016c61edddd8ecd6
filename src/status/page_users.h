/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* PageUsers: who holds huge pages now, one row for each unit and page size. Processes without a unit
 * are taken together with their children.
 *
 * No source tells all, and each errs in its own way:
 *  - HugetlbPages of a process counts what it touched first, for shared segments too: a sum over
 *    processes misses what the dead have touched, a maximum misses what others have;
 *  - numa_maps shows what a process has touched of each mapping, so that processes of one segment
 *    (PostgreSQL's, Oracle's) show overlapping parts of it: the largest is taken. Even if there is
 *    but one, others that have ended may have touched more: a lower bound unless it is the whole;
 *  - the unit's hugetlb control group is exact, for what was charged to it.
 * A row is never more than the truth but for a control group; is_lower_bound says where it may be
 * less. Rows are sorted from the largest down. */

#include "base/diag.h"
#include "config/config.h"
#include "read/process.h"

#include <jansson.h>

/* How the command of a row begins that is a segment without any process; its number follows. */
#define PAGE_USER_SEGMENT "System V segment "

typedef struct PageUser {
        const char *unit;         /* NULL: the process belongs to none */
        uint64_t pid;             /* the unit's first process; 0: no process is seen to hold them */
        const char *command;      /* of that process; what holds them where there is none */
        uint64_t page_size_bytes; /* 0: not known, then `pages` is 0 too and `bytes` tells */
        uint64_t bytes;
        uint64_t pages;        /* in use */
        uint64_t mapped_pages; /* kept from others: in use or promised; 0: not known */
        NodePages *nodes;      /* where those in use are, by number; n_nodes is 0: not known */
        size_t n_nodes;
        bool is_lower_bound; /* there may be more in use */
        bool is_limited;     /* its control group, or one above, limits how many it may take */
} PageUser;

typedef struct PageUsers {
        VEC(PageUser) list;
        /* By size, what the rows account for. Segments that several of them share count once, so that this may be less
         * than their sum. */
        PageCounts held;
        /* All processes could be looked into: what is in no row is held by no process that lives. */
        bool is_complete;
} PageUsers;

/* What the hugetlb controller has charged to a unit's control group. */
typedef struct PageUserCharge {
        const char *unit;
        uint64_t page_size_bytes;
        uint64_t pages;
        uint64_t reserved_pages; /* rsvd.current: with what is promised; 0: not known */
        bool is_limited;         /* rsvd.max of the group, or of one above, is a limit */
        NodePages *nodes;
        size_t n_nodes;
} PageUserCharge;

typedef struct PageUsersInput {
        const Topology *topology;
        const Process *processes;
        size_t n_processes;
        const PageUserCharge *charges;
        size_t n_charges;
        const char *segments; /* /proc/sysvipc/shm; NULL: not known */
        bool is_complete;
} PageUsersInput;

/* Where the input is complete, what is left of the pools gets rows of its own: System V segments
 * without a process, and the rest. */
PageUsers *page_users_make(Arena *arena, const PageUsersInput *input);

/* Pages of a size that are in use or promised, but not by what is in the rows. */
uint64_t page_users_unseen_pages(const PageUsers *page_users, const Topology *topology,
                                 uint64_t page_size_bytes);

/* Whether a row is a System V segment that nobody is attached to, and its number. */
bool page_user_segment(Arena *arena, const PageUser *page_user, uint64_t *ret_id);

/* What a row keeps from others: pages in use, and those that are promised to it. */
static inline uint64_t page_user_kept_pages(const PageUser *page_user) {
        return MAX(page_user->pages, page_user->mapped_pages);
}

static inline uint64_t page_user_kept_bytes(const PageUser *page_user) {
        return MAX(page_user->bytes,
                   mul_saturated(page_user_kept_pages(page_user), page_user->page_size_bytes));
}

/* "pid 812, postgres: 1,081 pages of 2M mapped, at least 198 in use (node 0: 100, 1: 98)". */
char *page_user_format_use(Arena *arena, const PageUser *page_user);

/* What it keeps from others: "mariadb.service (pid 812, mariadbd): 198 pages of 2M". */
char *page_user_format(Arena *arena, const PageUser *page_user);

/* That PAGES stay reserved for it, a unit or a process, which were not there before hugeplan, and how they are had
 * back: without file, id and severity. */
Diag page_user_held(Arena *arena, const PageUser *page_user, uint64_t pages);

/* INSTANCE: whose unit this is, NULL for none. */
json_t *page_user_to_json(const PageUser *page_user, const char *instance);
