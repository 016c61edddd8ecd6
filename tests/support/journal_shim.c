/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The journal, as far as a program that writes to it is concerned: preloaded into hugepland by run_log.py, it appends
 * each entry to the file $JOURNAL_EXPORT, in the Journal Export Format, with what journald would add: the time, the
 * boot and the unit. https://systemd.io/JOURNAL_EXPORT_FORMATS */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <time.h>

int sd_journal_sendv_with_location(const char *file, const char *line, const char *function,
                                   const struct iovec *fields, int n);

static uint64_t usec_of(clockid_t clock) {
        struct timespec now;

        clock_gettime(clock, &now);
        return (uint64_t) now.tv_sec * 1000000 + (uint64_t) now.tv_nsec / 1000;
}

int sd_journal_sendv_with_location(const char *file, const char *line, const char *function,
                                   const struct iovec *fields, int n) {
        FILE *journal = fopen(getenv("JOURNAL_EXPORT"), "ae");

        if (!journal)
                return -1;
        fprintf(journal, "__REALTIME_TIMESTAMP=%" PRIu64 "\n__MONOTONIC_TIMESTAMP=%" PRIu64 "\n",
                usec_of(CLOCK_REALTIME), usec_of(CLOCK_MONOTONIC));
        fprintf(journal, "_BOOT_ID=%s\n_SYSTEMD_UNIT=hugeplan.service\n%s\n%s\n",
                getenv("JOURNAL_BOOT"), file, line);
        fprintf(journal, "CODE_FUNC=%s\n", function);
        for (int i = 0; i < n; i++)
                fprintf(journal, "%.*s\n", (int) fields[i].iov_len,
                        (const char *) fields[i].iov_base);
        fprintf(journal, "\n");
        return fclose(journal);
}
