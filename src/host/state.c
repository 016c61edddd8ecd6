/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "host/state.h"

#include "base/memory.h"
#include "base/text.h"
#include "model/names.h"

#include <jansson.h>
#include <string.h>
#include <time.h>

enum { FILE_BYTES_MAX = 4 * 1024 * 1024, COUNT_BYTES = 2 * BOOT_COUNT_BYTES };

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
        json_t *json = NULL;
        char *bytes = NULL;
        size_t size = 0;

        /* A larger file is not hugeplan's: it counts as torn. */
        if (root_read_file(root, arena, PATH_BOOT_COUNT, COUNT_BYTES, &bytes, &size) == -EFBIG)
                size = 1;
        boot_count_parse(arena, bytes, size, guard);
        if (root_read_file(root, arena, PATH_BOOT_PROVEN, FILE_BYTES_MAX, &bytes, &size) == 0)
                json = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, NULL);
        if (json)
                boot_proven_from_json(arena, json, guard);
        json_decref(json);
        return guard;
}

/* Overwrites the older record. A file that is missing, or not hugeplan's any more, is created anew. */
int boot_count_save(const Root *root, Arena *arena, BootGuard *guard) {
        bool is_new = guard->n_records++ == 0;
        const char *record = boot_count_format(arena, guard);
        off_t at = (off_t) (guard->n_records % 2) * BOOT_COUNT_BYTES;
        int r = is_new ? -ENOENT
                       : root_overwrite_file(root, PATH_BOOT_COUNT, COUNT_BYTES, at, record);

        if (r != -ENOENT)
                return r;
        Text both = text_in(arena);

        text_add(&both, record);
        text_add(&both, record);
        return root_store_file(root, PATH_BOOT_COUNT, text_string(&both));
}

/* A file that is the same stays: its directory is that of the configuration, which is read again after a change. */
int boot_proven_save(const Root *root, const BootGuard *guard) {
        json_t *json = boot_proven_to_json(guard);
        char *text = json_dumps(json, JSON_COMPACT | JSON_PRESERVE_ORDER);
        int r = text ? 0 : -ENOMEM;

        if (text && !root_has_text(root, PATH_BOOT_PROVEN, text))
                r = root_store_file(root, PATH_BOOT_PROVEN, text);

        memory_free(text);
        json_decref(json);
        return r;
}

/* ---- learned sizes ---- */

char *learned_time(Arena *arena) {
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
