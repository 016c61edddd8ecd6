/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "host/log.h"

#include <stdio.h>
#include <stdlib.h>

void log_line(int level, const char *format, ...) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        va_list arguments;

        va_start(arguments, format);
        const char *text = arena_vprintf(arena, format, arguments);

        va_end(arguments);
        if (getenv("JOURNAL_STREAM"))
                fprintf(stderr, "<%d>%s\n", level, text);
        else
                fprintf(stderr, "%s: %s\n", program_invocation_short_name, text);
}
