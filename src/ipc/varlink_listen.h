/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ipc/varlink_method.h"

/* Serves connections to FD, a listening AF_UNIX stream socket, and takes ownership of it. On failure returns -ENOTSOCK,
 * -EINVAL or another negative errno, and FD remains the caller's. */
int varlink_server_listen_fd(VarlinkServer *server, int fd);

/* Gives the connection FD a place and takes ownership of it. Returns false if there is no place. */
bool server_admit(VarlinkServer *server, int fd);
