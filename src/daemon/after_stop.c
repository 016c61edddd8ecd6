/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The guard (apply/host_apply.h) overrides the administrator's vm.nr_hugepages= with the sum of the pools. It is removed
 * only when the unit has certainly been stopped for good: during a restart, an upgrade, a crash or a soft-reboot, which
 * keeps /run, systemd-sysctl would otherwise move the databases' pages from node to node. */
#include "daemon/after_stop.h"

#include "apply/host_apply.h"
#include "base/size.h"
#include "base/text.h"
#include "model/exit_code.h"
#include "model/names.h"
#include "runtime/log.h"
#include "systemd/unit_manager.h"

#include <string.h>

static const uint64_t answer_usec = 5 * USEC_PER_SEC;

int after_stop(const Root *root, const char *unit, const char *result) {
        UnitStop stop;
        int r;

        if (!root_exists(root, PATH_SYSCTL_GUARD))
                return EXIT_DONE;
        r = unit_stop_find(root, unit, answer_usec, &stop);
        if (r < 0) {
                log_line(LOG_WARNING,
                         PATH_SYSCTL_GUARD
                         " stays, because systemd does not say whether %s starts again: %s",
                         unit, strerror(-r));
                return EXIT_DONE;
        }
        /* systemd restarts a service that failed, but not one that ended by itself without a failure. */
        if (stop != UNIT_STOP_FOR_GOOD &&
            !(stop == UNIT_STOP_ITSELF && text_equals(result, "success")))
                return EXIT_DONE;
        r = guard_remove(root);
        if (r < 0) {
                log_line(LOG_ERR, "cannot remove " PATH_SYSCTL_GUARD ": %s", strerror(-r));
                return EXIT_FAILED;
        }
        log_line(LOG_INFO, "stopped for good: " PATH_SYSCTL_GUARD
                           " is removed, so vm.nr_hugepages= of sysctl.d applies again; the "
                           "pools stay as they are");
        return EXIT_DONE;
}
