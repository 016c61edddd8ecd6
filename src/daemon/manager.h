/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The manager: the keeper (keeper/keeper.h) in an event loop. It performs the keeper's writes in a
 * thread, tells the service manager how far things are, and notices what happens on the host. Who
 * serves clients asks it, and is told by its listener when there is something new for them. */

#include "daemon/boot.h"
#include "daemon/disk.h"
#include "daemon/journal.h"
#include "daemon/login_limits.h"
#include "daemon/store.h"
#include "daemon/units.h"
#include "daemon/watch.h"
#include "keeper/keeper.h"
#include "runtime/loop.h"
#include "runtime/worker.h"

typedef struct Manager Manager;
typedef struct Client Client;
typedef struct Belief Belief;

typedef enum ManagerNews {
        MANAGER_WRITTEN, /* between two writes: an instance may be whole already */
        MANAGER_LOST,    /* pages have gone, and a round is about to put them back */
        MANAGER_LOOKED,  /* something was found out between two rounds */
        MANAGER_SETTLED, /* a round has ended: who can be answered is */
        MANAGER_REREAD,  /* systemd has read its units anew */
        MANAGER_DUE,     /* all have been heard who had something to say */
} ManagerNews;

typedef void (*ManagerListener)(Manager *manager, ManagerNews news);

/* The configuration as its files are now, which may be another one than is in force: the next reload and the next boot
 * go by it. It is read anew only when one of its files, directories or accounts is another one. */
typedef struct Files {
        Arena *arena,
                *before; /* of `config`; of the one before, to which somebody may refer still */
        const Config *config;
} Files;

struct Manager {
        const Root *root;
        Loop *loop;
        ManagerListener listener;
        Client *clients;     /* the listener's */
        LoopTimer due;       /* likewise: some of them are to be tried, or told */
        size_t n_due;        /* so many */
        VEC(Belief) beliefs; /* likewise: who was believed when */
        Arena *beliefs_arena;
        Keeper *keeper;
        Disk *disk;
        Boot boot_guard;
        LoginLimits login_limits;
        Worker *worker;
        ApplyOperation operation; /* under way in the worker */
        LoopIo worker_io;
        LoopTimer boot, retry, alive;
        Watch watch;
        Units units;
        Files files;
        Store store;
        Told told;

        bool is_starting; /* within manager_start(), or as the boot was counted */
        bool is_ready_sent;
        bool is_reload_wanted; /* after the round under way */
        bool is_reload_forced;
        bool is_reload_begun; /* the round under way, or the next one, ends a reload */
        uint64_t round_ended_usec;
        uint64_t retry_delay_usec;
};

/* LOOP and ROOT must outlive it. Negative errno. */
int manager_new(const Root *root, Loop *loop, ManagerListener listener, Manager **ret);
void manager_freep(Manager **manager); /* for CLEANUP() */

/* Reads the configuration and begins the first round. */
void manager_start(Manager *manager);

/* Reads the configuration anew, after the round under way if there is one. */
void manager_reload(Manager *manager, bool is_forced);

/* Begins a round with all its time ahead, after the one under way if there is one. */
void manager_begin_round(Manager *manager);

/* Goes on with a round that the keeper has begun. */
void manager_work(Manager *manager);

/* Whether what is short now will be tried again soon. */
bool manager_is_retrying(const Manager *manager);

/* The configuration as it is on disk: the one in force where that is what the files say, else good until it was asked for
 * twice more. */
const Config *manager_files(Manager *manager);

/* What is true now, from fresh counts; in ARENA. */
Status *manager_judge(Manager *manager, Arena *arena);

/* The same, for somebody who asks: with what the files have in store for the next reload or boot. */
Status *manager_describe(Manager *manager, Arena *arena);
