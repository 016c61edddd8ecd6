/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "host/state.h"

#include "model/names.h"

#include <string.h>
#include <time.h>

enum { FILE_BYTES_MAX = 4 * 1024 * 1024 };

/* ---- the ledger ---- */

Ledger *state_load(const Root *root, Arena *arena, const char *boot_id, const char **ret_text) {
        Ledger *ledger = NULL;
        const char *lost = NULL;
        char *text;
        int r = root_read_file(root, arena, PATH_LEDGER, FILE_BYTES_MAX, &text, NULL);

        if (r >= 0)
                ledger = ledger_parse(arena, text, boot_id, &lost);
        *ret_text = lost ? arena_printf(arena, PATH_LEDGER " %s", lost) : NULL;
        if (r < 0 && r != -ENOENT)
                *ret_text = arena_printf(arena, "cannot read " PATH_LEDGER ": %s", strerror(-r));
        return ledger ? ledger : ledger_new(arena, boot_id);
}

int state_save(const Root *root, const Ledger *ledger) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        return root_write_file(root, PATH_LEDGER, ledger_format(arena, ledger));
}

/* ---- the boot guard ---- */

int boot_guard_try_load(const Root *root, Arena *arena, BootGuard **ret) {
        unsigned n_tries = 0;
        int r;

        root_forget_fault(root);
        do {
                *ret = boot_guard_load(root, arena);
                r = root_fault(root, arena).error;
        } while (root_try_again(root, r, &n_tries));
        return r;
}

BootGuard *boot_guard_load(const Root *root, Arena *arena) {
        BootGuard *guard = ARENA_NEW(arena, BootGuard);
        const char *lost;
        char *text = arena_strdup(arena, "");
        size_t size = 0;

        /* A count of another version may be larger; a file above all limits is none. */
        if (root_read_file(root, arena, PATH_BOOT_COUNT, FILE_BYTES_MAX, &text, &size) == -EFBIG)
                size = 1;
        boot_count_parse(arena, text, size, guard);
        if (root_read_file(root, arena, PATH_BOOT_PROVEN, FILE_BYTES_MAX, &text, NULL) == 0)
                guard->proven = ledger_parse(arena, text, "", &lost);
        return guard;
}

/* A file that is missing, or of another size, is created anew. */
int boot_count_save(const Root *root, Arena *arena, const BootGuard *guard) {
        const char *record = boot_count_format(arena, guard);
        int r = root_overwrite_file(root, PATH_BOOT_COUNT, record);

        return r == -ENOENT ? root_store_file(root, PATH_BOOT_COUNT, record) : r;
}

/* A file that is the same stays: its directory is that of the configuration, which is read again after a change. */
int boot_proven_save(const Root *root, Arena *arena, const BootGuard *guard) {
        const char *text = ledger_format(arena, guard->proven);

        return root_has_text(root, PATH_BOOT_PROVEN, text)
                       ? 0
                       : root_store_file(root, PATH_BOOT_PROVEN, text);
}

/* ---- learned sizes ---- */

static char *learned_time(Arena *arena) {
        time_t now = time(NULL);
        char text[32] = "";
        struct tm parts;

        if (gmtime_r(&now, &parts))
                strftime(text, sizeof(text), "%Y-%m-%d %H:%M UTC", &parts);
        return arena_strdup(arena, text);
}

LearnedFile learned_file(Arena *arena, const InstanceConfig *instance, const Learned *learned) {
        return (LearnedFile){
                .path = learned_path(arena, instance),
                .text = learned_format(arena, instance, learned, learned_time(arena)),
        };
}
