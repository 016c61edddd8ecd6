/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Idle pages (plan/idle.h) as text: how many, who set them, and what gives them back. */

#include "check/host_view.h"
#include "plan/idle.h"

/* Fewer are not reported. */
#define IDLE_BYTES_MIN (32 * MIB)

typedef struct IdlePages {
        uint64_t pages;              /* 0: none to report */
        const char *where;           /* "919 on node 0, 12 on node 1" */
        const char *command;         /* gives them back */
        const SettingSource *source; /* what sets one of the pools; NULL: no line that was read */
        const char *origin;          /* SOURCE as text, or else the history's; NULL: not known */
} IdlePages;

IdlePages idle_pages_find(Arena *arena, const HostView *view, uint64_t page_size_bytes);
