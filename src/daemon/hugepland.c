/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* hugepland: reserves each instance's huge pages and reports the result. See hugepland(8) and docs/architecture.md.
 *
 * Everything before `apply` only reads, and the plan is a value. A failure becomes part of the status, which is still
 * served: a waiting unit is told "no, because of line 7 of 20-pg.conf". */
#include "base/memory.h"
#include "daemon/clients/client.h"
#include "host/probe.h"
#include "ipc/varlink_server.h"
#include "model/exit_code.h"
#include "model/names.h"
#include "runtime/clock.h"
#include "runtime/log.h"
#include "runtime/loop.h"
#include "runtime/service.h"

#include <getopt.h>
#include <jansson.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* Returns 0 to continue with *RET_ROOT, otherwise the exit code plus 1. */
static int parse_options(int argc, char **argv, const char **ret_root) {
        static const struct option options[] = {
                {"root", required_argument, NULL, 'r'},
                {"help", no_argument, NULL, 'h'},
                {"version", no_argument, NULL, 'v'},
                {},
        };
        int c;

        *ret_root = "/";
        while ((c = getopt_long(argc, argv, "h", options, NULL)) >= 0)
                switch (c) {
                case 'r':
                        *ret_root = optarg;
                        break;
                case 'h':
                        puts("hugepland [OPTIONS]\n"
                             "\n"
                             "Reserves the huge pages of the database instances described in /etc/hugeplan.d,\n"
                             "keeps their status on a socket, and never takes pages away when it stops.\n"
                             "Started by systemd as hugeplan.service; can be run in the foreground by hand.\n"
                             "\n"
                             "  --root=DIR   work below DIR instead of /\n"
                             "  --help       this text\n"
                             "  --version    the version\n"
                             "\n"
                             "See hugepland(8), hugeplan.d(5), hugeplanctl(1).");
                        return EXIT_DONE + 1;
                case 'v':
                        puts("hugepland " HUGEPLAN_VERSION);
                        return EXIT_DONE + 1;
                default:
                        return EXIT_USAGE + 1;
                }
        if (optind < argc) {
                log_line(LOG_ERR, "there are no arguments, only options; see hugepland --help");
                return EXIT_USAGE + 1;
        }
        return 0;
}

/* ---- the socket ---- */

/* Keeps the socket's file in place. If an administrator, or a line in tmpfiles.d, has removed it from /run, systemd keeps
 * listening on a socket that clients cannot reach, and does not create the file again even if the service is restarted.
 * So at startup the daemon checks the socket and, if necessary, binds one of its own, which it serves beside systemd's. */
typedef struct Server {
        const Root *root;
        VarlinkServer *varlink;
        bool is_socket_ours; /* bound by the daemon, not by systemd */
        LoopIo io;           /* of the varlink server */
} Server;

static int bind_socket(const Server *server) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        return varlink_bind_socket(root_path(arena, server->root, PATH_SOCKET));
}

/* Takes ownership of FD. */
static int listen_on(Server *server, int fd) {
        int r = fd < 0 ? fd : varlink_server_listen_fd(server->varlink, fd);

        if (r < 0 && fd >= 0)
                close(fd);
        return r;
}

static void on_server(void *userdata, uint32_t events UNUSED) {
        Server *server = userdata;
        int r = varlink_server_dispatch(server->varlink);

        if (r < 0)
                loop_end(server->io.loop, r);
}

/* Serves INTERFACE, whose handlers get USERDATA, on the listening socket FD, of which it takes ownership; -1: binds the
 * socket itself. Returns 0 or a negative errno. */
static int server_start(Server *server, const Root *root, Loop *loop,
                        const VarlinkInterface *interface, void *userdata, int fd) {
        server->root = root;
        server->varlink = varlink_server_new(interface, userdata);
        if (!server->varlink)
                return -errno;
        int r = loop_watch(loop, &server->io, varlink_server_fd(server->varlink), EPOLLIN,
                           on_server, server);

        /* Without systemd's socket unit, the daemon creates the same socket and the same link in the registry. */
        if (r >= 0 && fd < 0) {
                r = root_make_directory(root, PATH_RUNTIME);
                fd = r < 0 ? r : bind_socket(server);
                server->is_socket_ours = fd >= 0;
                if (fd >= 0 && root_make_directory(root, PATH_VARLINK_REGISTRY) == 0)
                        root_symlink(root, PATH_SOCKET, PATH_VARLINK_LINK);
        }
        if (r >= 0)
                r = listen_on(server, fd);
        if (r < 0)
                return r;
        if (server->is_socket_ours)
                return 0;
        /* A socket that still accepts connections is left alone, whether it is systemd's or our own. */
        r = listen_on(server, bind_socket(server));
        if (r >= 0)
                log_line(LOG_WARNING, PATH_SOCKET " had been removed; it was created again");
        else if (r != -EADDRINUSE)
                log_line(LOG_WARNING, PATH_SOCKET " was removed and cannot be created again: %s",
                         strerror(-r));
        return 0;
}

static void server_stop(Server *server) {
        loop_unwatch(&server->io);
        if (server->is_socket_ours) {
                root_remove(server->root, PATH_SOCKET);
                root_remove(server->root, PATH_VARLINK_LINK);
        }
        varlink_server_free(server->varlink);
}

/* ---- serving ---- */

typedef struct Daemon {
        Loop *loop;
        Manager *manager;
        Server server;
        int signal_fd;
        LoopIo signals;
        LoopTimer watchdog;
        uint64_t watchdog_usec; /* 0: no watchdog is set */
} Daemon;

static void on_signal(void *userdata, uint32_t events UNUSED) {
        const Daemon *daemon = userdata;
        struct signalfd_siginfo info;

        if (read(daemon->signal_fd, &info, sizeof(info)) != sizeof(info))
                return;
        if (info.ssi_signo == SIGHUP)
                manager_reload(daemon->manager, false);
        else
                loop_end(daemon->loop, 0);
}

/* Signals are blocked and read from the loop, because a caught signal would cut a write to nr_hugepages short. SIGHUP
 * must be taken care of before READY=1. */
static int watch_signals(Daemon *daemon) {
        sigset_t signals;

        sigemptyset(&signals);
        sigaddset(&signals, SIGTERM);
        sigaddset(&signals, SIGINT);
        sigaddset(&signals, SIGHUP);
        if (sigprocmask(SIG_BLOCK, &signals, NULL) < 0)
                return -errno;
        signal(SIGPIPE, SIG_IGN);
        daemon->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
        if (daemon->signal_fd < 0)
                return -errno;
        return loop_watch(daemon->loop, &daemon->signals, daemon->signal_fd, EPOLLIN, on_signal,
                          daemon);
}

/* Called from the loop, so that a loop that hangs sends nothing. Sent twice in each interval of systemd's watchdog. */
static void on_watchdog(void *userdata) {
        Daemon *daemon = userdata;

        service_notify("WATCHDOG=1");
        loop_set(daemon->loop, &daemon->watchdog, clock_now_usec() + daemon->watchdog_usec / 2,
                 on_watchdog, daemon);
}

static void daemon_end(Daemon *daemon) {
        server_stop(&daemon->server);
        manager_freep(&daemon->manager);
        loop_unwatch(&daemon->signals);
        loop_unset(&daemon->watchdog);
        if (daemon->signal_fd >= 0)
                close(daemon->signal_fd);
        loop_free(daemon->loop);
}

static int serve(const Root *root) {
        CLEANUP(daemon_end) Daemon daemon = {.signal_fd = -1};
        int r = loop_new(&daemon.loop);

        if (r >= 0)
                r = manager_new(root, daemon.loop, clients_notify, &daemon.manager);
        if (r >= 0)
                r = watch_signals(&daemon);
        if (r < 0) {
                log_line(LOG_ERR, "cannot set up: %s", strerror(-r));
                return r;
        }
        /* The socket passed by systemd, if there is one. */
        r = server_start(&daemon.server, root, daemon.loop, &manager_interface, daemon.manager,
                         service_listen_fd());
        if (r == -EADDRINUSE)
                log_line(LOG_ERR, "another hugepland serves " PATH_SOCKET " already");
        else if (r < 0)
                log_line(LOG_ERR, "cannot listen on " PATH_SOCKET ": %s", strerror(-r));
        if (r < 0)
                return r;
        daemon.watchdog_usec = service_watchdog_usec();
        if (daemon.watchdog_usec > 0)
                on_watchdog(&daemon);
        manager_start(daemon.manager);
        r = loop_run(daemon.loop);
        service_notify("STOPPING=1\nSTATUS=The pools stay as they are.");
        if (r < 0)
                log_line(LOG_ERR, "the event loop failed: %s", strerror(-r));
        clients_drop(daemon.manager);
        return r;
}

int main(int argc, char **argv) {
        CLEANUP(root_freep) Root *root = NULL;
        const char *directory;

        json_set_alloc_funcs(memory_new_unset, memory_free);
        mallopt(M_ARENA_MAX, 1); /* the threads allocate little: they need no heap of their own */
        int r = parse_options(argc, argv, &directory);

        if (r != 0)
                return r - 1;
        r = root_open(directory, &root);
        if (r < 0) {
                log_line(LOG_ERR, "cannot open the root directory %s: %s", directory, strerror(-r));
                return EXIT_FAILED;
        }
        if (root_is_host(root) && geteuid() != 0) {
                log_line(
                        LOG_ERR,
                        "hugepland must run as root, because it writes to /sys; use --root=DIR to try it elsewhere");
                return EXIT_FAILED;
        }
        if (probe_is_switched_off(root)) {
                log_line(LOG_NOTICE,
                         KERNEL_SWITCH_OFF " is on the kernel command line: nothing is changed");
                service_notify("READY=1\nSTATUS=Switched off by " KERNEL_SWITCH_OFF);
                return EXIT_DONE;
        }
        root_keep_open(root);
        return serve(root) < 0 ? EXIT_FAILED : EXIT_DONE;
}
