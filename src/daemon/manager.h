/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The manager runs the keeper (keeper/keeper.h) in an event loop. It performs the keeper's writes in a thread, reports
 * progress to systemd and watches the host. The code that serves clients queries the manager and is informed by its
 * listener. */

#include "daemon/boot.h"
#include "daemon/journal.h"
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
        MANAGER_WRITTEN, /* between two writes: an instance may have all its pages already */
        MANAGER_LOST,    /* pages are lost, and a round is about to reserve them again */
        MANAGER_LOOKED,  /* something has changed between two rounds */
        MANAGER_SETTLED, /* a round has ended: clients may be answered */
        MANAGER_REREAD,  /* systemd has read its units again */
        MANAGER_DUE,     /* the messages of all clients have been read */
} ManagerNews;

typedef void (*ManagerListener)(Manager *manager, ManagerNews news);

/* The configuration on disk, which may differ from the one in effect; the next reload and the next boot will use it. It
 * is read again only if one of its files, directories or accounts has changed. */
typedef struct Files {
        Arena *arena,
                *before; /* of `config`, and of the previous one, to which callers may still refer */
        const Config *config;
} Files;

struct Manager {
        const Root *root;
        Loop *loop;
        ManagerListener listener;
        /* The listener's. */
        struct {
                Client *first;
                LoopTimer due; /* runs the clients that are due */
                size_t n_due;
                LoopTimer rest;      /* gives memory back */
                VEC(Belief) beliefs; /* which reported sizes were accepted */
                Arena *beliefs_arena;
        } clients;
        Keeper *keeper;
        Worker *writer; /* writes to the kernel */
        /* When rounds are run. */
        struct {
                enum {
                        RELOADS_NONE,
                        RELOADS_WANTED, /* after the running round */
                        RELOADS_FORCED, /* likewise, with --force */
                } reload;
                bool is_of_reload; /* the running or the next round belongs to a reload */
                LoopTimer retry;
                uint64_t retry_delay_usec;
                uint64_t ended_usec;
        } rounds;
        /* What outlives the boot, and what writes it: a root must not be shared between threads. */
        struct {
                Root *root;
                Worker *disk;
                Boot boot_guard;
                LoginLimits login_limits;
                Store store;
        } lasting;
        Watch watch;
        Units units;
        Files files;
        /* What systemd and the journal have been told. */
        struct {
                Logged logged;
                bool is_ready_sent;
                LoopTimer boot;  /* BootTimeout= */
                LoopTimer alive; /* the next sign of life */
        } notice;
};

/* LOOP and ROOT must outlive the manager. Returns 0 or a negative errno. */
int manager_new(const Root *root, Loop *loop, ManagerListener listener, Manager **ret);
void manager_freep(Manager **manager); /* for CLEANUP() */

/* Reads the configuration and begins the first round. */
void manager_start(Manager *manager);

/* Reloads the configuration, after the running round if there is one. */
void manager_reload(Manager *manager, bool is_forced);

/* Begins a round for CAUSE, after the running one if there is one. */
void manager_begin_round(Manager *manager, KeeperCause cause);

/* Continues the keeper's round. */
void manager_work(Manager *manager);

/* Whether a shortage will be tried again. */
bool manager_is_retrying(const Manager *manager);

/* The configuration on disk. Valid until the second further call, or as long as the one in effect if it is the same. */
const Config *manager_files(Manager *manager);

/* The current status from fresh counts, allocated in ARENA. */
Status *manager_judge(Manager *manager, Arena *arena);

/* The same for a client, with what the configuration on disk will change. */
Status *manager_describe(Manager *manager, Arena *arena);
