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

/* -ECANCELED: what was planned is not known. */
static int note_good(const Command *command, BootGuard *guard, const char *boot_id) {
        const char *why;
        const Ledger *ledger = state_load(command->root, command->arena, boot_id, &why);
        const ReadFault fault = root_fault(command->root, command->arena);

        if (fault.error < 0) {
                log_line(LOG_ERR, "cannot read %s: %s; the boot guard stays as it is", fault.path,
                         strerror(-fault.error));
                return -ECANCELED;
        }
        if (!boot_guard_succeed(command->arena, guard, ledger)) {
                log_line(
                        LOG_WARNING,
                        "hugepland has planned nothing yet: this boot proves nothing, and counts for "
                        "none; see 'systemctl status hugeplan.service'");
                return 0;
        }
        return guard->failed_boots == 0 ? boot_proven_save(command->root, guard) : 0;
}

/* For `check`, until this boot is over. Before the disk can be written /run can. */
static void note_uncounted(const Command *command, int error) {
        log_line(
                LOG_ERR,
                "cannot write " PATH_BOOT_COUNT
                ": %s; this boot is not counted, and if it fails for what hugeplan reserves, the next "
                "will do the same: make room on that disk, or make it writable",
                strerror(-error));
        root_write_file(command->root, PATH_BOOT_UNCOUNTED,
                        arena_printf(command->arena, "%s\n", strerror(-error)), 0644);
}

static int begin(Command *command, BootGuard *guard, const char *boot_id) {
        boot_guard_begin(command->arena, guard, boot_id);
        int r = boot_count_save(command->root, command->arena, guard);

        if (r < 0)
                note_uncounted(command, r);
        else
                root_remove(command->root, PATH_BOOT_UNCOUNTED);
        return r < 0 ? EXIT_FAILED : EXIT_DONE;
}

/* Where there is no room to note what is proven, the boot was good all the same. */
static int end(Command *command, BootGuard *guard, const char *boot_id) {
        int noted = note_good(command, guard, boot_id);

        if (noted == -ECANCELED)
                return EXIT_FAILED;
        if (noted < 0)
                log_line(LOG_ERR,
                         "cannot write " PATH_BOOT_PROVEN
                         ": %s; what an earlier boot had is still what is proven",
                         strerror(-noted));
        int r = boot_count_save(command->root, command->arena, guard);

        if (r < 0)
                log_line(LOG_ERR, "cannot write " PATH_BOOT_COUNT ": %s; the boot counts as failed",
                         strerror(-r));
        return noted < 0 || r < 0 ? EXIT_FAILED : EXIT_DONE;
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
                log_line(LOG_ERR, "cannot read " PATH_BOOT_COUNT ": %s", strerror(-r));
                return EXIT_FAILED;
        }
        if (text_equals(word, "begin"))
                return begin(command, guard, boot_id);
        if (text_equals(word, "good"))
                return end(command, guard, boot_id);
        log_line(LOG_ERR, "boot-guard takes begin or good");
        return EXIT_USAGE;
}
