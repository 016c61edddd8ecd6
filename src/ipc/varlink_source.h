/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The descriptors in the server's epoll set. */

#include "ipc/varlink_server_inside.h"

int source_add(VarlinkServer *server, Source *source, uint32_t interest);
int source_change(VarlinkServer *server, Source *source, uint32_t interest);
void source_remove(VarlinkServer *server, Source *source);

/* Without descriptors accept(2) fails as long as clients wait, and epoll would report them for as long: the listeners
 * leave the set until a connection is closed or some time has passed. */
void server_pause(VarlinkServer *server);
void server_resume(VarlinkServer *server);
