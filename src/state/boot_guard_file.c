/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "state/boot_guard_file.h"

#include "model/names.h"
#include "state/json_file.h"

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
        json_t *json = NULL;
        BootGuard *guard = NULL;

        if (json_file_read(root, arena, PATH_BOOT_GUARD, &json) == 0)
                guard = boot_guard_from_json(arena, json);
        json_decref(json);
        if (!guard) {
                guard = ARENA_NEW(arena, BootGuard);
                guard->boot_id = "";
        }
        return guard;
}

int boot_guard_save(const Root *root, const BootGuard *guard) {
        return json_file_store(root, PATH_BOOT_GUARD, boot_guard_to_json(guard), 0644);
}
