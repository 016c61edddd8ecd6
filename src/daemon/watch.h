/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What keeps the plan true after it was applied. */

#include "base/id_set.h"
#include "base/vec.h"
#include "keeper/keeper.h"
#include "runtime/loop.h"

/* A unit that runs: its pages are free when it has stopped. */
typedef struct WatchedUnit {
        const char *name;
        int number; /* of inotify(7) */
} WatchedUnit;

typedef struct WatchedFile {
        int number;
        bool is_of_host; /* through which the pools of all nodes are set at once */
} WatchedFile;

typedef enum WatchNews {
        WATCH_LOST,   /* pages have gone, and are about to be put back */
        WATCH_BEGUN,  /* a round: there is something to be written */
        WATCH_LOOKED, /* nothing is to be done */
} WatchNews;

typedef struct Watch {
        const Root *root;
        Loop *loop;
        Keeper *keeper;
        void (*listener)(void *userdata, WatchNews news);
        void *userdata;
        int inotify_fd; /* of files and units; negative: there is none */
        LoopIo inotify, uevents;
        WatchedFile files[256];
        size_t n_files;
        IdSet nodes;        /* the nodes whose files are watched */
        int accounts;       /* of the directory of PATH_GROUP; 0: nobody needs the group */
        Arena *units_arena; /* of the names */
        VEC(WatchedUnit) units;
        uint64_t ended_usec; /* when none was known last that has ended, as far as one can see, and is not gone */
        uint64_t started_usec; /* when a unit was let start last; 0: none was */
        LoopTimer settle, looks, slow;
        uint64_t settle_latest_usec; /* a burst of events is not waited for beyond it */
        bool has_hotplug;
        uint64_t repaired_usec;
        uint64_t repair_pause_usec;
} Watch;

void watch_start(Watch *watch);
void watch_stop(Watch *watch);

/* After a round: watches the files and units there are now. */
void watch_refresh(Watch *watch);

/* UNIT was let start: its control group is another one now, and watched from the next watch_refresh_units() on. */
void watch_forget_unit(Watch *watch, const char *unit);
/* Watches the units that are let start by now, and no others. */
void watch_refresh_units(Watch *watch);

/* Looks at the host as soon as nothing else is ready. */
void watch_look_soon(Watch *watch);

/* A unit was let start, or was not: looks until it has come to rest, where what it takes may be what another depends
 * on. */
void watch_note_start(Watch *watch);

/* Somebody waits for what others have changed to be put back: the host is looked at as if its files had told so. */
void watch_expect_repair(Watch *watch);

/* Whether the host will be looked at soon, because something has happened there. */
bool watch_is_settling(const Watch *watch);

/* Logs an event of the keeper, with the source of the setting where that explains it; USERDATA is a Watch. */
void watch_tell(void *userdata, const KeeperEvent *event);
