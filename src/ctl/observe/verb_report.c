/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `report`: all observations on one page for a change ticket. */
#include "base/text.h"
#include "ctl/observe/observe.h"
#include "ctl/verbs.h"
#include "host/probe.h"
#include "model/exit_code.h"
#include "model/names.h"
#include "render/views.h"
#include "runtime/clock.h"
#include "runtime/log.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static Report *look_at_all(Command *command) {
        Arena *arena = command->arena;
        Report *report = ARENA_NEW(arena, Report);
        HostView *view = &report->view;
        const char *host = probe_text(command->root, arena, PATH_HOST_NAME);
        char zone[16] = "";
        struct tm local;

        report->host = *host ? host : NULL;
        report->status = status_now(command, NULL);
        report->proofs = observe(command, report->status, NULL);
        report->checked = findings_now(command, report->status, &report->proofs.list, view);
        view->history = journal_read(command);
        view->tables_bytes = probe_page_tables(command->root, arena);
        first_look_add(command, report->status, view);
        uint64_t now_usec = clock_read_usec(CLOCK_REALTIME);
        time_t now = (time_t) (now_usec / USEC_PER_SEC);

        /* With its zone, because tickets are read elsewhere. The time of a captured host is not known. */
        if (root_is_host(command->root) && localtime_r(&now, &local)) {
                strftime(zone, sizeof(zone), " %z", &local);
                report->when =
                        arena_printf(arena, "%s%s", journal_format_moment(arena, now_usec), zone);
        }
        report_judge(arena, report);
        return report;
}

/* Prints the page, or writes it to PATH. The template (the installed one, or the user's) is a file of the user's host,
 * even if another host is reported. */
static int print_page(const Command *command, const char *path, const json_t *report) {
        enum { TEMPLATE_BYTES_MAX = 1024 * 1024 };
        CLEANUP(root_freep) Root *host = NULL;
        Command here = *command;
        char *template;
        int r = root_open("/", &host);

        if (r < 0)
                return log_failure(EXIT_FAILED, "/ cannot be opened: %s", strerror(-r));
        here.root = host;
        const char *from = absolute_path(&here, here.template ? here.template : REPORT_TEMPLATE);

        r = root_read_file(host, here.arena, from, TEMPLATE_BYTES_MAX, &template, NULL);
        const char *page = r < 0 ? NULL : report_to_page(here.arena, template, report);

        if (r < 0)
                return log_failure(EXIT_FAILED,
                                   "%s cannot be read: %s; install hugeplan again, name another "
                                   "template by --template=, or use --json",
                                   from, strerror(-r));
        if (!page)
                return log_failure(
                        EXIT_FAILED,
                        "%s is not a template: it has no <script type=\"application/json\" "
                        "id=\"report\">",
                        from);
        if (path)
                return write_output(command, path, page);
        return fputs(page, stdout) < 0 ? EXIT_FAILED : EXIT_DONE;
}

int verb_report(Command *command) {
        const char *path = command->n_arguments == 1 ? command->arguments[0] : NULL;

        if (path && command->json != JSON_OFF)
                return log_failure(EXIT_USAGE, "--json goes to standard output; name no file");
        command->n_arguments = 0; /* the argument names no instance */
        json_t *report = report_to_json(command->arena, look_at_all(command));

        if (command->json != JSON_OFF) {
                print_json(command, report);
                return EXIT_DONE;
        }
        int code = print_page(command, path, report);

        json_decref(report);
        return code;
}
