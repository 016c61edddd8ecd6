/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The keeper's own values, for the files keeper*.c only: each part of them belongs to the file that is named, and the
 * others only read it. */

#include "keeper/keeper_call.h"
#include "keeper/look.h"
#include "keeper/notes/counts.h"
#include "keeper/notes/moves.h"
#include "keeper/notes/starts.h"
#include "keeper/notes/tell.h"

/* A configuration, and what gates have found out for it since. */
typedef struct Asked {
        Arena *arena; /* everything here lives in it, to the next reload */
        const Config *config;
        Figures found;
} Asked;

typedef enum KnownStage {
        KNOWN_NOTHING, /* not everything could be read yet: there is nothing to stand by */
        KNOWN_FIRST, /* no round has ended: a keeper that was killed may have left its work undone */
        KNOWN_SETTLED, /* what is otherwise now than a round has left it, others have done */
} KnownStage;

/* What the host was seen to be: keeper_look.c. */
typedef struct Known {
        KnownStage stage;
        Arena *arena;
        Look *look;  /* with the ledger, which changes between two looks */
        bool is_new; /* it is the end of a round, which has not been judged */
        bool is_unsaved; /* the ledger has what the disk has not: what was seen, or how gates were answered */
        /* The last look, or the configuration at the start, could not be read: what was known before stands, nothing is
         * written, and it is tried again. In fault_arena; error 0: none. */
        ReadFault fault;
        Arena *fault_arena;
        unsigned n_tries; /* to read everything for the first time */
} Known;

/* The round under way, or the last one: keeper.c. */
typedef struct Round {
        Apply *apply; /* NULL: none is under way */
        Arena *arena;
        PoolLimits limits; /* what trying has shown */
        Arena *attempts_arena;
        Attempts attempts; /* of the last round that did anything */
        unsigned n_passes;
        bool is_another_wanted;
        bool is_hurried;
        uint64_t attempts_until_usec;
} Round;

/* What others have changed: keeper_drift.c. */
typedef struct DriftKnown {
        Arena *arena;
        SourceNames told; /* those that are so still */
        bool is_left;     /* it was told, and no round has begun since */
        uint64_t host_written_usec;
        uint64_t restored_usec; /* when what others had taken was put back last */
} DriftKnown;

/* Where a reload stands. Until it is settled, it may yet be taken back. */
typedef enum ReloadStage {
        RELOAD_NONE,
        RELOAD_TRYING,   /* with everything kept that instances had before, as far as memory goes */
        RELOAD_SETTLING, /* it is in effect; what was kept is given back */
        RELOAD_TAKING_BACK, /* it is not; what was tried is given back */
} ReloadStage;

/* keeper_reload.c */
typedef struct Reload {
        Arena *arena; /* of all here; from one reload to the next */
        ReloadStage stage;
        KeeperReload state;
        bool is_forced;
        Asked before;      /* to go back to, */
        Arena *look_arena; /* with the look by it, for the host may be unreadable then; NULL: none */
        Look *look;
        const Ledger *ledger; /* as it was then */
        const Status *status;
        HostWrites undo; /* sets back what was set besides the pools; `before`: what it was set to */
        Diags problems;
        const Diags *rejected; /* mistakes found on disk, or why it was refused; NULL: none */
} Reload;

/* What the pools held when a call for a change began. */
typedef struct Before {
        Arena *arena;
        const Topology *topology;
} Before;

struct Keeper {
        const Root *root;
        Teller teller;
        Asked asked;
        Known known;
        Round round;
        DriftKnown drift;
        Moves moves;
        Starts starts;
        Counts counts;
        Reload reload;
        Before before;
        bool is_held_back; /* rescue mode: nothing was reserved */
};

static inline bool keeper_has_started(const Keeper *keeper) {
        return keeper->known.stage != KNOWN_NOTHING;
}
