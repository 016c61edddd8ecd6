/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `pam-limits`, for hugeplan-limits.service: limits of logins, which no unit's drop-in reaches.
 *
 * Written once the root file system is writable, and by itself: the daemon runs before that, and may
 * write nothing below /etc. */
#include "base/text.h"
#include "ctl/verbs.h"
#include "model/exit_code.h"
#include "model/names.h"
#include "plan/limits.h"
#include "runtime/log.h"

#include <string.h>

enum { LIMITS_BYTES_MAX = 1 << 20 };

int verb_pam_limits(Command *command) {
        const Look *look = local_load(command);

        /* Whose limits they are to be is not known. */
        if (look->fault.error < 0 || look->config->fault.error < 0)
                return EXIT_FAILED;
        const char *text = limits_pam_text(command->arena, look->config, look->plan);
        char *present = NULL;
        int r = root_read_file(command->root, command->arena, PATH_PAM_LIMITS, LIMITS_BYTES_MAX,
                               &present, NULL);

        if (r == -ENOENT ? !text : text_equals(present, text))
                return EXIT_DONE;
        /* Only where logins have PAM's limits at all. */
        if (!text)
                r = root_remove(command->root, PATH_PAM_LIMITS);
        else
                r = root_is_directory(command->root, PATH_PAM_SECURITY)
                            ? root_store_file(command->root, PATH_PAM_LIMITS, text, 0644)
                            : 0;
        if (r < 0) {
                log_line(LOG_ERR, PATH_PAM_LIMITS ": %s", strerror(-r));
                return EXIT_FAILED;
        }
        return EXIT_DONE;
}
