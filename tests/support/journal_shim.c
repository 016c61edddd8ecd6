/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Plays journald: preloaded into hugepland by run_journal.py, this shim appends each entry to the file $JOURNAL_EXPORT in
 * the Journal Export Format, with the fields that journald adds: time, boot and unit. Entries are sent to journald's socket
 * in the same format. https://systemd.io/JOURNAL_EXPORT_FORMATS */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

static uint64_t usec_of(clockid_t clock) {
        struct timespec now;

        clock_gettime(clock, &now);
        return (uint64_t) now.tv_sec * 1000000 + (uint64_t) now.tv_nsec / 1000;
}

static int export(const void *entry, size_t size) {
        FILE *journal = fopen(getenv("JOURNAL_EXPORT"), "ae");

        if (!journal)
                return -1;
        fprintf(journal, "__REALTIME_TIMESTAMP=%" PRIu64 "\n__MONOTONIC_TIMESTAMP=%" PRIu64 "\n",
                usec_of(CLOCK_REALTIME), usec_of(CLOCK_MONOTONIC));
        fprintf(journal, "_BOOT_ID=%s\n_SYSTEMD_UNIT=hugeplan.service\n", getenv("JOURNAL_BOOT"));
        fwrite(entry, 1, size, journal);
        fprintf(journal, "\n");
        return fclose(journal);
}

ssize_t sendto(int fd, const void *bytes, size_t size, int flags, const struct sockaddr *to,
               socklen_t to_size) {
        const struct sockaddr_un *address = (const struct sockaddr_un *) to;
        ssize_t (*next)(int, const void *, size_t, int, const struct sockaddr *, socklen_t);

        if (to && to->sa_family == AF_UNIX &&
            strcmp(address->sun_path, "/run/systemd/journal/socket") == 0)
                return export(bytes, size) < 0 ? -1 : (ssize_t) size;
        *(void **) &next = dlsym(RTLD_NEXT, "sendto");
        return next(fd, bytes, size, flags, to, to_size);
}
