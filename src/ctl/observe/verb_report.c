/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `report`: all observations on one page for a change ticket. */
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

/* Prints the page, or writes it to PATH. Checks PATH and the template (the installed one, or the caller's) first, because
 * looking at all takes seconds. */
static int print_page(Command *command, const char *path) {
        enum { TEMPLATE_BYTES_MAX = 1024 * 1024 };
        CLEANUP(root_freep) Root *host = NULL;
        Command here = *command;
        char *template;

        if (open_output(&here, path, false, &host) != EXIT_DONE)
                return EXIT_FAILED;
        const char *from = absolute_path(&here, here.template ? here.template : REPORT_TEMPLATE);
        int r = root_read_file(host, here.arena, from, TEMPLATE_BYTES_MAX, &template, NULL);

        if (r < 0)
                return log_failure(EXIT_FAILED,
                                   "%s cannot be read: %s; install hugeplan again, name another "
                                   "template by --template=, or use --json",
                                   from, strerror(-r));
        json_auto_t *report = report_to_json(command->arena, look_at_all(command));
        const char *page = report_to_page(here.arena, template, report);

        if (!page)
                return log_failure(
                        EXIT_FAILED,
                        "%s is not a template: it has no <script type=\"application/json\" "
                        "id=\"report\">",
                        from);
        if (path)
                return write_output(&here, path, page);
        return fputs(page, stdout) < 0 ? EXIT_FAILED : EXIT_DONE;
}

int verb_report(Command *command) {
        const char *path = command->n_arguments == 1 ? command->arguments[0] : NULL;

        if (path && command->json != JSON_OFF)
                return log_failure(EXIT_USAGE, "--json goes to standard output; name no file");
        command->n_arguments = 0; /* the argument names no instance */
        if (command->json == JSON_OFF)
                return print_page(command, path);
        print_json(command, report_to_json(command->arena, look_at_all(command)));
        return EXIT_DONE;
}
