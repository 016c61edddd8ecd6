/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "state/json_file.h"

#include "base/memory.h"

enum { JSON_BYTES_MAX = 4 * 1024 * 1024 };

int json_file_read(const Root *root, Arena *arena, const char *path, json_t **ret) {
        size_t size;
        char *text;
        int r = root_read_file(root, arena, path, JSON_BYTES_MAX, &text, &size);

        if (r < 0)
                return r;
        json_t *json = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);

        if (!json)
                return -EBADMSG;
        *ret = json;
        return 0;
}

int json_file_write(const Root *root, const char *path, json_t *json, bool is_lasting) {
        char *text = json_dumps(json, JSON_COMPACT | JSON_PRESERVE_ORDER);
        int r = !text        ? -ENOMEM
                : is_lasting ? root_store_file(root, path, text, 0644)
                             : root_write_file(root, path, text, 0644);

        memory_free(text);
        json_decref(json);
        return r;
}
