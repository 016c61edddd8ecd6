/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A Varlink server behind one file descriptor.
 *
 * All its sockets live in an epoll set of its own; whoever runs the event loop watches
 * varlink_server_fd() for input and calls varlink_server_dispatch(). Each call does a bounded amount
 * of work, never blocks, and takes users in turn, so that no client, silent, slow, flooding
 * or malformed, delays the loop or other users' clients. With no client connected it never wakes up.
 *
 * Nobody is turned away while there is somebody who has more: where all places are taken, a newcomer gets
 * that of the user with most, what is idle first (varlink_places.h). Who loses it is not heard any more, and
 * disconnected after a pause (varlink_lobby.c); he may come again. Root, and the server's own user, are trusted: they lose nothing and are not counted.
 *
 * org.varlink.service is built in. A client that breaks the protocol loses its connection; one that
 * merely asks for what there is not gets an error. Calls of one connection are answered in order: a
 * call not yet answered holds back what the client sent after it. One thread only. */

#include "ipc/varlink_call.h"
#include "ipc/varlink_listen.h"

/* INTERFACES without org.varlink.service; they and INFO's strings must outlive the server. NULL with
 * errno set. */
VarlinkServer *varlink_server_new(const VarlinkInterface *const *interfaces, size_t n,
                                  const VarlinkServerInfo *info, void *userdata);

/* Closes everything; closed handlers are called. Takes NULL; returns NULL. Not to be called from a
 * handler. */
VarlinkServer *varlink_server_free(VarlinkServer *server);

/* 2048 connections, 1536 of one user, 1024 of these kept; 64 subscriptions of one user; 20,480 for a second
 * without a place; messages of 64 KiB, of others than root 4 KiB; 1 MiB out; 45 s idle. */
VarlinkLimits varlink_limits_default(void);

/* For connections from now on. */
void varlink_server_set_limits(VarlinkServer *server, const VarlinkLimits *limits);

/* A listening AF_UNIX stream socket bound to PATH (absolute, of any length) with MODE as its
 * permissions, whatever the umask. A socket left behind by a dead process is replaced. Negative
 * errno of socket(2), bind(2), listen(2); -EADDRINUSE when PATH is alive or no socket. */
int varlink_bind_socket(const char *path, mode_t mode);

/* To be watched for input; owned by the server. */
int varlink_server_fd(const VarlinkServer *server);

/* Serves what is ready, up to a bound; the descriptor stays readable while there is more. 0, or a
 * negative errno of epoll_wait(2). */
int varlink_server_dispatch(VarlinkServer *server);

size_t varlink_server_n_connections(const VarlinkServer *server);
