/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `serve-metrics`: hugeplan-report.service, which says what `metrics` says on a socket of systemd's, in the way of its
 * interface io.systemd.Metrics.
 *
 * It is not the daemon that does: to look into a database's processes takes a capability, of which the daemon has none,
 * and who asks without end must not keep a gate waiting. The figures are looked up when somebody asks, however many do,
 * once a second at most, and less often where that takes long: no more than a tenth of the time goes into it. When
 * nobody is there any more it ends; systemd goes on listening. */
#include "ctl/observe/observe.h"
#include "ctl/verbs.h"
#include "ipc/interface_texts.h"
#include "ipc/manager_interface.h"
#include "ipc/varlink_server.h"
#include "model/exit_code.h"
#include "runtime/clock.h"
#include "runtime/log.h"
#include "runtime/loop.h"
#include "runtime/service.h"

#include <string.h>
#include <sys/epoll.h>

#define FRESH_USEC  USEC_PER_SEC        /* figures are not looked up again, at least */
#define FRESH_TIMES 10                  /* the time that it took */
#define UNUSED_USEC (30 * USEC_PER_SEC) /* it is looked whether anybody is there; or --timeout= */

typedef struct MetricsServer {
        Command *command;
        Loop *loop;
        LoopIo io;
        LoopTimer unused;
        VarlinkServer *varlink;
        json_t *samples, *families; /* the replies of both methods; NULL: none were asked for yet */
        uint64_t until_usec;        /* they are not looked up again */
} MetricsServer;

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

/* One in each reply; there is one at least. */
static void reply_all(VarlinkCall *call, const json_t *replies) {
        size_t n = json_array_size(replies);

        for (size_t i = 0; i + 1 < n; i++)
                varlink_call_reply_continues(call, json_incref(json_array_get(replies, i)));
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

/* systemd's interface, by which systemd-report (systemd 260 and later) asks whoever has a socket in
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

static void wait_unused(MetricsServer *server);

/* Who comes at this very moment is not lost: systemd starts us again for him. */
static void on_unused(void *userdata) {
        MetricsServer *server = userdata;

        if (varlink_server_n_connections(server->varlink) == 0)
                loop_end(server->loop, 0);
        else
                wait_unused(server);
}

static void wait_unused(MetricsServer *server) {
        const Command *command = server->command;

        loop_set(server->loop, &server->unused,
                 clock_now_usec() + (command->has_timeout ? command->timeout_usec : UNUSED_USEC),
                 on_unused, server);
}

/* All replies to a call are kept until they are taken, so few are served at a time. */
static VarlinkLimits limits(void) {
        VarlinkLimits limits = varlink_limits_default();

        limits.connections = 64;
        limits.per_uid = 32;
        limits.subscriptions_per_uid = 32;
        limits.output_bytes = 4 * MIB;
        return limits;
}

/* Negative errno. */
static int serve(MetricsServer *server, int fd) {
        const VarlinkInterface *interface = &metrics_interface;
        const VarlinkLimits few = limits();
        int r = loop_new(&server->loop);

        if (r < 0)
                return r;
        server->varlink = varlink_server_new(&interface, 1, &manager_service_info, server);
        if (!server->varlink)
                return -errno;
        varlink_server_set_limits(server->varlink, &few);
        r = varlink_server_listen_fd(server->varlink, fd);
        if (r >= 0)
                r = loop_watch(server->loop, &server->io, varlink_server_fd(server->varlink),
                               EPOLLIN, on_input, server);
        if (r < 0)
                return r;
        wait_unused(server);
        return loop_run(server->loop);
}

static void metrics_server_done(MetricsServer *server) {
        loop_unwatch(&server->io);
        loop_unset(&server->unused);
        varlink_server_free(server->varlink);
        loop_free(server->loop);
        json_decref(server->samples);
        json_decref(server->families);
}

int verb_serve_metrics(Command *command) {
        MetricsServer server = {.command = command};
        int fd = service_listen_fd();

        if (fd < 0) {
                log_line(LOG_ERR, "there is no socket: hugeplan-report.socket starts this");
                return EXIT_USAGE;
        }
        int r = serve(&server, fd);

        metrics_server_done(&server);
        if (r < 0)
                log_line(LOG_ERR, "metrics cannot be served: %s", strerror(-r));
        return r < 0 ? EXIT_FAILED : EXIT_DONE;
}
