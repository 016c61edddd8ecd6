/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtime/environment.h"

#include "base/text.h"

#include <string.h>

static bool is_kept(const char *assignment) {
        static const char *const names[] = {
                "COLUMNS",       "INVOCATION_ID",    "JOURNAL_STREAM", "LANG",
                "LC_ALL",        "LC_MESSAGES",      "LINES",          "NO_COLOR",
                "NOTIFY_SOCKET", "SYSTEMD_EXEC_PID", "TERM",
        };

        for (size_t i = 0; i < ARRAY_LEN(names); i++)
                if (text_starts_with(assignment, names[i]) && assignment[strlen(names[i])] == '=')
                        return true;
        return false;
}

void environment_reduce(char **environment) {
        char **to = environment;

        for (char **from = environment; *from; from++)
                if (is_kept(*from))
                        *to++ = *from;
        *to = NULL;
}
