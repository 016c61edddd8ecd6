/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The Varlink server in the daemon's event loop, its socket, and the socket's file. */

#include "host/root.h"
#include "ipc/varlink_server.h"
#include "runtime/loop.h"

typedef struct Server {
        const Root *root;
        VarlinkServer *varlink;
        bool is_socket_ours; /* bound by us, not by systemd */
        LoopIo io, inotify;  /* of the varlink server, and of the socket's directory */
} Server;

/* Serves INTERFACE, whose handlers get USERDATA, on FD (a listening socket, owned from now on), or binds the socket
 * itself where FD is -1. Negative errno. SERVER, which begins as {}, must not move. */
int server_start(Server *server, const Root *root, Loop *loop, const VarlinkInterface *interface,
                 void *userdata, int fd);

void server_stop(Server *server); /* for CLEANUP() */
