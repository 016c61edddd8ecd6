/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "state/state.h"

#include "model/names.h"
#include "state/json_file.h"

#include <string.h>

Ledger *state_load(const Root *root, Arena *arena, const char *boot_id, const char **ret_text) {
        Ledger *ledger = NULL;
        json_t *json = NULL;
        const char *lost = NULL;
        int r = json_file_read(root, arena, PATH_STATE, &json);

        if (r == 0 || r == -EBADMSG)
                ledger = ledger_from_json(arena, json, boot_id, &lost);
        json_decref(json);
        *ret_text = lost ? arena_printf(arena, PATH_STATE " %s", lost) : NULL;
        if (r < 0 && r != -ENOENT && r != -EBADMSG)
                *ret_text = arena_printf(arena, "cannot read " PATH_STATE ": %s", strerror(-r));
        return ledger ? ledger : ledger_new(arena, boot_id);
}

int state_save(const Root *root, const Ledger *ledger) {
        return json_file_write(root, PATH_STATE, ledger_to_json(ledger), false);
}
