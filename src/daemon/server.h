/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The Varlink server in the daemon's event loop, its socket, and the socket's file. */

#include "host/root.h"
#include "ipc/varlink_server.h"
#include "runtime/loop.h"

typedef struct Server {
        const Root *root;
        VarlinkServer *varlink;
        bool is_socket_ours; /* bound by the daemon, not by systemd */
        LoopIo io;           /* of the varlink server */
} Server;

/* Serves INTERFACE, whose handlers get USERDATA, on the listening socket FD, of which it takes ownership; -1: binds the
 * socket itself. SERVER must be {} before and must not move. Returns 0 or a negative errno. */
int server_start(Server *server, const Root *root, Loop *loop, const VarlinkInterface *interface,
                 void *userdata, int fd);

void server_stop(Server *server); /* for CLEANUP() */
