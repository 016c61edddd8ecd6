/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* hugeplan-generator: makes each database unit wait for its own reservation, and mounts hugetlbfs for instances with
 * Mount=.
 *
 * systemd.generator(7): it runs before any unit is loaded, in parallel with other generators, with only the root file
 * system mounted. systemd ignores its exit code, and since 254 a crash discards the output of the other generators too.
 * It only adds drop-ins and mount units, each complete or not at all, and logs to the kernel log. A file that cannot be
 * read or written is logged and does not prevent the others; the exit code is then 1. */
#include "base/memory.h"
#include "base/text.h"
#include "host/config_load.h"
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

/* Logs to the kernel log, because no other log exists this early; on a terminal, and for a captured host, to standard
 * error. ROOT is NULL if it could not be opened. */
static void say(const Root *root, const char *format, ...) PRINTF_LIKE(2, 3);

static void say(const Root *root, const char *format, ...) {
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
                                        LOG_ERR | LOG_DAEMON, (int) getpid(), text);

        /* A record is a single write; its failure cannot be logged anywhere. */
        (void) !write(fd, line, strlen(line));
        close(fd);
}

/* Called when memory is exhausted. */
static void say_last(void) {
        static const char line[] = "<27>hugeplan-generator: out of memory, units may lack their "
                                   "gates; later, run: systemctl daemon-reload\n";
        int fd = open(PATH_KMSG, O_WRONLY | O_CLOEXEC | O_NOCTTY);

        if (fd >= 0)
                (void) !write(fd, line, strlen(line));
}

/* Returns whether the drop-ins would have no effect, or are not wanted. */
static bool stands_aside(const Root *root) {
        const char *scope = getenv("SYSTEMD_SCOPE");
        const char *in_initrd = getenv("SYSTEMD_IN_INITRD");
        const char *virtualization = getenv("SYSTEMD_VIRTUALIZATION");

        return (scope && !text_equals(scope, "system")) || text_equals(in_initrd, "1") ||
               root_exists(root, PATH_CRASH_DUMP) || probe_is_switched_off(root) ||
               (virtualization && text_starts_with(virtualization, "container:"));
}

/* Writes into OUTPUT that TARGET wants UNIT, whose file is PATH. */
static int add_want(Arena *arena, const Root *root, const Root *output, const char *target,
                    const char *unit, const char *path) {
        int r = root_add_link(output, arena_printf(arena, "%s.wants", target), unit, path);

        if (r < 0)
                say(root, "cannot enable %s at boot: %s", unit, strerror(-r));
        return r;
}

/* What the generator writes. */
typedef struct Wanted {
        const Config *config;
        /* The path of the daemon's unit, if it is enabled and has work in this boot; NULL: its socket starts it on demand. */
        const char *daemon;
        Dropins dropins; /* for units that wait */
        MountUnits mounts;
        ReadFault fault; /* the first one while reading; error 0: none */
} Wanted;

static Wanted find_wanted(Arena *arena, const Root *root) {
        const Config *config = config_load(root, arena, NULL);
        Wanted wanted = {.config = config};
        char *path = arena_strdup(arena, "../" NAME_UNIT); /* used if the link cannot be read */

        root_forget_fault(root); /* the configuration has its own */
        int r = root_read_link(root, arena, PATH_UNIT_ENABLED, &path);
        const DropinInput input = dropin_input(root, arena, config, HUGEPLANCTL);

        /* A file that may have to be removed is work, and so is a file that could not be read. */
        if ((r == 0 || error_is_fault(r)) &&
            (config->n_files > 0 || config->is_incomplete || config->fault.error < 0 ||
             root_exists(root, PATH_PAM_LIMITS)))
                wanted.daemon = path;
        wanted.dropins = dropins_make(arena, &input);
        if (mount_is_wanted(config))
                wanted.mounts = mounts_of(root, arena, config, probe_page_sizes(root, arena));
        wanted.fault = config->fault.error < 0 ? config->fault : root_fault(root, arena);
        return wanted;
}

/* Writes the drop-ins into OUTPUT. LATE is the path of the directory for mount units: any other unit file of the same
 * name replaces one there. */
static int generate(const Root *root, const Root *output, const char *late) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        CLEANUP(root_freep) Root *mounts = NULL;
        enum { PAUSE_FIRST_USEC = 20000, PAUSE_MAX_USEC = 160000 };
        Wanted wanted = find_wanted(arena, root);

        /* A boot has no second run, so a fault that may pass in a moment (EMFILE, ENOMEM) is waited for. */
        for (useconds_t pause = PAUSE_FIRST_USEC; wanted.fault.error < 0 && pause <= PAUSE_MAX_USEC;
             pause *= 2) {
                usleep(pause);
                root_drop_fault(root);
                wanted = find_wanted(arena, root);
        }
        /* Whether everything was read that decides which units have gates. */
        bool is_done = wanted.fault.error == 0 && !wanted.config->is_incomplete;

        if (wanted.fault.error < 0)
                say(root, "%s cannot be read: %s", wanted.fault.path,
                    strerror(-wanted.fault.error));
        if (!is_done)
                say(root, "some units may not wait for their huge pages; when this can be "
                          "read, run: systemctl daemon-reload");

        /* Mistakes are also logged here, because the daemon may not start. */
        VEC_FOREACH(problem, &wanted.config->problems.list)
                if (problem->severity == SEVERITY_ERROR)
                        say(root, "%s", diag_format(arena, problem));
        if (wanted.daemon)
                is_done = add_want(arena, root, output, NAME_EARLY_TARGET, NAME_UNIT,
                                   wanted.daemon) == 0 &&
                          is_done;
        VEC_FOREACH(dropin, &wanted.dropins) {
                const char *directory = arena_printf(arena, "%s.d", dropin->unit);
                int r = root_add_file(output, directory, NAME_DROPIN, dropin->text);

                if (r < 0)
                        say(root, "cannot write /%s/" NAME_DROPIN ": %s", directory, strerror(-r));
                is_done = r == 0 && is_done;
        }
        VEC_FOREACH(unit, &wanted.mounts) {
                int r = mounts ? 0 : root_open(late, &mounts);

                if (r == 0)
                        r = root_add_file(mounts, ".", unit->name, unit->text);
                if (r < 0)
                        say(root, "cannot write %s: %s", unit->name, strerror(-r));
                else
                        r = add_want(arena, root, mounts, NAME_BOOT_TARGET, unit->name,
                                     arena_printf(arena, "../%s", unit->name));
                is_done = r == 0 && is_done;
        }
        return is_done ? EXIT_DONE : EXIT_FAILED;
}

static const char usage[] =
        "hugeplan-generator [--root=DIR] NORMAL-DIR [EARLY-DIR LATE-DIR]\n"
        "\n"
        "Writes UNIT.d/" NAME_DROPIN " into NORMAL-DIR for every unit named in /etc/hugeplan.d,\n"
        "so that the unit waits for its own huge pages, and a mount unit for every Mount= into\n"
        "LATE-DIR. Without LATE-DIR all are written into NORMAL-DIR.\n"
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
                /* A directory that is not the host's root has no kernel log. */
                if (text_equals(root_name, "/"))
                        say(NULL, "cannot open /: %s", strerror(-r));
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
                say(root, "cannot open %s: %s", argv[first], strerror(-r));
                return EXIT_FAILED;
        }
        return generate(root, output, argv[argc - 1]);
}
