/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "state/state.h"

#include "model/names.h"
#include "state/json_file.h"

#include <string.h>

Ledger *state_load(const Root *root, Arena *arena, const char *boot_id, const char **ret_text) {
        Ledger *ledger = NULL;
        json_t *json = NULL;
        int r = json_file_read(root, arena, PATH_STATE, &json);

        *ret_text = NULL;
        if (r == 0)
                ledger = ledger_from_json(arena, json, boot_id);
        json_decref(json);
        if (ledger)
                return ledger;
        if (r == 0 || r == -EBADMSG)
                *ret_text = PATH_STATE
                        " is broken or of another boot; it is rebuilt from what is there";
        else if (r != -ENOENT)
                *ret_text = arena_printf(arena, "cannot read " PATH_STATE ": %s", strerror(-r));
        return ledger_new(arena, boot_id);
}

int state_save(const Root *root, const Ledger *ledger) {
        return json_file_write(root, PATH_STATE, ledger_to_json(ledger), 0644);
}
