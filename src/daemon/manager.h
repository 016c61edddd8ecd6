/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The manager: the keeper (keeper/keeper.h) in an event loop. It performs the keeper's writes in a
 * thread, serves clients meanwhile, tells the service manager how far things are, and notices what
 * happens on the host. */

#include "apply/write_worker.h"
#include "daemon/outcome.h"
#include "daemon/units.h"
#include "daemon/watch.h"
#include "ipc/varlink_server.h"
#include "keeper/keeper.h"

typedef struct Manager Manager;
typedef struct Client Client;

struct Manager {
        const Root *root;
        sd_event *event;
        Keeper *keeper;
        VarlinkServer *server;
        bool is_socket_ours; /* bound by us, not by systemd */
        WriteWorker *worker;
        ApplyOperation operation; /* under way in the worker */
        sd_event_source *worker_source, *server_source, *boot_timer, *retry_timer;
        sd_event_source *alive_timer, *socket_watch;
        Client *clients; /* daemon/clients.c */
        Watch watch;
        Units units;
        Outcome outcome;

        bool is_ready_sent;
        bool is_reload_wanted; /* after the round under way */
        bool is_reload_forced;
        uint64_t round_ended_usec;
        uint64_t retry_delay_usec;
};

/* EVENT and ROOT must outlive it. Negative errno. */
int manager_new(const Root *root, sd_event *event, Manager **ret);
Manager *manager_free(Manager *manager); /* takes NULL; returns NULL */
void manager_freep(Manager **manager);

/* Serves FD (a listening socket, owned from now on), or binds the socket itself where FD is -1. */
int manager_listen(Manager *manager, int fd);

/* Reads the configuration and begins the first round. */
void manager_start(Manager *manager);

/* Reads the configuration anew, after the round under way if there is one. */
void manager_reload(Manager *manager, bool is_forced);

/* Begins a round with all its time ahead, after the one under way if there is one. */
void manager_begin_round(Manager *manager);

/* Goes on with a round that the keeper has begun. */
void manager_work(Manager *manager);

/* Of a timer that could not be set (negative errno) nothing would ever come: the daemon ends, and the next one
 * goes on from the state on /run. */
void manager_need(Manager *manager, int error);

/* What is true now, from fresh counts; in ARENA. */
Status *manager_judge(const Manager *manager, Arena *arena);

/* Whether what is short now will be tried again soon. */
bool manager_is_retrying(const Manager *manager);

/* Something was found out between two rounds: logs what is new, and tells subscribers. */
void manager_tell_news(Manager *manager);
