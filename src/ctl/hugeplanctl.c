/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* hugeplanctl: shows what hugepland says, and what it would do. hugeplanctl(1). */
#include "base/memory.h"
#include "base/text.h"
#include "ctl/verbs.h"
#include "model/exit_code.h"
#include "runtime/environment.h"
#include "runtime/log.h"

#include <getopt.h>
#include <langinfo.h>
#include <locale.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static int print_help(Command *command UNUSED, const char *value UNUSED) {
        puts("hugeplanctl [OPTIONS] VERB\n"
             "\n"
             "Shows and checks the huge page plan of this database host.\n"
             "\n"
             "Verbs:");
        ARRAY_FOREACH(verb, verbs, n_verbs)
                if (verb->help)
                        printf("  %-9s %-13s  %s\n", verb->name, verb->synopsis, verb->help);
        puts("\n"
             "Options:\n"
             "  --json=pretty|short|off  JSON instead of tables\n"
             "  --output=table|csv       status, verify: stable columns for scripts\n"
             "  --root=DIR               read a host captured below DIR\n"
             "  --draft=DIR              act as if the files in DIR were in /etc/hugeplan.d\n"
             "  --timeout=TIME           wait: how long, instead of WaitTimeout=\n"
             "  --all                    wait: every instance; status: list who uses pages\n"
             "  --restart                wait: the database restarts within its unit\n"
             "  --template=FILE          report: use this page\n"
             "  --watch                  status: print it again on every change\n"
             "  --nagios                 status: one line for a monitoring plugin\n"
             "  --write                  import: create the files, replace none\n"
             "  --force                  reload: even if an instance could not start any more\n"
             "  -c NAME=VALUE            size: a setting of the engine; may be repeated\n"
             "  --from=FILE              size: read the settings from FILE (-: standard input)\n"
             "  --page-size=SIZE         size: the page size\n"
             "  --engine-version=V       size: the engine's version\n"
             "  --pages=N, --memory=SIZE size: the largest setting that fits\n"
             "  --no-pager               accepted and ignored\n"
             "  --help, --version\n"
             "\n"
             "Exit codes: 0 success; 1 failed or refused; 2 invalid usage; 3 not ready, not as\n"
             "planned, or reload refused; 4 no such instance; 75 timed out.\n"
             "See hugeplanctl(1), hugeplan.d(5), hugeplan-rules(7), hugepland(8).");
        return 1;
}

static int print_version(Command *command UNUSED, const char *value UNUSED) {
        puts("hugeplanctl " HUGEPLAN_VERSION);
        return 1;
}

static int take_json(Command *command, const char *value) {
        static const char *const names[] = {"off", "short", "pretty"};

        return TEXT_TO_ENUM(names, value ? value : "pretty", &command->json) < 0
                       ? log_failure(-EINVAL, "--json: '%s' is not one of pretty, short, off",
                                     value)
                       : 0;
}

static int take_output(Command *command, const char *value) {
        static const char *const names[] = {[OUTPUT_TABLE] = "table", [OUTPUT_CSV] = "csv"};

        return TEXT_TO_ENUM(names, value, &command->output) < 0
                       ? log_failure(-EINVAL, "--output: '%s' is not one of table, csv", value)
                       : 0;
}

static int take_timeout(Command *command, const char *value) {
        if (parse_duration_usec(value, &command->timeout_usec) < 0)
                return log_failure(-EINVAL,
                                   "--timeout: '%s' is not a time span; write one such as 30s",
                                   value);
        command->has_timeout = true;
        return 0;
}

#define AT(member) offsetof(Command, member)

/* Each sets a flag of the command, or a text, or is taken by a function: 1 ends the program with success. */
static const struct {
        const char *name;
        int argument; /* getopt_long(3) */
        size_t flag, text;
        int (*take)(Command *command, const char *value);
        const char *verbs; /* that have the option; NULL: all */
} choices[] = {
        {"root", required_argument, .text = AT(root_name)},
        {"draft", required_argument, .text = AT(draft), .verbs = "plan check cmdline explain size"},
        {"json", optional_argument, .take = take_json},
        {"output", required_argument, .take = take_output, .verbs = "status verify"},
        {"no-pager", no_argument},
        {"from", required_argument, .text = AT(from), .verbs = "size"},
        {"page-size", required_argument, .text = AT(page_size), .verbs = "size"},
        {"engine-version", required_argument, .text = AT(engine_version), .verbs = "size"},
        {"pages", required_argument, .text = AT(pages), .verbs = "size"},
        {"memory", required_argument, .text = AT(memory), .verbs = "size"},
        {"timeout", required_argument, .take = take_timeout, .verbs = "wait serve-metrics"},
        {"template", required_argument, .text = AT(template), .verbs = "report"},
        {"all", no_argument, AT(is_all), .verbs = "status wait"},
        {"restart", no_argument, AT(is_restart), .verbs = "wait"},
        {"watch", no_argument, AT(is_watching), .verbs = "status"},
        {"nagios", no_argument, AT(is_plugin), .verbs = "status"},
        {"write", no_argument, AT(is_writing), .verbs = "import"},
        {"force", no_argument, AT(is_forced), .verbs = "reload"},
        {"help", no_argument, .take = print_help},
        {"version", no_argument, .take = print_version},
};

static int take_choice(Command *command, size_t i, const char *value) {
        *vec_push(command->arena, &command->choices) = i;
        if (choices[i].take)
                return choices[i].take(command, value);
        if (choices[i].text > 0)
                *(const char **) ((char *) command + choices[i].text) = value;
        else if (choices[i].flag > 0)
                *(bool *) ((char *) command + choices[i].flag) = true;
        return 0;
}

static int parse_options(Command *command, int argc, char **argv) {
        struct option options[ARRAY_LEN(choices) + 1] = {};
        int option, i, r = 0;

        for (size_t k = 0; k < ARRAY_LEN(choices); k++)
                options[k] = (struct option){choices[k].name, choices[k].argument, NULL, 'o'};
        while (r == 0 && (option = getopt_long(argc, argv, "hc:", options, &i)) >= 0) {
                if (option == 'c')
                        *vec_push(command->arena, &command->settings) = optarg;
                else if (option == 'h')
                        r = print_help(command, NULL);
                else
                        r = option == 'o' ? take_choice(command, (size_t) i, optarg) : -EINVAL;
        }
        return r;
}

/* Most locales have it in their names, and are not loaded for that: there may be no memory. */
static bool has_utf8(void) {
        static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
        const char *locale = NULL;

        for (size_t i = 0; i < ARRAY_LEN(names) && !(locale && *locale); i++)
                locale = getenv(names[i]);
        if (!locale || TEXT_IS_ANY(locale, "", "C", "POSIX"))
                return false;
        return strcasestr(locale, ".UTF-8") || strcasestr(locale, ".utf8") ||
               (setlocale(LC_CTYPE, "") && text_equals(nl_langinfo(CODESET), "UTF-8"));
}

/* Colour: only for a terminal. https://no-color.org
 * Of the locale only the characters are taken: numbers are read and written alike everywhere.
 * As wide as $COLUMNS says, whatever it goes to; else as the terminal; 0: neither. */
static RenderOptions output_options(void) {
        const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
        const char *columns = getenv("COLUMNS");
        bool is_terminal = isatty(STDOUT_FILENO);
        struct winsize size;
        uint64_t n = 0;

        if (!columns || parse_u64(columns, &n) < 0)
                n = is_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
        return (RenderOptions){
                .is_colored = is_terminal && !(no_color && *no_color) && !text_equals(term, "dumb"),
                .is_ascii = !has_utf8(),
                .width = n >= 40 && n <= UINT16_MAX ? (size_t) n : 0,
        };
}

/* Refuses options that VERB does not have. A draft that is not there would be a plan of today's files, taken for another
 * one. */
static int check_options(Command *command, const Verb *verb) {
        VEC_FOREACH(i, &command->choices) {
                const char *names = choices[*i].verbs;

                if (names && !text_has_word(names, verb->name))
                        return log_failure(EXIT_USAGE,
                                           "--%s: '%s' does not have this option; it is for: %s",
                                           choices[*i].name, verb->name, names);
        }
        if (command->settings.n > 0 && !text_equals(verb->name, "size"))
                return log_failure(EXIT_USAGE,
                                   "-c: '%s' does not have this option; it is for: size",
                                   verb->name);
        if (command->output != OUTPUT_TEXT &&
            (command->json != JSON_OFF || command->is_watching || command->is_plugin))
                return log_failure(EXIT_USAGE,
                                   "--output goes with neither --json nor --watch nor --nagios");
        if (!command->draft)
                return EXIT_DONE;
        command->draft = absolute_path(command, command->draft);
        if (root_is_directory(command->root, command->draft))
                return EXIT_DONE;
        return log_failure(EXIT_FAILED, "--draft: %s is not a directory", command->draft);
}

/* A full disk or a closed pipe must not pass for success. */
static int finish_output(int code) {
        if (fflush(stdout) == 0 && !ferror(stdout))
                return code;
        return log_failure(EXIT_FAILED, "standard output: %s", strerror(errno));
}

static int run_verb(Command *command, const char *name) {
        const Verb *verb = ARRAY_FIND(each, verbs, n_verbs, text_equals(name, each->name));
        NearMiss miss = {name, 3};

        if (!verb) {
                ARRAY_FOREACH(each, verbs, n_verbs)
                        near_miss_try(&miss, each->name);
                return log_failure(EXIT_USAGE, "there is no verb '%s'; %s%s%s", name,
                                   miss.name ? "did you mean " : "see hugeplanctl --help",
                                   miss.name ? miss.name : "", miss.name ? "?" : "");
        }
        if (command->n_arguments < verb->n_min || command->n_arguments > verb->n_max)
                return log_failure(EXIT_USAGE, "usage: hugeplanctl %s%s%s", verb->name,
                                   *verb->synopsis ? " " : "", verb->synopsis);
        int code = check_options(command, verb);
        ReadFault fault = {};

        if (code == EXIT_DONE) {
                code = verb->run(command);
                fault = root_any_fault(command->root, command->arena);
        }
        /* What could not be read is not empty: what was made of the rest is no success. */
        if (fault.error < 0 && !verb->is_gate && !command->is_plugin) {
                log_line(LOG_ERR, "%s cannot be read: %s", fault.path, strerror(-fault.error));
                code = code == EXIT_DONE || code == EXIT_NOT_READY ? EXIT_FAILED : code;
        }
        return finish_output(code);
}

int main(int argc, char **argv) {
        if (geteuid() == 0)
                environment_reduce(environ);
        json_set_alloc_funcs(memory_new_unset, memory_free);
        CLEANUP(arena_freep) Arena *arena = arena_new();
        CLEANUP(root_freep) Root *root = NULL;
        Command command = {.arena = arena, .root_name = "/", .render = output_options()};
        int r = parse_options(&command, argc, argv);

        if (r != 0)
                return r > 0 ? finish_output(EXIT_DONE) : EXIT_USAGE;
        r = root_open(command.root_name, &root);
        if (r < 0)
                return log_failure(EXIT_FAILED, "cannot open the root directory %s: %s",
                                   command.root_name, strerror(-r));
        const char *verb = optind < argc ? argv[optind++] : "status";
        command.root = root;
        command.arguments = argv + optind;
        command.n_arguments = (size_t) (argc - optind);
        return run_verb(&command, verb);
}
