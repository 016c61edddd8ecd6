/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Calls of the daemon, with detection of a silent daemon.
 *
 * systemd holds the socket, so clients can connect although the daemon is stopped, hangs or keeps failing at startup. A
 * daemon that lives serves clients during its writes, which run in a thread. So while an answer is awaited, which may
 * take minutes, the daemon is asked from time to time on another connection for something that it answers at once. */

#include "ctl/command.h"

typedef struct DaemonCall DaemonCall;

/* A reply of the daemon; {} before. */
typedef struct DaemonReply {
        json_t *parameters;
        char *error; /* the name of the error; NULL: none */
} DaemonReply;

void daemon_reply_done(DaemonReply *reply); /* for CLEANUP() */

/* How long the daemon may take for an answer that needs no round. */
#define ANSWER_USEC (10 * USEC_PER_SEC)

/* Calls METHOD for one reply, or for several with MORE; steals PARAMETERS. Returns a negative errno if the daemon
 * cannot be reached (varlink_client.h); -ETIMEDOUT if it accepts no connections. */
int daemon_begin(Command *command, const char *method, json_t *parameters, bool more,
                 DaemonCall **ret);
void daemon_endp(DaemonCall **call); /* of NULL too; for CLEANUP() */

/* Waits for the next reply, until DEADLINE_USEC (clock.h) at most. Returns 0, or 1 if more replies follow, and sets
 * *RET. Returns -EAGAIN if the daemon is silent, after some three seconds (twelve, of a change), or -ETIMEDOUT if it
 * lives but the time has passed; the call may be awaited again. Other errors end the call: -ECONNRESET if the daemon
 * has ended or has too many clients. */
int daemon_await(DaemonCall *call, uint64_t deadline_usec, DaemonReply *ret);

/* Pauses before a call is repeated whose connection was reset, because the daemon is stopping or other clients needed
 * the place. *PAUSE_USEC, 0 at first, grows, and differs between clients, so that they do not come back together.
 * Returns false, without a pause, if DEADLINE_USEC (clock.h) has passed. */
bool daemon_pause(uint64_t *pause_usec, uint64_t deadline_usec);

/* Calls METHOD and waits for its reply, TIMEOUT_USEC at most and only while the daemon lives: -ETIMEDOUT in either
 * case. */
int daemon_call(Command *command, const char *method, json_t *parameters, uint64_t timeout_usec,
                DaemonReply *ret);

/* The status of the daemon. Returns NULL and sets *RET_WHY (may be NULL) if it cannot be had within TIMEOUT_USEC; the
 * call is repeated after a reset. */
Status *ask_status(Command *command, uint64_t timeout_usec, const char **ret_why);

/* The status of the daemon or, if that cannot be reached, by the kernel's files. *RET_CONFIG (may be NULL) is set to
 * the configuration if that was read, else to NULL. */
Status *status_now(Command *command, const Config **ret_config);

/* Describes a negative errno of these calls, for use in brackets. */
const char *daemon_error(int error);

/* Makes COMMAND's calls show the progress of the pools from now on, if there is a reader: the kernel's counts, compared
 * with the targets that the daemon has stored. A terminal has one line, which is rewritten; elsewhere a reload logs a line
 * from time to time, but not to the journal, where the daemon logs itself. A gate prints only its verdict. */
void progress_begin(Command *command);
