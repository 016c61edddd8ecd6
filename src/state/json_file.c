/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "state/json_file.h"

#include "base/json.h"
#include "base/text.h"

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

static int add_bytes(const char *bytes, size_t n, void *text) {
        text_add_n(text, bytes, n);
        return 0;
}

static int write_with(const Root *root, const char *path, json_t *json, unsigned mode,
                      int (*write)(const Root *, const char *, const char *, unsigned)) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Text text = text_in(arena);
        int r = json ? json_write(json, add_bytes, &text) : -ENOMEM;

        json_decref(json);
        return r < 0 ? -ENOMEM : write(root, path, text.string, mode);
}

int json_file_write(const Root *root, const char *path, json_t *json, unsigned mode) {
        return write_with(root, path, json, mode, root_write_file);
}

int json_file_store(const Root *root, const char *path, json_t *json, unsigned mode) {
        return write_with(root, path, json, mode, root_store_file);
}
