/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A Varlink server behind one file descriptor.
 *
 * All its sockets live in an epoll set of its own; whoever runs the event loop watches
 * varlink_server_fd() for input and calls varlink_server_dispatch(). Each call does a bounded amount
 * of work, never blocks, and takes users in turn, so that no client, silent, slow, flooding
 * or malformed, delays the loop or other users' clients. With no client connected it never wakes up.
 *
 * Nobody is turned away while there is somebody who has more: where all places are taken, a newcomer gets
 * that of the user with most, what is idle first (varlink_places.h). Who loses it is not heard any more, and
 * disconnected after a pause (varlink_lobby.c); he may come again. Root, and the server's own user, are trusted: they lose nothing and are not counted.
 *
 * org.varlink.service is built in. A client that breaks the protocol loses its connection; one that
 * merely asks for what there is not gets an error. Calls of one connection are answered in order: a
 * call not yet answered holds back what the client sent after it. One thread only. */

#include "ipc/varlink_parameters.h"

#include <sys/types.h>

typedef struct VarlinkServer VarlinkServer;

/* A call taken from a client and not yet answered. */
typedef struct VarlinkCall VarlinkCall;

typedef enum VarlinkMethodFlags {
        VARLINK_ROOT_ONLY = 1 << 0, /* others get PermissionDenied */
        VARLINK_MORE_ONLY = 1 << 1, /* calls without "more" get ExpectedMore */
        VARLINK_FIRST = 1 << 2,     /* its calls are run before others that are there */
        VARLINK_LAST = 1 << 3,      /* after all others */
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

/* What GetInfo says. */
typedef struct VarlinkServerInfo {
        const char *vendor, *product, *version, *url;
} VarlinkServerInfo;

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

/* ---- the server ---- */

/* INTERFACES without org.varlink.service; they and INFO's strings must outlive the server. NULL with
 * errno set. */
VarlinkServer *varlink_server_new(const VarlinkInterface *const *interfaces, size_t n,
                                  const VarlinkServerInfo *info, void *userdata);

/* Closes everything; closed handlers are called. Takes NULL; returns NULL. Not to be called from a
 * handler. */
VarlinkServer *varlink_server_free(VarlinkServer *server);

/* 2048 connections, 1536 of one user, 1024 of these kept; 64 subscriptions of one user; 20,480 for a second
 * without a place; messages of 64 KiB, of others than root 4 KiB; 1 MiB out; 45 s idle. */
VarlinkLimits varlink_limits_default(void);

/* For connections from now on. */
void varlink_server_set_limits(VarlinkServer *server, const VarlinkLimits *limits);

/* A listening AF_UNIX stream socket bound to PATH (absolute, of any length) with MODE as its
 * permissions, whatever the umask. A socket left behind by a dead process is replaced. Negative
 * errno of socket(2), bind(2), listen(2); -EADDRINUSE when PATH is alive or no socket. */
int varlink_bind_socket(const char *path, mode_t mode);

/* Serves what connects to FD, a listening AF_UNIX stream socket, and owns it from then on. -ENOTSOCK,
 * -EINVAL or another negative errno, FD is then still the caller's. */
int varlink_server_listen_fd(VarlinkServer *server, int fd);

/* To be watched for input; owned by the server. */
int varlink_server_fd(const VarlinkServer *server);

/* Serves what is ready, up to a bound; the descriptor stays readable while there is more. 0, or a
 * negative errno of epoll_wait(2). */
int varlink_server_dispatch(VarlinkServer *server);

size_t varlink_server_n_connections(const VarlinkServer *server);

/* ---- answering: each ends the call, which must not be touched afterwards ---- */

/* PARAMETERS are stolen. NULL means that they could not be built: the client is disconnected, for it
 * must not take nothing for an answer. */
void varlink_call_reply(VarlinkCall *call, json_t *parameters);

/* ERROR is a full name; PARAMETERS are stolen, NULL stands for none. */
void varlink_call_error(VarlinkCall *call, const char *error, json_t *parameters);

/* org.varlink.service.InvalidParameter. */
void varlink_call_error_invalid_parameter(VarlinkCall *call, const char *name);

/* ---- one answer for many ---- */

/* The text of a reply. */
typedef struct VarlinkText VarlinkText;

/* PARAMETERS are stolen. IS_LAST: for varlink_call_reply_text(), else for the other. NULL: it could not be built; who
 * is to be answered by that is disconnected. */
VarlinkText *varlink_text_new(json_t *parameters, bool is_last);
VarlinkText *varlink_text_free(VarlinkText *text); /* takes NULL; returns NULL */

/* As varlink_call_reply() and varlink_call_reply_continues(). TEXT stays the caller's. */
void varlink_call_reply_text(VarlinkCall *call, const VarlinkText *text);
int varlink_call_reply_text_continues(VarlinkCall *call, const VarlinkText *text);

/* ---- while it lasts ---- */

/* One of several replies; PARAMETERS as for varlink_call_reply(). -ENOTSUP, and nothing is sent, when
 * the client did not ask for more. Never ends the call: if the client is gone or takes too little,
 * the closed handler is called later, from varlink_server_dispatch(). */
int varlink_call_reply_continues(VarlinkCall *call, json_t *parameters);

/* Whether the client asked for more than one reply. */
bool varlink_call_wants_more(const VarlinkCall *call);

/* Whether the client has not yet taken earlier replies. An owner that sends whole states skips one
 * then, and sends the newest when the drained handler is called. */
bool varlink_call_is_congested(const VarlinkCall *call);

typedef void (*VarlinkCallHandler)(VarlinkCall *call, void *userdata);

/* FUNCTION is called when the client is gone before the answer; the call ends with it and is not to
 * be answered. Also for one-way calls: their replies are dropped, but they end like others. */
void varlink_call_set_closed_handler(VarlinkCall *call, VarlinkCallHandler function,
                                     void *userdata);

/* FUNCTION is called whenever a congested client has taken everything. */
void varlink_call_set_drained_handler(VarlinkCall *call, VarlinkCallHandler function,
                                      void *userdata);

/* The client keeps its place until CALL is answered, whoever else comes; so many a user may have of these. */
void varlink_call_keep_place(VarlinkCall *call);

/* The client as it was when it connected (SO_PEERCRED). */
uid_t varlink_call_peer_uid(const VarlinkCall *call);
pid_t varlink_call_peer_pid(const VarlinkCall *call);

#define VARLINK_SERVICE                      "org.varlink.service"
#define VARLINK_ERROR_INTERFACE_NOT_FOUND    VARLINK_SERVICE ".InterfaceNotFound"
#define VARLINK_ERROR_METHOD_NOT_FOUND       VARLINK_SERVICE ".MethodNotFound"
#define VARLINK_ERROR_METHOD_NOT_IMPLEMENTED VARLINK_SERVICE ".MethodNotImplemented"
#define VARLINK_ERROR_INVALID_PARAMETER      VARLINK_SERVICE ".InvalidParameter"
#define VARLINK_ERROR_PERMISSION_DENIED      VARLINK_SERVICE ".PermissionDenied"
#define VARLINK_ERROR_EXPECTED_MORE          VARLINK_SERVICE ".ExpectedMore"
