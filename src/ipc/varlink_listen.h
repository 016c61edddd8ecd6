/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ipc/varlink_method.h"

/* Serves what connects to FD, a listening AF_UNIX stream socket, and owns it from then on. -ENOTSOCK,
 * -EINVAL or another negative errno, FD is then still the caller's. */
int varlink_server_listen_fd(VarlinkServer *server, int fd);

/* Gives FD a place, and owns it then; false: there is none for it. */
bool server_admit(VarlinkServer *server, int fd);
