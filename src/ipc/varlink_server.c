/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ipc/varlink_server.h"

#include "base/size.h"
#include "ipc/varlink_connection.h"
#include "ipc/varlink_lobby.h"
#include "ipc/varlink_source.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

enum {
        EVENTS_PER_DISPATCH = 64,
        CALLS_PER_DISPATCH = 16,
};

/* The time for calls before new ones are taken in. */
static const uint64_t serving_usec = USEC_PER_MSEC;

/* Connections are closed later, because they may be among the sources of the same dispatch. */
static void timer_turn(VarlinkServer *server, Source *source, uint32_t events UNUSED) {
        uint64_t n_expirations;
        if (read(source->fd, &n_expirations, sizeof(n_expirations)) > 0)
                server->timer.has_fired = true;
}

static void wake_turn(VarlinkServer *server UNUSED, Source *source UNUSED, uint32_t events UNUSED) {
}

/* ---- serving ---- */

static void server_serve(VarlinkServer *server) {
        uint64_t start = varlink_now_usec(), now = start;

        for (size_t n = 0; n < CALLS_PER_DISPATCH && now - start < serving_usec; n++) {
                const VarlinkPlace *place = varlink_places_next(&server->places);
                uint64_t before = now;

                if (!place)
                        return;
                uid_t uid = place->user->uid;
                Connection *c = place->owner;
                const char *message = c->queued.message;

                varlink_places_unqueue(&server->places, &c->place);
                c->queued.message = NULL;
                c->queued.is_in_turn = true;
                call_take(c, message);
                connection_send(c);
                connection_look_for_call(c, false);
                connection_end_turn(c);
                now = varlink_now_usec();
                varlink_places_charge(&server->places, uid, now - before);
        }
}

/* ---- dispatching ---- */

static void server_handle_timer(VarlinkServer *server) {
        uint64_t now = varlink_now_usec();

        server->timer.has_fired = false;
        server->timer.set_usec = 0;
        for (Connection *c = server->connections.first, *next; c; c = next) {
                next = c->next;
                if (c->idle.is_counted &&
                    add_saturated(c->idle.since_usec, server->limits.idle_usec) <= now)
                        connection_close(c);
        }
        if (server->listening.resume_usec <= now)
                server_resume(server);
}

int varlink_server_dispatch(VarlinkServer *server) {
        struct epoll_event events[EVENTS_PER_DISPATCH];
        int n = epoll_wait(server->epoll_fd, events, EVENTS_PER_DISPATCH, 0);

        if (n < 0)
                return errno == EINTR ? 0 : -errno;
        for (int i = 0; i < n; i++) {
                Source *source = events[i].data.ptr;

                source->dispatch(server, source, events[i].events);
        }
        server->connections.n_replaced = 0;
        server_serve(server);
        while (server->connections.leaving) {
                Connection *c = server->connections.leaving;

                server->connections.leaving = c->end.next_leaving;
                connection_close(c);
        }
        if (server->timer.has_fired)
                server_handle_timer(server);
        server_set_awake(server);
        server_schedule(server);
        return 0;
}

/* ---- the server ---- */

VarlinkLimits varlink_limits_default(void) {
        return (VarlinkLimits){
                .connections = 2048,
                .per_uid = 1536,
                .kept_per_uid = 1024,
                .subscriptions_per_uid = 64,
                .others_message_bytes = 4 * KIB,
                .lobby = 20480,
                .pause_usec = USEC_PER_SEC,
                .message_bytes = 64 * KIB,
                .output_bytes = MIB,
                .idle_usec = 45 * USEC_PER_SEC,
                .accept_retry_usec = USEC_PER_SEC,
        };
}

void varlink_server_set_limits(VarlinkServer *server, const VarlinkLimits *limits) {
        server->limits = *limits;
        server->places.n_max = limits->connections;
        server->places.per_user = limits->per_uid;
        server->places.kept_per_user = limits->kept_per_uid;
        server->places.subscriptions = limits->subscriptions_per_uid;
}

VarlinkServer *varlink_server_new(const VarlinkInterface *const *interfaces, size_t n,
                                  const VarlinkServerInfo *info, void *userdata) {
        VarlinkServer *server = calloc(1, sizeof(*server) + (n + 1) * sizeof(*interfaces));
        int r;

        if (!server)
                return NULL;
        server->epoll_fd = -1;
        server->timer.source = (Source){.fd = -1, .dispatch = timer_turn};
        server->turn.wake = (Source){.fd = -1, .dispatch = wake_turn};
        server->lobby.timer.fd = -1;
        const VarlinkLimits limits = varlink_limits_default();

        varlink_server_set_limits(server, &limits);
        server->served = (Served){.info = *info, .own_uid = geteuid(), .userdata = userdata};
        server->hooks = (ServerHooks){call_class, server_admit};
        server->interfaces[0] = &varlink_service_interface;
        if (n > 0)
                memcpy(server->interfaces + 1, interfaces, n * sizeof(*interfaces));
        server->n_interfaces = n + 1;
        if ((server->epoll_fd = epoll_create1(EPOLL_CLOEXEC)) < 0 ||
            (server->timer.source.fd =
                     timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) < 0 ||
            (server->turn.wake.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0)
                r = -errno;
        else if ((r = source_add(server, &server->timer.source, EPOLLIN)) >= 0 &&
                 (r = source_add(server, &server->turn.wake, EPOLLIN)) >= 0)
                r = lobby_begin(server);
        if (r < 0) {
                varlink_server_free(server);
                errno = -r;
                return NULL;
        }
        return server;
}

VarlinkServer *varlink_server_free(VarlinkServer *server) {
        if (!server)
                return NULL;
        while (server->connections.first)
                connection_close(server->connections.first);
        for (Listener *listener = server->listening.first, *next; listener; listener = next) {
                next = listener->next;
                close(listener->source.fd);
                free(listener);
        }
        lobby_end(server);
        varlink_text_free(server->served.info_text);
        if (server->timer.source.fd >= 0)
                close(server->timer.source.fd);
        if (server->turn.wake.fd >= 0)
                close(server->turn.wake.fd);
        if (server->epoll_fd >= 0)
                close(server->epoll_fd);
        free(server);
        return NULL;
}

int varlink_server_fd(const VarlinkServer *server) {
        return server->epoll_fd;
}

size_t varlink_server_n_connections(const VarlinkServer *server) {
        return server->connections.n;
}
