/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtime/environment.h"

#include "base/text.h"
#include "base/vec.h"

#include <string.h>

void environment_reduce(char **environment) {
        static const char *const names[] = {
                "COLUMNS",          "INVOCATION_ID", "JOURNAL_STREAM", "LANG",
                "LC_ALL",           "LC_CTYPE",      "LC_MESSAGES",    "LINES",
                "LISTEN_FDS",       "LISTEN_PID",    "NO_COLOR",       "NOTIFY_SOCKET",
                "SYSTEMD_EXEC_PID", "TERM",
        };

        char **to = environment;

        for (char **from = environment; *from; from++)
                if (ARRAY_FIND(name, names, ARRAY_LEN(names),
                               text_starts_with(*from, *name) && (*from)[strlen(*name)] == '='))
                        *to++ = *from;
        *to = NULL;
}
