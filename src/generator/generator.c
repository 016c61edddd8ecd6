/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* hugeplan-generator: makes each database unit wait for its own reservation, and mounts of huge pages
 * for those that take them so.
 *
 * systemd.generator(7): runs before any unit is loaded, beside the other generators, with nothing
 * but the root file system. systemd does not act on its exit code, and since 254 a crash takes the other
 * generators' output along. It adds drop-ins and mount units only, each complete or not at all, and speaks
 * in the kernel log. What it could not read or write does not keep the others from theirs, and is told; the
 * exit code is 1 then. */
#include "base/memory.h"
#include "base/text.h"
#include "host/config_load.h"
#include "host/host_sources.h"
#include "host/mounts.h"
#include "host/probe.h"
#include "host/root.h"
#include "host/unit_facts.h"
#include "model/exit_code.h"
#include "model/names.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

/* The kernel log is all there is this early; on a terminal, and for a captured host, it is standard
 * error. ROOT may be NULL: it could not be opened. */
static void say(const Root *root, int level, const char *format, ...) PRINTF_LIKE(3, 4);

static void say(const Root *root, int level, const char *format, ...) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        bool is_captured = root && !root_is_host(root);
        va_list arguments;

        va_start(arguments, format);
        const char *text = arena_vprintf(arena, format, arguments);

        va_end(arguments);
        int fd = is_captured || isatty(STDERR_FILENO)
                         ? -1
                         : open(PATH_KMSG, O_WRONLY | O_CLOEXEC | O_NOCTTY);

        if (fd < 0) {
                fprintf(stderr, "hugeplan-generator: %s\n", text);
                return;
        }
        const char *line = arena_printf(arena, "<%d>hugeplan-generator[%d]: %s\n",
                                        level | LOG_DAEMON, (int) getpid(), text);

        /* A record is one write; where that fails there is nobody left to be told. */
        (void) !write(fd, line, strlen(line));
        close(fd);
}

/* Called where there is no memory to say more. */
static void say_last(void) {
        static const char line[] =
                "<27>hugeplan-generator: out of memory, units may lack their gates; "
                "later: systemctl daemon-reload\n";
        int fd = open(PATH_KMSG, O_WRONLY | O_CLOEXEC | O_NOCTTY);

        if (fd >= 0)
                (void) !write(fd, line, strlen(line));
}

/* Where the drop-ins would be of no use, or are not wanted. */
static bool stands_aside(const Root *root) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const char *scope = getenv("SYSTEMD_SCOPE");
        const char *in_initrd = getenv("SYSTEMD_IN_INITRD");
        const char *virtualization = getenv("SYSTEMD_VIRTUALIZATION");

        if ((scope && !text_equals(scope, "system")) || text_equals(in_initrd, "1") ||
            root_exists(root, PATH_INITRD_RELEASE) ||
            (virtualization && text_starts_with(virtualization, "container:")))
                return true;
        return text_has_word(probe_text(root, arena, PATH_CMDLINE), KERNEL_SWITCH_OFF);
}

static int write_dropin(Arena *arena, const Root *root, const Root *output, const Dropin *dropin) {
        const char *directory = arena_printf(arena, "%s.d", dropin->unit);
        int r = root_add_file(output, directory, NAME_DROPIN, dropin->text);

        if (r < 0)
                say(root, LOG_ERR, "cannot write /%s/" NAME_DROPIN ": %s", directory, strerror(-r));
        return r;
}

/* TARGET wants UNIT, whose file is at PATH. */
static int add_want(Arena *arena, const Root *root, const Root *output, const char *target,
                    const char *unit, const char *path) {
        const char *wants = arena_printf(arena, "/%s.wants", target);
        int r = root_make_directory(output, wants);

        if (r == 0)
                r = root_symlink(output, path, arena_printf(arena, "%s/%s", wants, unit));
        if (r < 0)
                say(root, LOG_ERR, "cannot have %s started at boot: %s", unit, strerror(-r));
        return r;
}

static int write_mount(Arena *arena, const Root *root, const Root *output, const MountUnit *unit) {
        int r = root_write_file(output, arena_printf(arena, "/%s", unit->name), unit->text, 0644);

        if (r < 0) {
                say(root, LOG_ERR, "cannot write %s: %s", unit->name, strerror(-r));
                return r;
        }
        return add_want(arena, root, output, NAME_BOOT_TARGET, unit->name,
                        arena_printf(arena, "../%s", unit->name));
}

/* Where the daemon's unit is, if it is enabled and has something to do in this boot; NULL: its socket starts it for who
 * asks. A file that may have to go is something to do, and so is what could not be read. */
static const char *find_wanted_daemon(Arena *arena, const Root *root, const Config *config) {
        char *path = arena_strdup(arena,
                                  "../" NAME_UNIT); /* where that is not known, its name will do */
        int r = root_read_link(root, arena, PATH_UNIT_ENABLED, &path);
        bool is_enabled = r == 0 || error_is_fault(r);
        bool is_needed = config->n_files > 0 || config->is_incomplete || config->fault.error < 0 ||
                         root_exists(root, PATH_PAM_LIMITS);

        return is_enabled && is_needed ? path : NULL;
}

/* What is to be written. */
typedef struct Wanted {
        const Config *config;
        const char *daemon; /* NULL: a boot does without it */
        Dropins dropins;    /* of units that wait */
        MountUnits mounts;
        Diags obstacles; /* to other mounts */
        ReadFault fault; /* of what was read for it; error 0: none */
} Wanted;

static Wanted find_once(Arena *arena, const Root *root) {
        Wanted wanted = {.config = config_load(root, arena, NULL), .obstacles = diags_in(arena)};

        root_forget_fault(root);
        const DropinInput input = dropin_input(root, arena, wanted.config, HUGEPLANCTL);

        wanted.daemon = find_wanted_daemon(arena, root, wanted.config);
        wanted.dropins = dropins_make(arena, &input);
        MountUnits units = {};

        if (mount_is_wanted(wanted.config))
                units = mounts_of(root, arena, wanted.config, probe_page_sizes(root, arena));
        /* Never in the place of what somebody else has put there. */
        VEC_FOREACH(unit, &units) {
                const Diag *obstacle = mounts_obstacle(root, arena, unit);

                if (obstacle)
                        diags_add(&wanted.obstacles, obstacle);
                else
                        *vec_push(arena, &wanted.mounts) = *unit;
        }
        wanted.fault = wanted.config->fault.error < 0 ? wanted.config->fault
                                                      : root_fault(root, arena);
        return wanted;
}

/* There is no second run of a boot: what may pass within a moment (EMFILE, ENOMEM) is waited for. */
static Wanted find_wanted(Arena *arena, const Root *root) {
        enum { PAUSE_FIRST_USEC = 20000, PAUSE_MAX_USEC = 160000 };
        Wanted wanted = find_once(arena, root);

        for (useconds_t pause = PAUSE_FIRST_USEC; wanted.fault.error < 0 && pause <= PAUSE_MAX_USEC;
             pause *= 2) {
                usleep(pause);
                root_drop_fault(root);
                wanted = find_once(arena, root);
        }
        return wanted;
}

static int generate(const Root *root, const Root *output) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const Wanted wanted = find_wanted(arena, root);
        /* Whether everything was read that decides about gates. */
        bool is_done = wanted.fault.error == 0 && !wanted.config->is_incomplete;

        if (wanted.fault.error < 0)
                say(root, LOG_ERR, "%s cannot be read: %s", wanted.fault.path,
                    strerror(-wanted.fault.error));
        if (!is_done)
                say(root, LOG_ERR,
                    "not all units that should wait for their huge pages are known; once that can be "
                    "read: systemctl daemon-reload");

        /* Mistakes are told here too: the daemon may never come to it. */
        VEC_FOREACH(problem, &wanted.config->problems.list)
                if (problem->severity == SEVERITY_ERROR)
                        say(root, LOG_ERR, "%s", diag_format(arena, problem));
        VEC_FOREACH(obstacle, &wanted.obstacles.list)
                say(root, LOG_WARNING, "%s", diag_format(arena, obstacle));
        if (wanted.daemon)
                is_done = add_want(arena, root, output, NAME_EARLY_TARGET, NAME_UNIT,
                                   wanted.daemon) == 0 &&
                          is_done;
        VEC_FOREACH(dropin, &wanted.dropins)
                is_done = write_dropin(arena, root, output, dropin) == 0 && is_done;
        /* What is in the place of a mount is not known where something could not be read. */
        if (wanted.fault.error == 0)
                VEC_FOREACH(unit, &wanted.mounts)
                        is_done = write_mount(arena, root, output, unit) == 0 && is_done;
        return is_done ? EXIT_DONE : EXIT_FAILED;
}

static const char usage[] =
        "hugeplan-generator [--root=DIR] NORMAL-DIR [EARLY-DIR LATE-DIR]\n"
        "\n"
        "Writes UNIT.d/" NAME_DROPIN " into NORMAL-DIR for every unit named in /etc/hugeplan.d,\n"
        "so that the unit waits for its own huge pages, and a mount unit for every Mount=.\n"
        "Called by systemd; see hugepland(8).";

int main(int argc, char **argv) {
        CLEANUP(root_freep) Root *root = NULL;
        CLEANUP(root_freep) Root *output = NULL;
        const char *root_name = "/";
        int first = 1;

        if (argc > 1 && text_starts_with(argv[1], "--root=")) {
                root_name = argv[1] + strlen("--root=");
                first = 2;
        }
        if (argc > 1 && (text_equals(argv[1], "--help") || text_equals(argv[1], "--version"))) {
                puts(text_equals(argv[1], "--help") ? usage
                                                    : "hugeplan-generator " HUGEPLAN_VERSION);
                return EXIT_DONE;
        }
        if (argc - first != 1 && argc - first != 3) {
                fprintf(stderr, "%s\n", usage);
                return EXIT_USAGE;
        }
        umask(0022);
        int r = root_open(root_name, &root);

        if (r < 0) {
                /* What is no host has no kernel log either. */
                if (text_equals(root_name, "/"))
                        say(NULL, LOG_ERR, "cannot open /: %s", strerror(-r));
                else
                        fprintf(stderr, "hugeplan-generator: cannot open %s: %s\n", root_name,
                                strerror(-r));
                return EXIT_FAILED;
        }
        if (root_is_host(root) && !isatty(STDERR_FILENO))
                memory_set_end(say_last);
        if (stands_aside(root))
                return EXIT_DONE;
        r = root_open(argv[first], &output);
        if (r < 0) {
                say(root, LOG_ERR, "cannot open %s: %s", argv[first], strerror(-r));
                return EXIT_FAILED;
        }
        return generate(root, output);
}
