/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The server from within: its state, for the files varlink_*.c. */

#include "ipc/varlink_frame.h"
#include "ipc/varlink_method.h"
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

struct Connection {
        Source source;
        VarlinkServer *server;
        Connection *previous, *next;
        struct ucred peer;
        VarlinkReader reader;
        VarlinkWriter writer;
        VarlinkPlace place;
        bool is_trusted;
        const char *message; /* in the reader: the call that is queued */
        size_t message_length;
        VarlinkCall *call;        /* in progress */
        uint64_t idle_since_usec; /* meaningful without one */
        bool is_idle;             /* counted in n_idle */
        bool is_at_end;           /* nothing more can be read */
        bool is_gone;             /* the client has hung up */
        bool is_in_turn;
        bool is_doomed;
        bool is_leaving; /* its place was taken: closed at the end of the dispatch */
        Connection *next_leaving;
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

struct VarlinkServer {
        int epoll_fd;
        Source timer, wake;   /* the second is readable while calls are queued */
        uint64_t timer_usec;  /* what the timer is set to; 0: it is not */
        bool timer_fired;     /* in this dispatch */
        uint64_t resume_usec; /* listeners are not watched until then; 0: they are */
        Listener *listeners;
        Connection *connections;
        Connection *leaving;
        VarlinkPlaces places;
        Lobby lobby;
        size_t n_connections;
        size_t n_idle;
        size_t n_replaced; /* in this dispatch */
        bool is_awake;
        VarlinkLimits limits;
        VarlinkServerInfo info;
        uid_t own_uid;
        void *userdata;
        /* The class of a call (below), and a place for a newcomer (varlink_listen.h). */
        unsigned (*class_of)(const VarlinkServer *server, const char *bytes, size_t length);
        bool (*admit)(VarlinkServer *server, int fd);
        size_t n_interfaces;
        const VarlinkInterface *interfaces[]; /* org.varlink.service is the first */
};

static inline uint64_t varlink_now_usec(void) {
        return clock_read_usec(CLOCK_MONOTONIC);
}

/* ---- varlink_call.c ---- */

extern const VarlinkInterface varlink_service_interface;

/* The class (varlink_places.h) of the call in this message. */
unsigned call_class(const VarlinkServer *server, const char *bytes, size_t length);
/* Runs the call; afterwards it is answered, or in progress, or C is doomed. */
void call_take(Connection *c, const char *bytes, size_t length);
