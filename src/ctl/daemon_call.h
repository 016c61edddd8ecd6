/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Asking the daemon, and noticing when it is silent.
 *
 * systemd listens for it, so connecting says nothing: a daemon that was stopped, hangs, or is about
 * to be started for the tenth time has its clients wait. One that lives serves them between and during
 * its writes, which a thread of its own performs. So while an answer is awaited, which may rightly take
 * minutes, it is asked on another connection, now and then, for what any service answers at once. */

#include "ctl/command.h"

#include <jansson.h>

typedef struct DaemonCall DaemonCall;

/* What the daemon has answered: {} at first. */
typedef struct DaemonReply {
        json_t *parameters;
        char *error; /* the name of an error, whose parameters these are; NULL: none */
} DaemonReply;

void daemon_reply_done(DaemonReply *reply); /* for CLEANUP() */

/* How long the daemon may take to answer what it knows. */
#define ANSWER_USEC (10 * USEC_PER_SEC)

/* Calls METHOD, for one reply or (MORE) for several; steals PARAMETERS. Negative errno when the daemon
 * cannot be reached: see varlink_client.h. -ETIMEDOUT: it takes no connections. */
int daemon_begin(Command *command, const char *method, json_t *parameters, bool more,
                 DaemonCall **ret);
void daemon_endp(DaemonCall **call); /* of NULL too; for CLEANUP() */

/* Waits for the next reply, until DEADLINE_USEC (clock.h) at most. 0, or 1 when more will follow; then
 * *RET, which has nothing yet, is what it says. -EAGAIN: the daemon is silent, after some
 * three seconds (twelve, of a change); -ETIMEDOUT: it lives, but the time is over. Both lose nothing, and the call can be
 * waited for again. Others are the end: -ECONNRESET when the daemon has ended, or serves too many. */
int daemon_await(DaemonCall *call, uint64_t deadline_usec, DaemonReply *ret);

/* Waits a while before a call that was cut off is made again: it was, because others needed its place, or
 * because the daemon ends. *PAUSE_USEC, at first 0, grows; many who were cut off together do not come back
 * together. False: DEADLINE_USEC (clock.h) is over, and nothing was waited for. */
bool daemon_pause(uint64_t *pause_usec, uint64_t deadline_usec);

/* As daemon_call(), for a method that changes nothing: made again until it is not cut off, or the time is
 * over. What changes something may have been done, and is not done again. */
int daemon_ask(Command *command, const char *method, uint64_t timeout_usec, DaemonReply *ret);

/* All of it at once: calls METHOD and waits for its reply, TIMEOUT_USEC at most, and only while the
 * daemon lives: -ETIMEDOUT in either case. */
int daemon_call(Command *command, const char *method, json_t *parameters, uint64_t timeout_usec,
                DaemonReply *ret);

/* What the daemon says; NULL, with the reason in *RET_WHY, when it does not. */
Status *ask_status(Command *command, const char **ret_why);

/* The status as the daemon has it, or, where it cannot be reached, as the files say; *RET_CONFIG, where that is asked
 * for, is NULL unless these were read. */
Status *status_now(Command *command, const Config **ret_config);

/* Whatever is the matter: one that runs but is silent is not helped by "start", and one whose socket
 * somebody has removed makes that anew. */
#define DAEMON_REMEDY "systemctl restart hugeplan.service"

/* What such a negative errno says of it, to be put in brackets. */
const char *daemon_error(int error);
