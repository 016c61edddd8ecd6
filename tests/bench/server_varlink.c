/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* hugepland's Varlink server alone, without limits, with one reply for every request. The reply's text is made once, as the
 * daemon makes it once for all clients that ask at the same time. This is the cost of the protocol without that of a look.
 *
 *     bench-server-varlink SOCKET REPLY-FILE */
#include "ipc/manager_interface.h"
#include "ipc/varlink_server.h"

#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { FD_MAX = 16384, CALLS_MAX = 4096 };

typedef struct Replier {
        char *last, *more;
        VarlinkCall *subscribers[CALLS_MAX];
        size_t n_subscribers;
} Replier;

static void on_closed(VarlinkCall *call, void *userdata) {
        Replier *replier = userdata;

        for (size_t i = 0; i < replier->n_subscribers; i++)
                if (replier->subscribers[i] == call)
                        replier->subscribers[i] = replier->subscribers[--replier->n_subscribers];
}

static void method_describe(VarlinkCall *call, json_t *parameters, void *userdata) {
        Replier *replier = userdata;

        (void) parameters;
        if (!varlink_call_wants_more(call) || replier->n_subscribers == CALLS_MAX) {
                varlink_call_reply_text(call, replier->last);
                return;
        }
        replier->subscribers[replier->n_subscribers++] = call;
        varlink_call_set_closed_handler(call, on_closed, replier);
        varlink_call_reply_text_continues(call, replier->more);
}

static void method_reload(VarlinkCall *call, json_t *parameters, void *userdata) {
        Replier *replier = userdata;

        (void) parameters;
        for (size_t i = 0; i < replier->n_subscribers; i++)
                varlink_call_reply_text_continues(replier->subscribers[i], replier->more);
        varlink_call_reply(call, NULL);
}

int main(int argc, char **argv) {
        static const VarlinkMethod methods[] = {
                {"Describe", method_describe, 0, varlink_no_parameters},
                {"Reload", method_reload, 0, varlink_no_parameters},
        };
        static const VarlinkInterface interface = {MANAGER_INTERFACE, "interface bench", methods,
                                                   2};
        static Replier replier;
        struct rlimit files = {.rlim_cur = 2 * FD_MAX, .rlim_max = 2 * FD_MAX};
        VarlinkLimits limits = varlink_limits_default();
        VarlinkServer *server = varlink_server_new(&interface, &replier);
        json_t *message = argc == 3 ? json_load_file(argv[2], JSON_DISABLE_EOF_CHECK, NULL) : NULL;
        int fd;

        setrlimit(RLIMIT_NOFILE, &files);
        json_t *reply = json_object_get(message, "parameters");

        replier.last = varlink_text_new(json_incref(reply), true);
        replier.more = varlink_text_new(json_incref(reply), false);
        if (!server || !replier.last || !replier.more || (fd = varlink_bind_socket(argv[1])) < 0)
                return 1;
        limits.connections = limits.per_uid = FD_MAX;
        varlink_server_set_limits(server, &limits);
        if (varlink_server_listen_fd(server, fd) < 0)
                return 1;
        for (;;) {
                struct pollfd ready = {.fd = varlink_server_fd(server), .events = POLLIN};

                if (poll(&ready, 1, -1) > 0 && varlink_server_dispatch(server) < 0)
                        return 1;
        }
}
