/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The life of a connection:
 *
 * It gets a *turn* when epoll reports it: what is unsent is sent, what has come is read once, and the next
 * whole message is *queued* (varlink_places.h). Then it is *settled*: what to watch for follows from its
 * state alone. Input is no longer watched if some comes while a call is queued or pending, so a client is
 * held back by its own unanswered calls and untaken replies. Most clients send nothing before the answer,
 * which costs no system call then.
 *
 * After the turns queued calls are *served*, the users in turn, for a limited time;
 * the rest waits for the next dispatch, which takes in new calls first. So a gate waits for one other call,
 * however many there are.
 *
 * A connection is closed in its own turn, by the timer, or, where another one has got its place, at the end
 * of a dispatch; never from within varlink_call_*(), which owners call while walking their lists of calls.
 * What fails there *dooms* the connection: the socket is shut down, which epoll reports as a hang-up, and
 * that turn closes it.
 *
 * epoll(7); unix(7): a closed peer is reported as EPOLLHUP, a half-closed one is not. */

#include "ipc/varlink_server_inside.h"

#include "base/size.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { OUTPUT_LOW_BYTES = 64 * 1024 }; /* with more unsent no further call is taken */

/* ---- times ---- */

static void on_idle(void *userdata) {
        VarlinkServer *server = userdata;
        uint64_t now = clock_now_usec(), earliest = UINT64_MAX;

        for (Connection *c = server->connections.first, *next; c; c = next) {
                uint64_t at = add_saturated(c->idle.since_usec, server->limits.idle_usec);

                next = c->next;
                if (c->idle.is_counted && at <= now)
                        connection_close(c);
                else if (c->idle.is_counted)
                        earliest = MIN(earliest, at);
        }
        if (server->connections.n_idle > 0)
                loop_set(server->loop, &server->idle, earliest, on_idle, server);
}

static void on_turn(void *userdata UNUSED) {
}

/* A timer for idle connections that is set is not changed, because deadlines only move away; it is set again when it is
 * due. */
int server_schedule(VarlinkServer *server) {
        if (server->connections.n_idle == 0)
                loop_unset(&server->idle);
        else if (!loop_is_set(&server->idle))
                loop_set(server->loop, &server->idle,
                         add_saturated(clock_now_usec(), server->limits.idle_usec), on_idle,
                         server);
        if (server->places.n_queued > 0)
                loop_set(server->loop, &server->turn, 0, on_turn, NULL);
        else
                loop_unset(&server->turn);
        return loop_arm(server->loop);
}

static void on_resume(void *userdata) {
        VarlinkServer *server = userdata;
        int r = 0;

        for (Listener *listener = server->listening.first; r == 0 && listener;
             listener = listener->next)
                r = loop_rewatch(&listener->io, EPOLLIN);
        if (r < 0)
                server_pause(server);
}

void server_pause(VarlinkServer *server) {
        if (loop_is_set(&server->listening.resume))
                return;
        for (Listener *listener = server->listening.first; listener; listener = listener->next)
                loop_rewatch(&listener->io, 0);
        loop_set(server->loop, &server->listening.resume,
                 add_saturated(clock_now_usec(), server->limits.accept_retry_usec), on_resume,
                 server);
}

/* ---- connections ---- */

static void connection_dispatch(void *userdata, uint32_t events);

bool server_trusts(const VarlinkServer *server, uid_t uid) {
        return uid == 0 || uid == server->served.own_uid;
}

Connection *connection_new(VarlinkServer *server, int fd, const struct ucred *peer) {
        const VarlinkLimits *limits = &server->limits;
        bool is_trusted = server_trusts(server, peer->uid);
        Connection *c = calloc(1, sizeof(*c));

        if (!c) {
                close(fd);
                return NULL;
        }
        *c = (Connection){
                .server = server,
                .peer = {*peer, is_trusted},
                .reader = varlink_reader_make(is_trusted ? limits->message_bytes
                                                         : limits->others_message_bytes),
                .writer = varlink_writer_make(limits->output_bytes),
                .idle.since_usec = clock_now_usec(),
        };
        if (varlink_places_enter(&server->places, &c->place, c, peer->uid, is_trusted) < 0 ||
            loop_watch(server->loop, &c->io, fd, EPOLLIN, connection_dispatch, c) < 0) {
                varlink_places_leave(&server->places, &c->place);
                close(fd);
                free(c);
                return NULL;
        }
        c->next = server->connections.first;
        if (c->next)
                c->next->previous = c;
        server->connections.first = c;
        server->connections.n++;
        return c;
}

/* Calls the closed handler of a call in progress; an answer given by that handler has no effect. */
void connection_close(Connection *c) {
        VarlinkServer *server = c->server;
        VarlinkCall *call = c->call;
        int fd = c->io.fd;

        varlink_places_leave(&server->places, &c->place);
        if (c->previous)
                c->previous->next = c->next;
        else
                server->connections.first = c->next;
        if (c->next)
                c->next->previous = c->previous;
        server->connections.n--;
        server->connections.n_idle -= c->idle.is_counted;
        loop_unwatch(&c->io);
        if (c->end.state == CONNECTION_LEAVING)
                lobby_take(server, fd, true);
        else
                close(fd);
        c->end.state = CONNECTION_DOOMED;
        if (call && call->closed)
                call->closed(call, call->closed_userdata);
        free(c->call);
        varlink_reader_done(&c->reader);
        varlink_writer_done(&c->writer);
        free(c);
        if (!loop_is_set(&server->listening.resume))
                return;
        loop_unset(&server->listening.resume);
        on_resume(server);
}

void connection_doom(Connection *c) {
        if (c->end.state != CONNECTION_OPEN)
                return;
        c->end.state = CONNECTION_DOOMED;
        varlink_writer_done(&c->writer);
        shutdown(c->io.fd, SHUT_RDWR);
}

bool connection_send(Connection *c) {
        size_t before = varlink_writer_unsent(&c->writer);
        int r = c->end.state == CONNECTION_OPEN ? varlink_writer_send(&c->writer, c->io.fd) : 0;

        if (r < 0 && r != -EAGAIN)
                connection_doom(c);
        if (varlink_writer_unsent(&c->writer) < before)
                c->idle.since_usec = clock_now_usec();
        return varlink_writer_unsent(&c->writer) == 0;
}

void connection_evict(Connection *c) {
        VarlinkServer *server = c->server;

        if (c->end.state == CONNECTION_LEAVING)
                return;
        varlink_places_leave(&server->places, &c->place);
        server->connections.n_idle -= c->idle.is_counted;
        c->idle.is_counted = false;
        c->end.state = CONNECTION_LEAVING; /* without shutdown(2), which the client would notice */
        varlink_writer_done(&c->writer);
        c->end.next_leaving = server->connections.leaving;
        server->connections.leaving = c;
}

static void connection_settle(Connection *c) {
        VarlinkServer *server = c->server;
        bool is_idle = !c->call && !c->queued.message;
        VarlinkPlaceKind kind = is_idle            ? VARLINK_PLACE_IDLE
                                : !c->call         ? VARLINK_PLACE_WAITING
                                : c->call->is_kept ? VARLINK_PLACE_KEPT
                                : c->call->more    ? VARLINK_PLACE_SUBSCRIBED
                                                   : VARLINK_PLACE_WAITING;
        /* epoll reports a hang-up even without any interest. */
        uint32_t interest = varlink_writer_unsent(&c->writer) > 0 ? EPOLLOUT
                            : !is_idle                            ? c->io.events & EPOLLIN
                            : c->end.is_read                      ? EPOLLOUT
                                                                  : EPOLLIN;

        server->connections.n_idle += is_idle;
        server->connections.n_idle -= c->idle.is_counted;
        c->idle.is_counted = is_idle;
        varlink_places_set_kind(&server->places, &c->place, kind);
        if (!c->queued.message)
                varlink_reader_trim(&c->reader);
        if (c->end.state == CONNECTION_OPEN && loop_rewatch(&c->io, interest) < 0)
                connection_doom(c);
}

/* ---- turns ---- */

/* Reads at most once, so that a client that sends without end gets no larger share than others. */
void connection_look_for_call(Connection *c, bool may_read) {
        /* Untrusted clients must read each answer before their next call is taken, or they could make the server keep
         * many. */
        const size_t unsent_max = c->peer.is_trusted ? OUTPUT_LOW_BYTES - 1 : 0;

        while (c->end.state == CONNECTION_OPEN && !c->call && !c->queued.message &&
               varlink_writer_unsent(&c->writer) <= unsent_max) {
                const char *bytes;
                size_t length;
                int r = varlink_reader_next(&c->reader, &bytes, &length);

                if (r > 0) {
                        c->queued.message = bytes;
                        varlink_places_queue(&c->server->places, &c->place);
                } else if (r < 0) {
                        connection_send(c);
                        connection_doom(c);
                } else {
                        ssize_t n = may_read && !c->end.is_read
                                            ? varlink_reader_receive(&c->reader, c->io.fd)
                                            : -EAGAIN;

                        c->end.is_read = c->end.is_read || n == 0;
                        if (n < 0 && n != -EAGAIN)
                                connection_doom(c);
                        if (n <= 0)
                                return;
                        may_read = false;
                }
        }
}

void connection_end_turn(Connection *c) {
        c->queued.is_in_turn = false;
        if (c->end.state == CONNECTION_LEAVING)
                return;
        if (c->end.state == CONNECTION_DOOMED ||
            (c->end.is_read && !c->call && !c->queued.message &&
             varlink_writer_unsent(&c->writer) == 0))
                connection_close(c);
        else
                connection_settle(c);
}

void connection_turn(Connection *c, uint32_t events) {
        bool is_congested = varlink_writer_unsent(&c->writer) > 0;

        /* After a hang-up no answer is wanted, but earlier messages, which may be one-way calls, are still read. */
        if (events & (EPOLLHUP | EPOLLERR)) {
                c->end.is_gone = true;
                if (c->call)
                        connection_doom(c);
        }
        if (events & EPOLLIN && (c->call || c->queued.message) && c->end.state == CONNECTION_OPEN &&
            loop_rewatch(&c->io, 0) < 0)
                connection_doom(c);
        c->queued.is_in_turn = true;
        if (connection_send(c)) {
                if (is_congested && c->end.state == CONNECTION_OPEN && c->call && c->call->drained)
                        c->call->drained(c->call, c->call->drained_userdata);
                connection_look_for_call(c, true);
        }
        connection_end_turn(c);
}

static void connection_dispatch(void *userdata, uint32_t events) {
        Connection *c = userdata;

        if (c->end.state != CONNECTION_LEAVING)
                connection_turn(c, events);
}

void connection_kick(Connection *c) {
        uint64_t start = clock_now_usec();

        if (c->queued.is_in_turn || c->end.state != CONNECTION_OPEN)
                return;
        connection_send(c);
        connection_look_for_call(c, false);
        connection_settle(c);
        server_schedule(c->server);
        varlink_places_charge(&c->server->places, c->peer.credentials.uid,
                              clock_now_usec() - start);
}
