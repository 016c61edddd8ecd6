/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The server from within: connections (varlink_server.c) and their calls (varlink_call.c). */

#include "ipc/varlink_frame.h"
#include "ipc/varlink_places.h"
#include "ipc/varlink_server.h"
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
        bool is_gone;             /* nobody reads what is sent, either */
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
        size_t n_interfaces;
        const VarlinkInterface *interfaces[]; /* org.varlink.service is the first */
};

/* ---- varlink_server.c ---- */

static inline uint64_t varlink_now_usec(void) {
        return clock_read_usec(CLOCK_MONOTONIC);
}

int source_add(VarlinkServer *server, Source *source, uint32_t interest);
void source_remove(VarlinkServer *server, Source *source);

bool server_trusts(const VarlinkServer *server, uid_t uid);

/* Owns FD, also when it fails. NULL: it has. */
Connection *connection_new(VarlinkServer *server, int fd, const struct ucred *peer);
/* The owner of a call in progress is told. */
void connection_close(Connection *c);
/* After EVENTS of epoll; C may be gone then. */
void connection_turn(Connection *c, uint32_t events);

void connection_doom(Connection *c);
/* Whether nothing is left unsent. */
bool connection_send(Connection *c);
/* After answers given outside the connection's turn. */
void connection_kick(Connection *c);
/* Takes its place away. Within a dispatch only. */
void connection_evict(Connection *c);

/* ---- varlink_call.c ---- */

extern const VarlinkInterface varlink_service_interface;

/* The class (varlink_places.h) of the call in this message. */
unsigned call_class(const VarlinkServer *server, const char *bytes, size_t length);
/* Runs it; afterwards it is answered, or C has a call in progress, or C is doomed. */
void call_take(Connection *c, const char *bytes, size_t length);

/* ---- varlink_listen.c ---- */

/* Watches the listeners again. */
void server_resume(VarlinkServer *server);
/* Gives FD a place, and owns it then; false: there is none for it. */
bool server_admit(VarlinkServer *server, int fd);

/* ---- varlink_lobby.c ---- */

int lobby_begin(VarlinkServer *server);
void lobby_end(VarlinkServer *server);
/* Owns FD. IS_HEARD: it had a place before, and is not to get another. */
void lobby_take(VarlinkServer *server, int fd, bool is_heard);
/* Sends somebody away, for a descriptor is needed; false: nobody is there. */
bool lobby_spare(VarlinkServer *server);
