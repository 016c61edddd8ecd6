/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* hugeplanctl: shows what hugepland says, and what it would do. hugeplanctl(1). */
#include "base/memory.h"
#include "base/text.h"
#include "ctl/verbs.h"
#include "model/exit_code.h"
#include "runtime/environment.h"
#include "runtime/log.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
        OPTION_ROOT = 256,
        OPTION_JSON,
        OPTION_NO_PAGER,
        OPTION_VERSION,
        OPTION_PAGE_SIZE,
        OPTION_ENGINE_VERSION,
        OPTION_TIMEOUT,
        OPTION_ALL,
        OPTION_WATCH,
        OPTION_WRITE,
        OPTION_FORCE,
        OPTION_DRAFT,
};

static void print_help(void) {
        puts("hugeplanctl [OPTIONS] VERB\n"
             "\n"
             "Shows and checks the huge page plan of this database host.\n"
             "\n"
             "Verbs:");
        for (size_t i = 0; i < n_verbs; i++)
                if (verbs[i].help)
                        printf("  %-10s %-9s  %s\n", verbs[i].name, verbs[i].synopsis,
                               verbs[i].help);
        puts("\n"
             "Options:\n"
             "  --json=pretty|short|off  JSON instead of tables\n"
             "  --root=DIR               a captured host below DIR instead of /\n"
             "  --draft=DIR              as if the files in DIR were in /etc/hugeplan.d\n"
             "  --timeout=TIME           with wait: how long, instead of WaitTimeout=\n"
             "  --all                    with wait: every instance\n"
             "  --watch                  with status: again on every change\n"
             "  --write                  with suggest: create the files; none is ever replaced\n"
             "  --force                  with reload: even if an instance that stands falls\n"
             "  -c NAME=VALUE            with size: a setting of the engine (repeatable)\n"
             "  --page-size=SIZE         with size: instead of the host's default\n"
             "  --engine-version=V       with size: the engine's version\n"
             "  --no-pager               accepted; nothing is ever paged\n"
             "  --help, --version\n"
             "\n"
             "Exit codes: 0 done; 1 failed or refused; 2 wrong usage; 3 not (all) ready, the plan\n"
             "differs from the host, or the reload is refused; 4 no such instance; 75 timed out.\n"
             "See hugeplanctl(1), hugeplan.d(5), hugepland(8).");
}

static int parse_json_mode(const char *value, JsonMode *ret) {
        static const char *const names[] = {"off", "short", "pretty"};

        for (size_t i = 0; i < ARRAY_LEN(names); i++)
                if (text_equals(value, names[i])) {
                        *ret = (JsonMode) i;
                        return 0;
                }
        log_line(LOG_ERR, "--json: '%s' is not one of pretty, short, off", value);
        return -EINVAL;
}

static int parse_timeout(Command *command, const char *value) {
        if (parse_duration_usec(value, &command->timeout_usec) < 0) {
                log_line(LOG_ERR, "--timeout: '%s' is no time span; write one such as 30s", value);
                return -EINVAL;
        }
        command->has_timeout = true;
        return 0;
}

/* One option; 1 when it ends the program with success. */
static int take_option(Command *command, int option, const char **root_name) {
        switch (option) {
        case OPTION_ROOT:
                *root_name = optarg;
                return 0;
        case OPTION_DRAFT:
                command->draft = optarg;
                return 0;
        case OPTION_JSON:
                return parse_json_mode(optarg ? optarg : "pretty", &command->json);
        case OPTION_PAGE_SIZE:
                command->page_size = optarg;
                return 0;
        case OPTION_ENGINE_VERSION:
                command->engine_version = optarg;
                return 0;
        case OPTION_TIMEOUT:
                return parse_timeout(command, optarg);
        case OPTION_ALL:
                command->is_all = true;
                return 0;
        case OPTION_FORCE:
                command->is_forced = true;
                return 0;
        case OPTION_WRITE:
                command->is_writing = true;
                return 0;
        case OPTION_WATCH:
                command->is_watching = true;
                return 0;
        case 'c':
                *vec_push(command->arena, &command->settings) = optarg;
                return 0;
        case OPTION_NO_PAGER:
                return 0;
        case 'h':
                print_help();
                return 1;
        case OPTION_VERSION:
                puts("hugeplanctl " HUGEPLAN_VERSION);
                return 1;
        default:
                return -EINVAL;
        }
}

static int parse_options(Command *command, int argc, char **argv, const char **root_name) {
        static const struct option options[] = {
                {"root", required_argument, NULL, OPTION_ROOT},
                {"draft", required_argument, NULL, OPTION_DRAFT},
                {"json", optional_argument, NULL, OPTION_JSON},
                {"no-pager", no_argument, NULL, OPTION_NO_PAGER},
                {"page-size", required_argument, NULL, OPTION_PAGE_SIZE},
                {"engine-version", required_argument, NULL, OPTION_ENGINE_VERSION},
                {"timeout", required_argument, NULL, OPTION_TIMEOUT},
                {"all", no_argument, NULL, OPTION_ALL},
                {"watch", no_argument, NULL, OPTION_WATCH},
                {"write", no_argument, NULL, OPTION_WRITE},
                {"force", no_argument, NULL, OPTION_FORCE},
                {"help", no_argument, NULL, 'h'},
                {"version", no_argument, NULL, OPTION_VERSION},
                {},
        };
        int option, r = 0;

        while (r == 0 && (option = getopt_long(argc, argv, "hc:", options, NULL)) >= 0)
                r = take_option(command, option, root_name);
        return r;
}

/* Colour and width: only for a terminal. https://no-color.org */
static RenderOptions terminal_options(void) {
        const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
        struct winsize size;

        if (!isatty(STDOUT_FILENO))
                return (RenderOptions){};
        return (RenderOptions){
                .is_colored = !(no_color && *no_color) && !text_equals(term, "dumb"),
                .width = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40
                                 ? size.ws_col
                                 : 0,
        };
}

static const char *draft_verbs(Arena *arena) {
        Text names = text_in(arena);

        for (size_t i = 0; i < n_verbs; i++)
                if (verbs[i].takes_draft)
                        text_add_item(&names, verbs[i].name);
        return text_string(&names);
}

static const Verb *find_verb(const char *name) {
        for (size_t i = 0; i < n_verbs; i++)
                if (text_equals(name, verbs[i].name))
                        return &verbs[i];
        return NULL;
}

/* A draft that is not there would be a plan of today's files, taken for another one. */
static int open_draft(Command *command, const Verb *verb) {
        if (!command->draft)
                return EXIT_DONE;
        if (!verb->takes_draft) {
                log_line(LOG_ERR, "--draft: '%s' takes none; it is for %s", verb->name,
                         draft_verbs(command->arena));
                return EXIT_USAGE;
        }
        command->draft = absolute_path(command, command->draft);
        if (!root_is_directory(command->root, command->draft)) {
                log_line(LOG_ERR, "--draft: %s is no directory", command->draft);
                return EXIT_FAILED;
        }
        return EXIT_DONE;
}

/* What could not be read is not empty: what was made of the rest is no success. */
static int judge_reading(const Command *command, const Verb *verb, int code) {
        const ReadFault fault = root_any_fault(command->root, command->arena);

        if (fault.error == 0 || verb->is_gate)
                return code;
        log_line(LOG_ERR, "%s cannot be read: %s", fault.path, strerror(-fault.error));
        return code == EXIT_DONE || code == EXIT_NOT_READY ? EXIT_FAILED : code;
}

static int run_verb(Command *command, const char *name) {
        const Verb *verb = find_verb(name);

        if (!verb) {
                log_line(LOG_ERR, "there is no verb '%s'; see hugeplanctl --help", name);
                return EXIT_USAGE;
        }
        if (command->n_arguments < verb->n_min || command->n_arguments > verb->n_max) {
                log_line(LOG_ERR, "usage: hugeplanctl %s %s", verb->name, verb->synopsis);
                return EXIT_USAGE;
        }
        int code = open_draft(command, verb);

        if (code == EXIT_DONE)
                code = judge_reading(command, verb, verb->run(command));
        /* A full disk or a closed pipe must not pass for success. */
        if (fflush(stdout) == 0 && !ferror(stdout))
                return code;
        log_line(LOG_ERR, "standard output: %s", strerror(errno));
        return EXIT_FAILED;
}

int main(int argc, char **argv) {
        if (geteuid() == 0)
                environment_reduce(environ);
        json_set_alloc_funcs(memory_new, memory_free);
        CLEANUP(arena_freep) Arena *arena = arena_new();
        CLEANUP(root_freep) Root *root = NULL;
        Command command = {.arena = arena, .render = terminal_options()};
        const char *root_name = "/", *verb;
        int r = parse_options(&command, argc, argv, &root_name);

        if (r != 0)
                return r > 0 ? EXIT_DONE : EXIT_USAGE;
        r = root_open(root_name, &root);
        if (r < 0) {
                log_line(LOG_ERR, "cannot open the root directory %s: %s", root_name, strerror(-r));
                return EXIT_FAILED;
        }
        verb = optind < argc ? argv[optind++] : "status";
        command.root = root;
        command.arguments = argv + optind;
        command.n_arguments = (size_t) (argc - optind);
        return run_verb(&command, verb);
}
