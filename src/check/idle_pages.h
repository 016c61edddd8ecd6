/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Pages that lie idle (plan/idle.h) in words: how many, who has put them there, and what gives them back. */

#include "plan/idle.h"
#include "read/setting_source.h"
#include "status/history.h"
#include "status/page_users.h"

/* Less is not worth a word. */
#define IDLE_BYTES_MIN (32 * MIB)

typedef struct IdleInput {
        const Config *config;
        const Topology *topology;
        const Plan *plan;
        const Ledger *ledger; /* by which PLAN was made, as is USE */
        const HostUse *use;
        const PageUsers *page_users;           /* NULL: nobody has looked */
        const SettingSources *setting_sources; /* NULL: nobody has looked */
        const HistoryEntries *history;         /* likewise */
} IdleInput;

typedef struct IdlePages {
        uint64_t pages;              /* 0: none worth a word */
        const char *where;           /* "919 on node 0, 12 on node 1" */
        const char *command;         /* gives them back */
        const SettingSource *source; /* who has set one of the pools; NULL: no line that was read */
        const char *origin; /* the same in words, or by the history; NULL: nothing is known */
} IdlePages;

IdlePages idle_pages_find(Arena *arena, const IdleInput *input, uint64_t page_size_bytes);
