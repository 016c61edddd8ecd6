/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "host/boot_guard_file.h"

#include "host/json_file.h"
#include "model/names.h"

int boot_guard_load_for_change(const Root *root, Arena *arena, BootGuard **ret) {
        enum { TRIES = 3 };

        root_forget_fault(root);
        for (unsigned i = 0; i < TRIES; i++) {
                root_drop_fault(root);
                *ret = boot_guard_load(root, arena);
                if (root_fault(root, arena).error == 0)
                        return 0;
        }
        return root_fault(root, arena).error;
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
