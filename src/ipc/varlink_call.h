/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What a Varlink server is made of: methods and their interfaces, limits, errors; and answers to calls. */

#include "ipc/varlink_frame.h"

#include <sys/types.h>

typedef struct VarlinkServer VarlinkServer;

/* A call taken from a client and not yet answered. */
typedef struct VarlinkCall VarlinkCall;

typedef enum VarlinkMethodFlags {
        VARLINK_ROOT_ONLY = 1 << 0, /* others get PermissionDenied */
        VARLINK_MORE_ONLY = 1 << 1, /* calls without "more" get ExpectedMore */
} VarlinkMethodFlags;

/* Answers CALL at once, or keeps it, sets a closed handler and answers later; a handler that does
 * neither is answered for with MethodNotImplemented. PARAMETERS, an object, is lent for the time of
 * the call; USERDATA is the server's. */
typedef void (*VarlinkHandler)(VarlinkCall *call, json_t *parameters, void *userdata);

typedef struct VarlinkMethod {
        const char *name;
        VarlinkHandler handler; /* NULL: MethodNotImplemented */
        unsigned flags;         /* VarlinkMethodFlags */
        /* When given, the server checks that the parameters are these and no others
         * (InvalidParameter); NULL: the handler does. */
        const VarlinkParameter *parameters;
} VarlinkMethod;

typedef struct VarlinkInterface {
        const char *name;
        const char *description; /* in the interface definition language */
        const VarlinkMethod *methods;
        size_t n_methods;
} VarlinkInterface;

typedef struct VarlinkLimits {
        /* Of users who are not trusted. */
        size_t connections;           /* in all */
        size_t per_uid;               /* of one user */
        size_t kept_per_uid;          /* of these, by varlink_call_keep_place() */
        size_t subscriptions_per_uid; /* calls that wait for further replies */
        size_t others_message_bytes;  /* of one incoming message */
        size_t lobby; /* connections without a place, as far as there are descriptors for them */
        uint64_t pause_usec; /* that these are left waiting, at least, before they are closed */
        /* Of everybody. */
        size_t message_bytes;       /* of one incoming message */
        size_t output_bytes;        /* unsent to one client; beyond, it is disconnected */
        uint64_t idle_usec;         /* a connection without a call in progress may last */
        uint64_t accept_retry_usec; /* after accept(2) failed for want of file descriptors */
} VarlinkLimits;

typedef void (*VarlinkCallHandler)(VarlinkCall *call, void *userdata);

#define VARLINK_SERVICE                      "org.varlink.service"
#define VARLINK_ERROR_INTERFACE_NOT_FOUND    VARLINK_SERVICE ".InterfaceNotFound"
#define VARLINK_ERROR_METHOD_NOT_FOUND       VARLINK_SERVICE ".MethodNotFound"
#define VARLINK_ERROR_METHOD_NOT_IMPLEMENTED VARLINK_SERVICE ".MethodNotImplemented"
#define VARLINK_ERROR_INVALID_PARAMETER      VARLINK_SERVICE ".InvalidParameter"
#define VARLINK_ERROR_PERMISSION_DENIED      VARLINK_SERVICE ".PermissionDenied"
#define VARLINK_ERROR_EXPECTED_MORE          VARLINK_SERVICE ".ExpectedMore"

/* ---- answering: each ends the call, which must not be touched afterwards ---- */

/* PARAMETERS are stolen. NULL: they could not be built; the client is disconnected then. */
void varlink_call_reply(VarlinkCall *call, json_t *parameters);

/* ERROR is a full name; PARAMETERS are stolen, NULL stands for none. */
void varlink_call_error(VarlinkCall *call, const char *error, json_t *parameters);

/* org.varlink.service.InvalidParameter. */
void varlink_call_error_invalid_parameter(VarlinkCall *call, const char *name);

/* ---- one answer for many ---- */

/* Returns the text of a reply, to be freed with memory_free(). PARAMETERS are stolen. IS_LAST: for
 * varlink_call_reply_text(), otherwise for varlink_call_reply_text_continues(). Returns NULL if the text cannot be
 * built; a client answered with NULL is disconnected. */
char *varlink_text_new(json_t *parameters, bool is_last);

/* As varlink_call_reply(). TEXT stays the caller's. */
void varlink_call_reply_text(VarlinkCall *call, const char *text);

/* One of several replies. -ENOTSUP, and nothing is sent, when the client did not ask for more. Never
 * ends the call: if the client is gone or takes too little, the closed handler is called later, from
 * varlink_server_dispatch(). */
int varlink_call_reply_text_continues(VarlinkCall *call, const char *text);

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
