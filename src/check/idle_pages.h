/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Pages that lie idle: in a pool, wanted by no instance and used by nobody; who has put them there, and what
 * gives them back. A lower bound: what is not known counts as somebody's. */

#include "plan/plan.h"
#include "read/setting_source.h"
#include "status/page_users.h"

/* Less is not worth a word. */
#define IDLE_BYTES_MIN (32 * MIB)

typedef struct IdleInput {
        const Config *config;
        const Topology *topology;
        const Plan *plan;
        const PageUsers *page_users;           /* NULL: nobody has looked */
        const SettingSources *setting_sources; /* NULL: likewise */
} IdleInput;

typedef struct IdlePages {
        uint64_t pages;              /* once the plan is applied; 0: none worth a word */
        const char *where;           /* "919 on node 0, 12 on node 1" */
        const char *command;         /* gives them back */
        const SettingSource *source; /* who has set one of the pools; NULL: nobody is known to */
} IdlePages;

/* None with ExistingPages=keep: then pages that were there are somebody's by declaration. */
IdlePages idle_pages_find(Arena *arena, const IdleInput *input, uint64_t page_size_bytes);
