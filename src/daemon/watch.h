/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Watches the host after a plan was applied, and has deviations repaired. */

#include "base/id_set.h"
#include "base/vec.h"
#include "keeper/keeper.h"
#include "runtime/loop.h"

/* A running unit, whose pages become free when it stops. */
typedef struct WatchedUnit {
        const char *name;
        int number; /* of inotify(7) */
} WatchedUnit;

typedef struct WatchedFile {
        int number;
        bool is_of_host; /* the host-wide file, which sets the pools of all nodes */
} WatchedFile;

typedef enum WatchNews {
        WATCH_LOST,   /* pages are lost and are about to be reserved again */
        WATCH_BEGUN,  /* a round has begun */
        WATCH_LOOKED, /* nothing is to be done */
} WatchNews;

typedef struct Watch {
        const Root *root;
        Loop *loop;
        Keeper *keeper;
        void (*listener)(void *userdata, WatchNews news);
        void *userdata;
        /* inotify(7) for files of the kernel, control groups, and accounts. */
        struct {
                int fd; /* negative: not available */
                LoopIo io;
                WatchedFile items[256];
                size_t n;
                IdSet nodes;        /* nodes whose files are watched */
                size_t n_thp_sizes; /* likewise; 0: their files are no part of the plan */
                int accounts; /* watch of the directory of PATH_GROUP; 0: the group is not needed */
        } files;
        struct {
                Arena *arena; /* of the names */
                VEC(WatchedUnit) list;
                uint64_t ended_usec;   /* the last time that no known unit had an empty group */
                uint64_t started_usec; /* the last start of a unit; 0: none */
        } units;
        struct {
                LoopIo io;    /* the kernel's uevents */
                bool is_seen; /* in the burst that is under way */
        } hotplug;
        /* The wait for the end of a burst of events. */
        struct {
                LoopTimer timer;
                uint64_t latest_usec;
        } settle;
        LoopTimer looks;
        struct {
                uint64_t ended_usec; /* the last one */
                uint64_t pause_usec;
        } repair;
} Watch;

void watch_start(Watch *watch);
void watch_stop(Watch *watch);

/* After a round: watches the files and units that exist now. */
void watch_refresh(Watch *watch);

/* UNIT starts: it has a new control group, which is watched from the next watch_refresh_units() on. */
void watch_forget_unit(Watch *watch, const char *unit);
/* Watches exactly the units that have holds now. */
void watch_refresh_units(Watch *watch);

/* Looks at the host as soon as no other event is pending. */
void watch_look_soon(Watch *watch);

/* A start was allowed or refused: if other units depend on its use, looks at the host until that no longer changes. */
void watch_note_start(Watch *watch);

/* A client waits for a repair: looks at the host as if a file had changed. */
void watch_expect_repair(Watch *watch);

/* Whether a look at the host is pending after a change. */
bool watch_is_settling(const Watch *watch);
