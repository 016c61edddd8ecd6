/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The keeper's state, private to the files keeper*.c. Each part is written by the file named at it and read by the
 * others. */

#include "keeper/keeper_call.h"
#include "keeper/look.h"
#include "keeper/notes/counts.h"
#include "keeper/notes/events.h"
#include "keeper/notes/moves.h"
#include "keeper/notes/starts.h"

/* A configuration, and the sizes that gates have reported since. */
typedef struct Asked {
        Arena *arena; /* owns both, until the next reload */
        const Config *config;
        Figures found;
} Asked;

typedef enum KnownStage {
        KNOWN_NOTHING, /* the configuration or the host could not be read yet */
        KNOWN_FIRST, /* no round has ended: differences may be unfinished work of a killed daemon */
        KNOWN_SETTLED, /* a round has ended: later differences are external changes */
} KnownStage;

/* What is known of the host: keeper_look.c. */
typedef struct Known {
        KnownStage stage;
        Arena *arena;
        Look *look;      /* with the ledger, which changes between two looks */
        bool is_new;     /* made at the end of a round that was not judged yet */
        bool is_unsaved; /* the ledger has changes that are not on disk */
        /* Set if the last look, or the configuration at startup, could not be read: the previous look stays, nothing is
         * written, and reading is tried again. Allocated in fault_arena; error 0: none. */
        ReadFault fault;
        Arena *fault_arena;
        unsigned n_tries; /* attempts to read everything for the first time */
} Known;

/* The running round, or the last one: keeper.c. */
typedef struct Round {
        Apply *apply; /* NULL: no round is running */
        Arena *arena;
        PoolLimits limits; /* sizes that pools could not exceed */
        Arena *attempts_arena;
        Attempts attempts; /* of the last round that wrote anything */
        unsigned n_passes;
        bool is_another_wanted;
        bool stops_early;
        uint64_t attempts_until_usec;
} Round;

/* External changes: keeper_drift.c. */
typedef struct DriftKnown {
        Arena *arena;
        SourceNames reported; /* drift that has been reported and persists */
        bool is_left;         /* drift was reported, and no round has begun since */
        uint64_t host_written_usec;
        uint64_t restored_usec; /* when pages were last reserved again after an external change */
} DriftKnown;

/* The stage of a reload. A reload can be rolled back until it is settling. */
typedef enum ReloadStage {
        RELOAD_NONE,
        RELOAD_TRYING,      /* the old pages are kept as well, as far as memory allows */
        RELOAD_SETTLING,    /* in effect; the old pages are given back */
        RELOAD_TAKING_BACK, /* rolled back; the new pages are given back */
} ReloadStage;

/* keeper_reload.c */
typedef struct Reload {
        Arena *arena; /* owns the members, until the next reload */
        ReloadStage stage;
        KeeperReload state;
        bool is_forced;
        Asked before; /* the previous configuration, */
        Arena *look_arena; /* with its look, in case the host cannot be read during a rollback; NULL: none */
        Look *look;
        const Ledger *ledger; /* before the reload */
        const Status *status;
        HostWrites
                undo; /* reverts what was written besides the pools; `before` is the written value */
        Diags problems;
        const Diags *
                rejected; /* errors of the files on disk, or why the reload was refused; NULL: none */
} Reload;

/* The pools before a requested change: keeper_look.c. */
typedef struct Before {
        Arena *arena;
        const Topology *topology;
} Before;

struct Keeper {
        const Root *root;
        EventSink events;
        Asked asked;
        Known known;
        Round round;
        DriftKnown drift;
        Moves moves;
        Starts starts;
        Counts counts;
        Reload reload;
        Before before;
        bool is_held_back; /* rescue mode: nothing is reserved */
};

static inline bool keeper_has_started(const Keeper *keeper) {
        return keeper->known.stage != KNOWN_NOTHING;
}
