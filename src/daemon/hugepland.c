/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* hugepland: reserves each instance's huge pages and reports the result. See hugepland(8) and docs/architecture.md.
 *
 * Everything before `apply` only reads, and the plan is a value. A failure becomes part of the status, which is still
 * served: a waiting unit is told "no, because of line 7 of 20-pg.conf". */
#include "base/memory.h"
#include "daemon/clients/client.h"
#include "daemon/server.h"
#include "host/probe.h"
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
