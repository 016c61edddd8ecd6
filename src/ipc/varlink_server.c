/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ipc/varlink_server.h"

#include "base/memory.h"
#include "base/size.h"
#include "ipc/varlink_server_inside.h"

#include <sys/resource.h>
#include <unistd.h>

enum {
        CALLS_PER_DISPATCH = 16,
        DESCRIPTORS_SPARED =
                2048, /* for root's clients and for files that are read for an answer */
};

/* The time for calls before new ones are taken in. */
static const uint64_t serving_usec = USEC_PER_MSEC;

/* ---- serving ---- */

static void server_serve(VarlinkServer *server) {
        uint64_t start = clock_now_usec(), now = start;

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
                now = clock_now_usec();
                varlink_places_charge(&server->places, uid, now - before);
        }
}

/* ---- dispatching ---- */

int varlink_server_dispatch(VarlinkServer *server) {
        int r = loop_serve(server->loop);

        if (r < 0)
                return r;
        server_serve(server);
        while (server->connections.leaving) {
                Connection *c = server->connections.leaving;

                server->connections.leaving = c->end.next_leaving;
                connection_close(c);
        }
        return server_schedule(server);
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
        struct rlimit files = {};

        getrlimit(RLIMIT_NOFILE, &files);
        server->limits = *limits;
        server->limits.lobby =
                MIN(limits->lobby,
                    sub_floored(files.rlim_cur, limits->connections + DESCRIPTORS_SPARED));
        server->places.n_max = MIN(limits->connections, files.rlim_cur / 2);
        server->places.per_user = limits->per_uid;
        server->places.kept_per_user = limits->kept_per_uid;
        server->places.subscriptions = limits->subscriptions_per_uid;
}

VarlinkServer *varlink_server_new(const VarlinkInterface *interface, void *userdata) {
        VarlinkServer *server = memory_new(sizeof(*server));
        const VarlinkLimits limits = varlink_limits_default();

        varlink_server_set_limits(server, &limits);
        server->served = (Served){.own_uid = geteuid(), .userdata = userdata};
        server->admit = server_admit;
        server->interfaces[0] = &varlink_service_interface;
        server->interfaces[1] = interface;
        int r = loop_new(&server->loop);

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
                close(listener->io.fd);
                memory_free(listener);
        }
        lobby_end(server);
        memory_free(server->served.info_text);
        varlink_request_done(&server->last_request);
        loop_free(server->loop);
        memory_free(server);
        return NULL;
}

int varlink_server_fd(const VarlinkServer *server) {
        return loop_fd(server->loop);
}

size_t varlink_server_n_connections(const VarlinkServer *server) {
        return server->connections.n;
}
