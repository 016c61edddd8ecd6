/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `log`: what happened, from the journal. */
#include "base/text.h"
#include "ctl/observe/journal_read.h"
#include "ctl/observe/observe.h"
#include "ctl/verbs.h"
#include "model/exit_code.h"
#include "model/names.h"
#include "render/render_history.h"
#include "runtime/clock.h"
#include "runtime/log.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- what is asked for ---- */

/* Local time, as people write it. A day without a time is its first moment, a time without a day today's. */
static int parse_moment(const char *text, time_t now, uint64_t *ret_usec) {
        static const char *const formats[] = {"%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d",
                                              "%H:%M:%S", "%H:%M"};

        for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
                struct tm moment;

                localtime_r(&now, &moment);
                moment.tm_hour = moment.tm_min = moment.tm_sec = 0;
                moment.tm_isdst = -1;
                const char *end = strptime(text, formats[i], &moment);
                time_t seconds = end && !*end ? mktime(&moment) : -1;

                if (seconds < 0)
                        continue;
                *ret_usec = (uint64_t) seconds * USEC_PER_SEC;
                return 0;
        }
        return -EINVAL;
}

static int parse_since(const char *text, uint64_t *ret_usec) {
        uint64_t now = clock_read_usec(CLOCK_REALTIME), span;
        time_t day = (time_t) (now / USEC_PER_SEC);

        if (TEXT_IS_ANY(text, "today", "yesterday"))
                return parse_moment("00:00", day - (*text == 'y' ? 24 * 60 * 60 : 0), ret_usec);
        if (parse_moment(text, day, ret_usec) == 0)
                return 0;
        if (parse_duration_usec(text + (*text == '-'), &span) < 0)
                return -EINVAL;
        *ret_usec = sub_floored(now, span);
        return 0;
}

/* "0", "-1", or an id. */
static int parse_boot(const char *text, JournalQuery *query) {
        uint64_t number;

        if (strlen(text) == 32 && strspn(text, "0123456789abcdef") == 32)
                query->boot = text;
        else if ((*text == '-' || text_equals(text, "0")) &&
                 parse_u64(text + (*text == '-'), &number) == 0)
                query->boots_ago = HISTORY_NUMBER(number);
        else
                return -EINVAL;
        return 0;
}

static int take_query(const Command *command, JournalQuery *query) {
        if (command->n_arguments == 1)
                query->instance = command->arguments[0];
        if (command->boot && parse_boot(command->boot, query) < 0) {
                log_line(
                        LOG_ERR,
                        "--boot: '%s' is no boot; write 0 for this one, -1 for the one before, or an id "
                        "of 'journalctl --list-boots'",
                        command->boot);
                return EXIT_USAGE;
        }
        if (command->since && parse_since(command->since, &query->since_usec) < 0) {
                log_line(LOG_ERR,
                         "--since: '%s' is no time; write 2026-12-31, '2026-12-31 03:00', 03:00, "
                         "yesterday, or 2h for two hours ago",
                         command->since);
                return EXIT_USAGE;
        }
        return EXIT_DONE;
}

/* ---- what is answered ---- */

static void say_what_is_not(const Command *command, const JournalAnswer *answer) {
        if (answer->history.n == 0)
                log_line(LOG_NOTICE, "nothing is recorded%s%s%s%s",
                         command->n_arguments == 1 ? " of " : "",
                         command->n_arguments == 1 ? command->arguments[0] : "",
                         command->since ? " since " : "", command->since ? command->since : "");
        if (!command->boot && !root_is_directory(command->root, PATH_JOURNAL))
                log_line(LOG_NOTICE, "earlier boots are not kept: " PATH_JOURNAL
                                     " is not there; see Storage= in journald.conf(5)");
}

int verb_log(Command *command) {
        JournalQuery query = {};
        JournalAnswer answer;
        int code = take_query(command, &query);

        if (code != EXIT_DONE)
                return code;
        int r = journal_read(command, &query, &answer);
        const char *why = journal_why_not(command, r, &answer);

        if (why) {
                log_line(LOG_ERR, "the journal cannot be read: %s", why);
                return EXIT_FAILED;
        }
        if (command->output != OUTPUT_TEXT)
                print_columns(command, history_to_json(&answer.history), HISTORY_COLUMNS);
        else if (command->json != JSON_OFF)
                print_json(command, json_pack("{so}", "history", history_to_json(&answer.history)));
        else
                fputs(render_history(command->arena, &answer.history, &command->render), stdout);
        say_what_is_not(command, &answer);
        return EXIT_DONE;
}
