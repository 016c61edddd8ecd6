/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtime/log.h"

#include "base/size.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* JOURNAL_STREAM is "DEVICE:INODE", decimal: systemd.exec(5). Child processes of a service inherit the
 * variable, but may have another standard error. */
bool log_is_journal(void) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const char *stream = getenv("JOURNAL_STREAM"), *colon = stream ? strchr(stream, ':') : NULL;
        struct stat now;
        uint64_t device, inode;

        return colon && fstat(STDERR_FILENO, &now) == 0 &&
               parse_u64(arena_strdup_to(arena, stream, colon), &device) == 0 &&
               parse_u64(colon + 1, &inode) == 0 && now.st_dev == device && now.st_ino == inode;
}

int log_level_of(Severity severity) {
        static const int levels[] = {
                [SEVERITY_ERROR] = LOG_ERR,
                [SEVERITY_WARNING] = LOG_WARNING,
                [SEVERITY_NOTICE] = LOG_NOTICE,
        };

        return levels[severity];
}

void log_line(int level, const char *format, ...) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        va_list arguments;

        va_start(arguments, format);
        const char *text = text_printable(arena, arena_vprintf(arena, format, arguments));

        va_end(arguments);
        if (log_is_journal())
                fprintf(stderr, "<%d>%s\n", level, text);
        else
                fprintf(stderr, "%s: %s\n", program_invocation_short_name, text);
}
