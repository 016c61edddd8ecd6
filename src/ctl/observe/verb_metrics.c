/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `metrics`: the status, and how databases use their pages, for a monitoring system; and `serve-metrics`:
 * hugeplan-report.service, which serves the figures of `metrics` on a socket of systemd by the
 * interface io.systemd.Metrics.
 *
 * It is not part of the daemon, because reading a database's processes needs a capability that the daemon does not
 * have, and because many calls must not delay a gate. The figures are read on demand, at most once a second for all
 * callers, and less often if reading takes long: at most a tenth of the time is spent on it. The service ends when no
 * connection is left; systemd goes on listening. */
#include "base/memory.h"
#include "ctl/observe/observe.h"
#include "ctl/verbs.h"
#include "ipc/interface_texts.h"
#include "ipc/varlink_server.h"
#include "model/exit_code.h"
#include "render/metrics/metrics.h"
#include "runtime/clock.h"
#include "runtime/log.h"
#include "runtime/loop.h"
#include "runtime/service.h"

#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#define FRESH_USEC  USEC_PER_SEC        /* the least time that figures are kept */
#define FRESH_TIMES 10                  /* and the least multiple of their reading time */
#define UNUSED_USEC (30 * USEC_PER_SEC) /* without --timeout= */

typedef struct MetricsServer {
        Command *command;
        Loop *loop;
        LoopIo io;
        LoopTimer unused;
        uint64_t unused_usec; /* between counts of connections */
        VarlinkServer *varlink;
        json_t *samples, *families; /* replies of both methods; NULL: not called yet */
        uint64_t until_usec;        /* figures are kept until then */
} MetricsServer;

static Metrics metrics_now(Command *command) {
        const Status *status = status_now(command, NULL);
        const Proofs proofs = observe(command, status, NULL);
        bool is_reached = !TEXT_IS_ANY(status->phase, "no daemon", "aside");

        return metrics_of(command->arena, status, &proofs, is_reached);
}

int verb_metrics(Command *command) {
        CLEANUP(root_freep) Root *host = NULL;
        const char *path = command->n_arguments == 1 ? command->arguments[0] : NULL;
        Command here = *command;

        if (path && open_output(&here, path, false, &host) != EXIT_DONE)
                return EXIT_FAILED;
        const Metrics metrics = metrics_now(command);

        if (command->json != JSON_OFF && !path) {
                print_json(command, json_pack("{so so}", "metrics", metrics_to_json(&metrics),
                                              "families", metric_families_to_json(&metrics)));
                return EXIT_DONE;
        }
        const char *text = metrics_to_text(command->arena, &metrics);

        return path                      ? write_output(&here, path, text)
               : fputs(text, stdout) < 0 ? EXIT_FAILED
                                         : EXIT_DONE;
}

/* ---- serve-metrics ---- */

static void refresh(MetricsServer *server) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Command command = *server->command;
        uint64_t start_usec = clock_now_usec();

        if (server->samples && start_usec < server->until_usec)
                return;
        command.arena = arena;
        const Metrics metrics = metrics_now(&command);

        json_decref(server->samples);
        json_decref(server->families);
        server->samples = metrics_to_json(&metrics);
        server->families = metric_families_to_json(&metrics);
        uint64_t end_usec = clock_now_usec();

        server->until_usec = end_usec + MAX(FRESH_USEC, FRESH_TIMES * (end_usec - start_usec));
}

/* Sends each item in a reply of its own; there is at least one. */
static void reply_all(VarlinkCall *call, const json_t *replies) {
        size_t n = json_array_size(replies);

        for (size_t i = 0; i + 1 < n; i++) {
                char *text = varlink_text_new(json_incref(json_array_get(replies, i)), false);

                varlink_call_reply_text_continues(call, text);
                memory_free(text);
        }
        varlink_call_reply(call, json_incref(json_array_get(replies, n - 1)));
}

static void method_list(VarlinkCall *call, json_t *parameters UNUSED, void *userdata) {
        MetricsServer *server = userdata;

        refresh(server);
        reply_all(call, server->samples);
}

static void method_describe(VarlinkCall *call, json_t *parameters UNUSED, void *userdata) {
        MetricsServer *server = userdata;

        refresh(server);
        reply_all(call, server->families);
}

/* systemd's interface, by which systemd-report (systemd 260 and later) asks each service with a socket in
 * /run/systemd/report. Source: systemd's src/shared/varlink-io.systemd.Metrics.c. */
static const VarlinkInterface metrics_interface = {
        .name = "io.systemd.Metrics",
        .description = METRICS_DESCRIPTION,
        .methods =
                (const VarlinkMethod[]){
                        {"List", method_list, VARLINK_MORE_ONLY, varlink_no_parameters},
                        {"Describe", method_describe, VARLINK_MORE_ONLY, varlink_no_parameters},
                },
        .n_methods = 2,
};

static void on_input(void *userdata, uint32_t events UNUSED) {
        MetricsServer *server = userdata;
        int r = varlink_server_dispatch(server->varlink);

        if (r < 0)
                loop_end(server->loop, r);
}

/* A client that connects at this moment is not lost: systemd starts the service again. */
static void on_unused(void *userdata) {
        MetricsServer *server = userdata;

        if (varlink_server_n_connections(server->varlink) > 0)
                loop_set(server->loop, &server->unused, clock_now_usec() + server->unused_usec,
                         on_unused, server);
        else
                loop_end(server->loop, 0);
}

/* Returns a negative errno on failure. */
static int serve(MetricsServer *server, int fd) {
        /* All replies to a call are kept until the client reads them, so the number of clients is small. */
        VarlinkLimits limits = varlink_limits_default();
        int r = loop_new(&server->loop);

        if (r < 0)
                return r;
        server->varlink = varlink_server_new(&metrics_interface, server);
        if (!server->varlink)
                return -errno;
        limits.connections = 64;
        limits.per_uid = limits.subscriptions_per_uid = 32;
        limits.output_bytes = 4 * MIB;
        varlink_server_set_limits(server->varlink, &limits);
        r = varlink_server_listen_fd(server->varlink, fd);
        if (r >= 0)
                r = loop_watch(server->loop, &server->io, varlink_server_fd(server->varlink),
                               EPOLLIN, on_input, server);
        if (r < 0)
                return r;
        loop_set(server->loop, &server->unused, clock_now_usec() + server->unused_usec, on_unused,
                 server);
        return loop_run(server->loop);
}

int verb_serve_metrics(Command *command) {
        MetricsServer server = {.command = command,
                                .unused_usec = command->has_timeout ? command->timeout_usec
                                                                    : UNUSED_USEC};
        int fd = service_listen_fd();

        if (fd < 0)
                return log_failure(EXIT_USAGE,
                                   "there is no socket: hugeplan-report.socket starts this verb");
        int r = serve(&server, fd);

        loop_unwatch(&server.io);
        loop_unset(&server.unused);
        varlink_server_free(server.varlink);
        loop_free(server.loop);
        json_decref(server.samples);
        json_decref(server.families);
        if (r < 0)
                log_line(LOG_ERR, "metrics cannot be served: %s", strerror(-r));
        return r < 0 ? EXIT_FAILED : EXIT_DONE;
}
