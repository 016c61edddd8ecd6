/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ipc/varlink_method.h"

int lobby_begin(VarlinkServer *server);
void lobby_end(VarlinkServer *server);
/* Owns FD. IS_HEARD: it had a place before, and is not to get another. */
void lobby_take(VarlinkServer *server, int fd, bool is_heard);
/* Sends somebody away, for a descriptor is needed; false: nobody is there. */
bool lobby_spare(VarlinkServer *server);
