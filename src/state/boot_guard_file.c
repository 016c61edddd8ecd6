/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "state/boot_guard_file.h"

#include "base/text.h"
#include "model/names.h"
#include "state/json_file.h"

enum { COUNT_BYTES = 2 * BOOT_COUNT_BYTES };

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
        if (json_file_read(root, arena, PATH_BOOT_PROVEN, &json) == 0)
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
        return root_store_file(root, PATH_BOOT_COUNT, text_string(&both), 0644);
}

int boot_proven_save(const Root *root, const BootGuard *guard) {
        return json_file_write(root, PATH_BOOT_PROVEN, boot_proven_to_json(guard), true);
}
