/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Answers to calls. */

#include "ipc/varlink_method.h"

/* ---- answering: each ends the call, which must not be touched afterwards ---- */

/* PARAMETERS are stolen. NULL: they could not be built; the client is disconnected then. */
void varlink_call_reply(VarlinkCall *call, json_t *parameters);

/* ERROR is a full name; PARAMETERS are stolen, NULL stands for none. */
void varlink_call_error(VarlinkCall *call, const char *error, json_t *parameters);

/* org.varlink.service.InvalidParameter. */
void varlink_call_error_invalid_parameter(VarlinkCall *call, const char *name);

/* ---- one answer for many ---- */

/* The text of a reply. */
typedef struct VarlinkText VarlinkText;

/* PARAMETERS are stolen. IS_LAST: for varlink_call_reply_text(), otherwise for varlink_call_reply_text_continues().
 * Returns NULL if the text cannot be built; a client answered with NULL is disconnected. */
VarlinkText *varlink_text_new(json_t *parameters, bool is_last);
VarlinkText *varlink_text_free(VarlinkText *text); /* takes NULL; returns NULL */

/* As varlink_call_reply(). TEXT stays the caller's. */
void varlink_call_reply_text(VarlinkCall *call, const VarlinkText *text);

/* One of several replies. -ENOTSUP, and nothing is sent, when the client did not ask for more. Never
 * ends the call: if the client is gone or takes too little, the closed handler is called later, from
 * varlink_server_dispatch(). */
int varlink_call_reply_text_continues(VarlinkCall *call, const VarlinkText *text);

/* ---- while it lasts ---- */

/* Whether the client asked for more than one reply. */
bool varlink_call_wants_more(const VarlinkCall *call);

/* Whether the client has not yet taken earlier replies. An owner that sends whole states skips one
 * then, and sends the newest when the drained handler is called. */
bool varlink_call_is_congested(const VarlinkCall *call);

/* FUNCTION is called when the client is gone before the answer; the call ends with it and is not to
 * be answered. Also for one-way calls: their replies are dropped, but they end like others. */
void varlink_call_set_closed_handler(VarlinkCall *call, VarlinkCallHandler function,
                                     void *userdata);

/* FUNCTION is called whenever a congested client has taken everything. */
void varlink_call_set_drained_handler(VarlinkCall *call, VarlinkCallHandler function,
                                      void *userdata);

/* The connection keeps its place until CALL is answered; the number of kept places of a user is limited. */
void varlink_call_keep_place(VarlinkCall *call);

/* The client as it was when it connected (SO_PEERCRED). */
uid_t varlink_call_peer_uid(const VarlinkCall *call);
pid_t varlink_call_peer_pid(const VarlinkCall *call);
