/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Reads back what the daemon has written into the journal. */

#include "ctl/command.h"
#include "status/history.h"

typedef struct JournalQuery {
        const char *instance; /* NULL: any, and the host */
        const char *boot;     /* an id of 32 digits, or NULL */
        HistoryNumber boots_ago;
        uint64_t since_usec; /* since 1970 */
} JournalQuery;

typedef struct JournalAnswer {
        HistoryEntries history; /* oldest first */
        size_t n_boots; /* of which the journal has anything; 0: it is not there, or not ours to read */
        bool is_boot_known; /* that was asked for */
} JournalAnswer;

/* That of the host below COMMAND's root; all in its arena. 0; -ENOPKG: there is no library to read it with; or another
 * negative errno. */
int journal_read(Command *command, const JournalQuery *query, JournalAnswer *ret);

/* Why that says nothing of what happened; NULL: it does. ERROR is what journal_read() has returned. */
const char *journal_why_not(const Command *command, int error, const JournalAnswer *answer);

/* Local time, as people write it: "2026-12-31 23:59:59"; "-" where there is none. */
const char *journal_format_moment(Arena *arena, uint64_t usec);
