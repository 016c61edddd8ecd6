/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* hugepland: reserves each instance's huge pages and says what became of it. hugepland(8); how it goes is drawn in
 * docs/architecture.md.
 *
 * Everything before `apply` only reads; the plan is a value; what failed becomes a status that is
 * still served, for a unit that waits deserves "no, because line 7 of 20-pg.conf". */
#include "base/memory.h"
#include "base/text.h"
#include "daemon/after_stop.h"
#include "daemon/clients/client.h"
#include "daemon/clients/clients.h"
#include "daemon/clients/relearn.h"
#include "daemon/server.h"
#include "host/probe.h"
#include "model/exit_code.h"
#include "model/names.h"
#include "runtime/log.h"

#include <getopt.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

static void print_help(void) {
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
}

typedef struct Options {
        const char *root;
        const char *stopped_unit; /* --after-stop=, for our units alone; NULL: be the daemon */
} Options;

/* 0 to go on with *RET, else the exit code plus 1. */
static int parse_options(int argc, char **argv, Options *ret) {
        static const struct option options[] = {
                {"root", required_argument, NULL, 'r'},
                {"after-stop", required_argument, NULL, 's'},
                {"help", no_argument, NULL, 'h'},
                {"version", no_argument, NULL, 'v'},
                {},
        };
        int c;

        *ret = (Options){.root = "/"};
        while ((c = getopt_long(argc, argv, "h", options, NULL)) >= 0)
                switch (c) {
                case 'r':
                        ret->root = optarg;
                        break;
                case 's':
                        ret->stopped_unit = optarg;
                        break;
                case 'h':
                        print_help();
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

static int on_reload(sd_event_source *source UNUSED, const struct signalfd_siginfo *info UNUSED,
                     void *userdata) {
        manager_reload(userdata, false);
        return 0;
}

/* Signals are blocked throughout and come through the loop: one that was caught would cut a write
 * to nr_hugepages short. SIGHUP must be taken care of before READY=1. */
static int watch_signals(sd_event *event, Manager *manager) {
        sigset_t signals;

        sigemptyset(&signals);
        sigaddset(&signals, SIGTERM);
        sigaddset(&signals, SIGINT);
        sigaddset(&signals, SIGHUP);
        if (sigprocmask(SIG_BLOCK, &signals, NULL) < 0)
                return -errno;
        signal(SIGPIPE, SIG_IGN);
        int r = sd_event_add_signal(event, NULL, SIGTERM, NULL, NULL);

        if (r >= 0)
                r = sd_event_add_signal(event, NULL, SIGINT, NULL, NULL);
        if (r >= 0)
                r = sd_event_add_signal(event, NULL, SIGHUP, on_reload, manager);
        return r;
}

static int serve(const Root *root, sd_event *event) {
        CLEANUP(manager_freep) Manager *manager = NULL;
        CLEANUP(server_stop) Server server = {};
        int r = manager_new(root, event, clients_notify, &manager);

        if (r >= 0)
                r = watch_signals(event, manager);
        if (r < 0) {
                log_line(LOG_ERR, "cannot set up: %s", strerror(-r));
                return r;
        }
        /* The socket that systemd listens on for us, if there is one. */
        r = server_start(&server, root, event, &manager_interface, manager,
                         sd_listen_fds(1) >= 1 ? SD_LISTEN_FDS_START : -1);
        if (r == -EADDRINUSE)
                log_line(LOG_ERR, "another hugepland serves " PATH_SOCKET " already");
        else if (r < 0)
                log_line(LOG_ERR, "cannot listen on " PATH_SOCKET ": %s", strerror(-r));
        if (r < 0)
                return r;
        sd_event_set_watchdog(event, true);
        manager_start(manager);
        r = sd_event_loop(event);
        sd_notify(0, "STOPPING=1\nSTATUS=The pools stay as they are.");
        if (r < 0)
                log_line(LOG_ERR, "the event loop failed: %s", strerror(-r));
        clients_drop(manager);
        relearn_drop(manager);
        return r;
}

int main(int argc, char **argv) {
        CLEANUP(root_freep) Root *root = NULL;
        CLEANUP(arena_freep) Arena *arena = arena_new();
        CLEANUP(sd_event_unrefp) sd_event *event = NULL;
        Options options;

        json_set_alloc_funcs(memory_new, memory_free);
        int r = parse_options(argc, argv, &options);

        if (r != 0)
                return r - 1;
        r = root_open(options.root, &root);
        if (r < 0) {
                log_line(LOG_ERR, "cannot open the root directory %s: %s", options.root,
                         strerror(-r));
                return EXIT_FAILED;
        }
        if (options.stopped_unit)
                return after_stop(root, options.stopped_unit, getenv("SERVICE_RESULT"));
        if (root_is_host(root) && geteuid() != 0) {
                log_line(
                        LOG_ERR,
                        "hugepland must run as root, for it writes to /sys; use --root=DIR to try it elsewhere");
                return EXIT_FAILED;
        }
        if (text_has_word(probe_kernel_command_line(root, arena), KERNEL_SWITCH_OFF)) {
                log_line(LOG_NOTICE,
                         KERNEL_SWITCH_OFF " is on the kernel command line: nothing is touched");
                sd_notify(0, "READY=1\nSTATUS=Switched off by " KERNEL_SWITCH_OFF);
                return EXIT_DONE;
        }
        r = sd_event_default(&event);
        if (r < 0) {
                log_line(LOG_ERR, "cannot set up the event loop: %s", strerror(-r));
                return EXIT_FAILED;
        }
        return serve(root, event) < 0 ? EXIT_FAILED : EXIT_DONE;
}
