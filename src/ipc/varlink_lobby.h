/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ipc/varlink_method.h"

/* Takes ownership of FD. IS_HEARD: it had a place before and must not get another one. */
void lobby_take(VarlinkServer *server, int fd, bool is_heard);
/* Closes all connections without a place. */
void lobby_end(VarlinkServer *server);
