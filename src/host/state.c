/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "host/state.h"

#include "core/names.h"

#include <stdlib.h>
#include <string.h>

enum { STATE_BYTES_MAX = 4 * 1024 * 1024 };

Ledger *state_load(const Root *root, Arena *arena, const char *boot_id, const char **ret_text) {
        json_error_t error;
        size_t size;
        char *text;
        int r = root_read_file(root, arena, PATH_STATE, STATE_BYTES_MAX, &text, &size);

        *ret_text = NULL;
        if (r < 0) {
                if (r != -ENOENT)
                        *ret_text =
                                arena_printf(arena, "cannot read " PATH_STATE ": %s", strerror(-r));
                return ledger_new(arena, boot_id);
        }
        json_t *json = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
        Ledger *ledger = json ? ledger_from_json(arena, json, boot_id) : NULL;

        json_decref(json);
        if (!ledger) {
                *ret_text = PATH_STATE
                        " is broken or of another boot; it is rebuilt from what is there";
                return ledger_new(arena, boot_id);
        }
        return ledger;
}

int state_save(const Root *root, const Ledger *ledger) {
        json_t *json = ledger_to_json(ledger);
        char *text = json_dumps(json, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
        int r = text ? root_write_file(root, PATH_STATE, text, 0644) : -ENOMEM;

        free(text);
        json_decref(json);
        return r;
}
