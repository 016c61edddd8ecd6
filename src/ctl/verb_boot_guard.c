/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Counts boots for the boot guard; run by hugeplan-boot.service and hugeplan-boot-good.service. */
#include "base/text.h"
#include "ctl/verbs.h"
#include "host/probe.h"
#include "model/exit_code.h"
#include "model/names.h"
#include "runtime/log.h"
#include "state/boot_guard_file.h"
#include "state/state.h"

#include <string.h>

/* Whether GUARD is to be saved. */
static bool note_good(const Command *command, BootGuard *guard, const char *boot_id) {
        const char *why;
        const Ledger *ledger = state_load(command->root, command->arena, boot_id, &why);
        const ReadFault fault = root_fault(command->root, command->arena);

        if (fault.error < 0) {
                log_line(LOG_ERR, "cannot read %s: %s; the boot guard stays as it is", fault.path,
                         strerror(-fault.error));
                return false;
        }
        if (!boot_guard_succeed(command->arena, guard, ledger))
                log_line(
                        LOG_WARNING,
                        "hugepland has planned nothing yet: this boot proves nothing, and counts for "
                        "none; see 'systemctl status hugeplan.service'");
        return true;
}

int verb_boot_guard(Command *command) {
        const char *word = command->arguments[0];
        Arena *arena = command->arena;
        BootGuard *guard;
        int r = boot_guard_try_load(command->root, arena, &guard);
        const char *boot_id = probe_boot_id(command->root, arena);

        /* In a rescue shell nothing was planned: that boot neither fails nor proves anything. */
        if (kernel_command_line_is_rescue(probe_kernel_command_line(command->root, arena)))
                return EXIT_DONE;
        if (r < 0) {
                log_line(LOG_ERR, "cannot read " PATH_BOOT_GUARD ": %s", strerror(-r));
                return EXIT_FAILED;
        }
        if (text_equals(word, "begin")) {
                boot_guard_begin(arena, guard, boot_id);
        } else if (text_equals(word, "good")) {
                if (!note_good(command, guard, boot_id))
                        return EXIT_FAILED;
        } else {
                log_line(LOG_ERR, "boot-guard takes begin or good");
                return EXIT_USAGE;
        }
        r = boot_guard_save(command->root, guard);

        if (r < 0)
                log_line(LOG_ERR, "cannot write " PATH_BOOT_GUARD ": %s", strerror(-r));
        return r < 0 ? EXIT_FAILED : EXIT_DONE;
}
