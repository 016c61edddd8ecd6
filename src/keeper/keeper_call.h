/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the keeper is asked for, and what it answers. */

#include "keeper/look.h"
#include "plan/changes.h"

typedef struct Keeper Keeper;

typedef enum KeeperCause {
        KEEPER_START, /* right after keeper_start(), whose look is used; else as fresh */
        KEEPER_FRESH, /* try as hard as ReserveTimeout= allows, from now on */
        KEEPER_RETRY, /* go on with what is short */
} KeeperCause;

/* ---- changes ---- */

typedef enum KeeperReload {
        KEEPER_RELOAD_REJECTED, /* there are mistakes; the previous plan stays in effect */
        KEEPER_RELOAD_REFUSED,  /* an instance that stands would fall; likewise */
        KEEPER_RELOAD_BEGUN,    /* a round is under way; see keeper_reload_result() */
        KEEPER_RELOAD_APPLIED,
} KeeperReload;

typedef struct KeeperReloadResult {
        KeeperReload state;
        Diags problems;    /* mistakes, or who would fall and why */
        Changes changes;   /* of instances */
        PoolChanges pools; /* as they were read before and after */
        HostWrites writes; /* what the new plan set besides the pools */
} KeeperReloadResult;

/* What is new of an instance of the configuration on disk, to be kept there. */
typedef struct LearnedNews {
        const InstanceConfig *instance;
        Learned learned;
} LearnedNews;

typedef VEC(LearnedNews) LearnedNewsList;

/* ---- gates ---- */

typedef struct Gate {
        const char *instance;
        /* The gate of the unit that is about to start, which needs its pages now; else somebody asks. That
         * is believed once for each start: whoever comes after that was let start asks. */
        bool is_starting;
        /* Its unit runs, and a supervisor there is about to start the database again. Believed as far as the kernel
         * counts for the unit, and has nothing left for it: so often as may be, for it never has its pages twice. */
        bool is_restarting;
        MemoryPolicy policy; /* under which it starts; UNKNOWN: as its drop-in has it */
        const char *group;   /* its control group; NULL: not known */
        const char *run;     /* the id of this start; "": not known, so that nobody starts by it */
        bool is_due;         /* a retry, or a look at what has changed, comes by itself */
        bool is_last;        /* its time is over: who may start with a part does */
        /* The keeper's own. */
        bool has_begun;        /* its earlier run was ended */
        bool is_tried;         /* since then */
        unsigned n_rounds;     /* that were run for it */
        uint64_t lacked_pages; /* before the last of them; UINT64_MAX: not known */
        bool is_repair_due; /* its owner was told that there is something to be repaired for it */
} Gate;

typedef enum GateAnswer {
        GATE_WAIT,   /* a round is under way, or keeper_begin() is to be called */
        GATE_PASS,   /* it may start, and its unit has been noted as running */
        GATE_REFUSE, /* *RET_REASON says why */
        GATE_GONE,   /* there is no such instance any more */
        GATE_PENDING, /* what it lacks may come without a round for it; *RET_REASON says what that is */
} GateAnswer;

/* What is so, for all gates that are tried one right after the other: looked at once, and again where anything shows
 * that it is another; judged again after each that is let start. {} before the first. */
typedef struct GateView {
        Arena *arena;         /* all that is returned is in it, until the next one is tried */
        const Status *status; /* by SEEN; NULL: nothing is judged, or something has changed since */
        Arena *seen_arena;
        Look *seen; /* whose counts and units stand; NULL: nothing was looked at */
} GateView;
