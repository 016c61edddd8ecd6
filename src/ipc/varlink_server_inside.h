/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The server from within: its state, for the files varlink_*.c. */

#include "ipc/varlink_call.h"
#include "ipc/varlink_places.h"
#include "runtime/clock.h"
#include "runtime/loop.h"

#include <sys/socket.h>

typedef struct Listener Listener;
typedef struct Connection Connection;
typedef struct Lobby Lobby;

struct Listener {
        LoopIo io;
        VarlinkServer *server;
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
        LoopIo io;
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
        LoopTimer timer;
        uint64_t ticked_usec;      /* when the timer was last due, or the lobby was opened */
        struct LobbyGuest *guests; /* NULL: nobody is there */
        size_t size, first, n;
};

typedef struct Listening {
        Listener *first;
        LoopTimer resume; /* while it is set listeners are not watched */
} Listening;

typedef struct Connections {
        Connection *first, *leaving;
        size_t n, n_idle;
} Connections;

typedef struct Served {
        char *info_text; /* GetInfo's answer; NULL: nobody has asked yet */
        uid_t own_uid;
        void *userdata; /* of the methods */
} Served;

struct VarlinkServer {
        Loop *loop;
        LoopTimer idle; /* set while connections are idle */
        LoopTimer turn; /* set while calls are queued */
        Listening listening;
        Connections connections;
        VarlinkPlaces places;
        Lobby lobby;
        VarlinkLimits limits;
        Served served;
        VarlinkRequest last_request;                  /* without a message: there is none */
        bool (*admit)(VarlinkServer *server, int fd); /* server_admit() */
        const VarlinkInterface *interfaces[2];        /* org.varlink.service is the first */
};

/* ---- varlink_call.c ---- */

extern const VarlinkInterface varlink_service_interface;

/* Runs the call; afterwards it is answered, or in progress, or C is doomed. */
void call_take(Connection *c, const char *message);

/* ---- varlink_connection.c ---- */

/* Makes the server's descriptor readable as long as calls are queued, and when a timer is due. Returns 0 or a negative
 * errno. */
int server_schedule(VarlinkServer *server);

/* Without descriptors accept(2) fails as long as clients wait, and epoll would report them for as long: the listeners
 * are not watched until a connection is closed or some time has passed. */
void server_pause(VarlinkServer *server);

bool server_trusts(const VarlinkServer *server, uid_t uid);

/* Takes ownership of FD, also on failure. Returns NULL on failure. */
Connection *connection_new(VarlinkServer *server, int fd, const struct ucred *peer);
/* Closes and frees C; calls the closed handler of a call in progress. */
void connection_close(Connection *c);
/* Handles EVENTS of epoll. C may be freed. */
void connection_turn(Connection *c, uint32_t events);

void connection_doom(Connection *c);
/* Sends pending output. Returns whether all was sent. */
bool connection_send(Connection *c);
/* Called after answers outside the connection's turn: sends them and takes the next call. */
void connection_kick(Connection *c);
/* Takes the place of C away; C is closed at the end of the dispatch. Within a dispatch only. */
void connection_evict(Connection *c);

/* The last steps of a turn. connection_end_turn() may free C. */
void connection_look_for_call(Connection *c, bool may_read);
void connection_end_turn(Connection *c);

/* ---- varlink_listen.c ---- */

/* Gives the connection FD a place and takes ownership of it. Returns false if there is no place. */
bool server_admit(VarlinkServer *server, int fd);

/* ---- varlink_lobby.c ---- */

/* Takes ownership of FD. IS_HEARD: it had a place before and must not get another one. */
void lobby_take(VarlinkServer *server, int fd, bool is_heard);
/* Closes all connections without a place. */
void lobby_end(VarlinkServer *server);
