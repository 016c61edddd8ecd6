/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Idle pages (plan/idle.h) as text: how many, who set them, and what gives them back. */

#include "plan/idle.h"
#include "read/setting_source.h"
#include "status/history.h"
#include "status/page_users.h"

/* Fewer are not reported. */
#define IDLE_BYTES_MIN (32 * MIB)

typedef struct IdleInput {
        const Config *config;
        const Topology *topology;
        const Plan *plan;
        const Ledger *ledger; /* PLAN was made from it, and from USE */
        const HostUse *use;
        const PageUsers *page_users;           /* NULL: not read */
        const SettingSources *setting_sources; /* NULL: not read */
        const HistoryEntries *history;         /* likewise */
} IdleInput;

typedef struct IdlePages {
        uint64_t pages;              /* 0: none to report */
        const char *where;           /* "919 on node 0, 12 on node 1" */
        const char *command;         /* gives them back */
        const SettingSource *source; /* what sets one of the pools; NULL: no line that was read */
        const char *origin;          /* SOURCE as text, or else the history's; NULL: not known */
} IdlePages;

IdlePages idle_pages_find(Arena *arena, const IdleInput *input, uint64_t page_size_bytes);
