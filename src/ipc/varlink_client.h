/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A blocking Varlink client: libc and jansson, nothing else.
 *
 * Timeouts are microseconds for the whole operation; UINT64_MAX waits for ever. Failures of the
 * transport are negative errnos: -ENOENT, -ECONNREFUSED, -EACCES when nobody serves; -ETIMEDOUT;
 * -ECONNRESET when the server hung up (also because it serves too many); -EPROTO when it does not
 * speak Varlink. Outputs are untouched then, and but for a failed connect the client is of no
 * further use: every call gives -ENOTCONN. Errors of Varlink are values, not failures. */

#include "base/macros.h"

#include <jansson.h>

typedef struct VarlinkClient VarlinkClient;

/* Connects to the AF_UNIX stream socket at PATH, of any length. */
int varlink_client_connect(const char *path, uint64_t timeout_usec, VarlinkClient **ret);

/* Takes NULL; returns NULL. */
VarlinkClient *varlink_client_free(VarlinkClient *client);

/* Calls METHOD (a full name), and does not wait: its reply, with MORE its replies, are to be fetched with
 * varlink_client_next(); steals PARAMETERS, NULL for none. 0, or a negative errno; -EBUSY, and nothing is lost, while an
 * earlier call still has replies to come. */
int varlink_client_send(VarlinkClient *client, const char *method, json_t *parameters, bool more,
                        uint64_t timeout_usec);

/* Waits for the next reply. 1 when more will follow, 0 when this was the last, with *ret_parameters an object that the
 * caller frees, and *ret_error_name NULL, or, when the server answered with an error, its full name, which the caller
 * frees; the parameters are then the error's. -ENODATA when there was none to come. Running out of time loses nothing:
 * it can be called again. */
int varlink_client_next(VarlinkClient *client, uint64_t timeout_usec, json_t **ret_parameters,
                        char **ret_error_name);

/* Whether the service at PATH lives: calls a method that every Varlink service answers at once. Returns 0 if it does;
 * -ETIMEDOUT if there is no answer, although systemd may listen for it; -ECONNRESET if the connection was closed,
 * because the service has too many clients or has just ended; others as above. */
int varlink_ping(const char *path, uint64_t timeout_usec);

/* For CLEANUP(). */
void varlink_client_freep(VarlinkClient **client);
