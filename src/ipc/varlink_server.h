/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A Varlink server behind one file descriptor.
 *
 * * Its sockets are in an epoll set of its own; the owner's event loop watches varlink_server_fd() for input and calls
 * varlink_server_dispatch(). Each call does a bounded amount of work, never blocks, and serves users in turn, so that
 * no silent, slow, flooding or malformed client delays the loop or other users' clients. Without clients it never wakes
 * up.
 *
 * If all places are taken, a new connection gets one of the user with most of them, idle ones first (varlink_places.h).
 * A connection that loses its place is not read any more, and closed after a pause (varlink_lobby.c). Root and the
 * server's own user are trusted: they are not counted and lose no place.
 *
 * org.varlink.service is built in. A client that violates the protocol is disconnected; a call of an unknown method
 * gets an error. Calls of one connection are answered in order: a call without an answer holds back the next ones. One
 * thread only. */

#include "ipc/varlink_call.h"

/* INTERFACE, besides org.varlink.service, must outlive the server. NULL with errno set. */
VarlinkServer *varlink_server_new(const VarlinkInterface *interface, void *userdata);

/* Closes everything; closed handlers are called. Takes NULL; returns NULL. Not to be called from a
 * handler. */
VarlinkServer *varlink_server_free(VarlinkServer *server);

/* 2048 connections, 1536 of one user, 1024 of these kept; 64 subscriptions of one user; 20,480 for a second
 * without a place; messages of 64 KiB, of others than root 4 KiB; 1 MiB out; 45 s idle. */
VarlinkLimits varlink_limits_default(void);

/* For connections from now on. Of the descriptors that the process may have, connections of users who are not trusted
 * get half, and the lobby what else is not spared. */
void varlink_server_set_limits(VarlinkServer *server, const VarlinkLimits *limits);

/* A listening AF_UNIX stream socket bound to PATH (absolute), to which everybody may connect, whatever
 * the umask. A socket left behind by a dead process is replaced. Negative errno of socket(2), bind(2),
 * listen(2); -ENAMETOOLONG when an address has no room for PATH, -EADDRINUSE when PATH is alive or no
 * socket. */
int varlink_bind_socket(const char *path);

/* Serves connections to FD, a listening AF_UNIX stream socket, and takes ownership of it. On failure returns -ENOTSOCK,
 * -EINVAL or another negative errno, and FD remains the caller's. */
int varlink_server_listen_fd(VarlinkServer *server, int fd);

/* To be watched for input; owned by the server. */
int varlink_server_fd(const VarlinkServer *server);

/* Serves what is ready, up to a bound; the descriptor stays readable while there is more. 0, or a
 * negative errno of epoll_wait(2). */
int varlink_server_dispatch(VarlinkServer *server);

size_t varlink_server_n_connections(const VarlinkServer *server);
