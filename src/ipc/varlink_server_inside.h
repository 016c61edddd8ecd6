/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The server from within: its state, for the files varlink_*.c. */

#include "ipc/varlink_call.h"
#include "ipc/varlink_frame.h"
#include "ipc/varlink_places.h"
#include "runtime/clock.h"

#include <sys/socket.h>

typedef struct Source Source;
typedef struct Listener Listener;
typedef struct Connection Connection;
typedef struct Lobby Lobby;

/* One descriptor in the epoll set; the first member of what it belongs to. */
struct Source {
        int fd;
        uint32_t interest;
        void (*dispatch)(VarlinkServer *server, Source *source, uint32_t events);
};

struct Listener {
        Source source;
        Listener *next;
};

typedef struct Peer {
        struct ucred credentials;
        bool is_trusted;
} Peer;

/* The next call, which waits for its turn; in the reader. */
typedef struct Queued {
        const char *message;
        bool is_in_turn;
} Queued;

typedef struct Idle {
        uint64_t since_usec; /* meaningful without a call */
        bool is_counted;     /* in n_idle */
} Idle;

/* How the connection comes to its end. A doomed one is shut down and closed in its next turn; one that is leaving has lost
 * its place and is closed at the end of the dispatch. */
typedef struct End {
        bool is_read; /* nothing more can be read */
        bool is_gone; /* the client has hung up */
        enum { CONNECTION_OPEN, CONNECTION_DOOMED, CONNECTION_LEAVING } state;
        Connection *next_leaving;
} End;

struct Connection {
        Source source;
        VarlinkServer *server;
        Connection *previous, *next;
        Peer peer;
        VarlinkReader reader;
        VarlinkWriter writer;
        VarlinkPlace place;
        Queued queued;
        VarlinkCall *call; /* in progress */
        Idle idle;
        End end;
};

struct VarlinkCall {
        Connection *connection;
        bool more, oneway, is_kept;
        VarlinkCallHandler closed, drained;
        void *closed_userdata, *drained_userdata;
};

/* Connections without a place, the oldest first; a ring. */
struct Lobby {
        Source timer;
        struct LobbyGuest *guests; /* NULL: nobody is there */
        size_t size, first, n;
};

typedef struct ServerTimer {
        Source source;
        uint64_t set_usec; /* 0: it is not set */
        bool has_fired;    /* in this dispatch */
} ServerTimer;

typedef struct Turn {
        Source wake; /* readable while calls are queued */
        bool is_awake;
} Turn;

typedef struct Listening {
        Listener *first;
        uint64_t resume_usec; /* listeners are not watched until then; 0: they are */
} Listening;

typedef struct Connections {
        Connection *first, *leaving;
        size_t n, n_idle;
        size_t n_replaced; /* in this dispatch */
} Connections;

typedef struct Served {
        VarlinkServerInfo info;
        VarlinkText *info_text; /* GetInfo's answer; NULL: nobody has asked yet */
        uid_t own_uid;
        void *userdata; /* of the methods */
} Served;

typedef struct ServerHooks {
        /* The class of a call (below), and a place for a newcomer (varlink_listen.h). */
        unsigned (*class_of)(const VarlinkServer *server, const char *message);
        bool (*admit)(VarlinkServer *server, int fd);
} ServerHooks;

struct VarlinkServer {
        int epoll_fd;
        ServerTimer timer;
        Turn turn;
        Listening listening;
        Connections connections;
        VarlinkPlaces places;
        Lobby lobby;
        VarlinkLimits limits;
        Served served;
        ServerHooks hooks;
        size_t n_interfaces;
        const VarlinkInterface *interfaces[]; /* org.varlink.service is the first */
};

static inline uint64_t varlink_now_usec(void) {
        return clock_read_usec(CLOCK_MONOTONIC);
}

/* ---- varlink_call.c ---- */

extern const VarlinkInterface varlink_service_interface;

/* The class (varlink_places.h) of the call in this message, which ends with its NUL. */
unsigned call_class(const VarlinkServer *server, const char *message);
/* Runs the call; afterwards it is answered, or in progress, or C is doomed. */
void call_take(Connection *c, const char *message);
