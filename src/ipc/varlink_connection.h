/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ipc/varlink_server_inside.h"

/* Makes the server's descriptor readable as long as calls are queued, and when a timer is due. Returns 0 or a negative
 * errno. */
int server_schedule(VarlinkServer *server);

/* Without descriptors accept(2) fails as long as clients wait, and epoll would report them for as long: the listeners
 * are not watched until a connection is closed or some time has passed. */
void server_pause(VarlinkServer *server);
void server_resume(VarlinkServer *server);

bool server_trusts(const VarlinkServer *server, uid_t uid);

/* Takes ownership of FD, also on failure. Returns NULL on failure. */
Connection *connection_new(VarlinkServer *server, int fd, const struct ucred *peer);
/* Closes and frees C; calls the closed handler of a call in progress. */
void connection_close(Connection *c);
/* Handles EVENTS of epoll. C may be freed. */
void connection_turn(Connection *c, uint32_t events);

void connection_doom(Connection *c);
/* Sends pending output. Returns whether all was sent. */
bool connection_send(Connection *c);
/* Called after answers outside the connection's turn: sends them and takes the next call. */
void connection_kick(Connection *c);
/* Takes the place of C away; C is closed at the end of the dispatch. Within a dispatch only. */
void connection_evict(Connection *c);

/* The last steps of a turn. connection_end_turn() may free C. */
void connection_look_for_call(Connection *c, bool may_read);
void connection_end_turn(Connection *c);
