/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Types of the keeper's calls. */

#include "keeper/look.h"
#include "plan/changes.h"

typedef struct Keeper Keeper;

typedef enum KeeperCause {
        KEEPER_START, /* right after keeper_start(): its look is used */
        KEEPER_FRESH, /* ReserveTimeout= begins again */
        KEEPER_RETRY, /* ReserveTimeout= continues */
} KeeperCause;

/* ---- changes ---- */

typedef enum KeeperReload {
        KEEPER_RELOAD_REJECTED, /* the configuration has errors; the previous plan stays in effect */
        KEEPER_RELOAD_REFUSED, /* an instance would lose its pages; the previous plan stays in effect */
        KEEPER_RELOAD_BEGUN, /* a round is running; see keeper_reload_result() */
        KEEPER_RELOAD_APPLIED,
} KeeperReload;

typedef struct KeeperReloadResult {
        KeeperReload state;
        Diags problems;  /* errors, or the instances that would lose their pages, with the reason */
        Changes changes; /* of instances */
        PoolChanges pools; /* read before and after */
        HostWrites writes; /* what was written besides the pools */
} KeeperReloadResult;

/* A learned figure to be stored beside the instance's file. */
typedef struct LearnedNews {
        const InstanceConfig *instance;
        Learned learned;
} LearnedNews;

typedef VEC(LearnedNews) LearnedNewsList;

/* ---- gates ---- */

typedef struct Gate {
        const char *instance;
        /* The call comes from the gate of the unit that is starting and needs its pages now; otherwise it is a query.
         * Only one call for each start is a gate: after that has passed, further calls are queries. */
        bool is_starting;
        /* The unit runs, and a supervisor in it is about to start the database again. Accepted only while the kernel
         * counts no pages for the unit, so that the unit never has its pages twice. */
        bool is_restarting;
        MemoryPolicy policy; /* of the starting process; UNKNOWN: that of the drop-in */
        const char *group;   /* the unit's control group; NULL: not known */
        const char *run;     /* the invocation ID; "": not known, and the call is a query */
        bool is_due;         /* a retry or another look is scheduled */
        bool is_last;        /* the time to wait is over: the instance may start with a part */
        /* Private to the keeper. */
        bool has_begun;        /* the hold of the previous run was dropped */
        bool is_tried;         /* it was tried since then */
        unsigned n_rounds;     /* that were run for this gate */
        uint64_t lacked_pages; /* before the last round; UINT64_MAX: not known */
        bool is_repair_due;    /* the caller was told once to wait for a repair */
} Gate;

typedef enum GateAnswer {
        GATE_WAIT,    /* a round is running, or keeper_begin() is to be called */
        GATE_PASS,    /* the instance may start; its hold is recorded */
        GATE_REFUSE,  /* for *RET_REASON */
        GATE_GONE,    /* the instance no longer exists */
        GATE_PENDING, /* the missing pages may come without a round; *RET_REASON says how */
} GateAnswer;

/* The look and status shared by gates that are tried one right after the other. The host is looked at again if its
 * counts have changed, and judged again after each start. {} before the first gate. */
typedef struct GateView {
        Arena *arena;         /* of the returned values; valid until the next gate is tried */
        const Status *status; /* of SEEN; NULL: to be judged again */
        Arena *seen_arena;
        Look *seen; /* the current counts and units; NULL: not looked at */
} GateView;
