/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ipc/varlink_server_inside.h"

/* Sets the timer for idle connections and paused listeners. */
void server_schedule(VarlinkServer *server);

/* Has the descriptor readable as long as calls are queued. */
void server_set_awake(VarlinkServer *server);

bool server_trusts(const VarlinkServer *server, uid_t uid);

/* Owns FD, also when it fails. NULL: it has. */
Connection *connection_new(VarlinkServer *server, int fd, const struct ucred *peer);
/* The owner of a call in progress is told. */
void connection_close(Connection *c);
/* After EVENTS of epoll; C may be gone then. */
void connection_turn(Connection *c, uint32_t events);

void connection_doom(Connection *c);
/* Whether nothing is left unsent. */
bool connection_send(Connection *c);
/* After answers given outside the connection's turn. */
void connection_kick(Connection *c);
/* Takes its place away. Within a dispatch only. */
void connection_evict(Connection *c);

/* The steps of a turn that is not begun by epoll: C may be gone after the last. */
void connection_look_for_call(Connection *c, bool may_read);
void connection_end_turn(Connection *c);
