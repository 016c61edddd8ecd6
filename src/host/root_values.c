/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is made of a root's other functions, whatever root it is: in tests these may be a model of a kernel. */
#include "base/size.h"
#include "host/root.h"

#include <string.h>

enum { ATTRIBUTE_BYTES_MAX = 64 * 1024, READ_TRIES = 3 };

int root_read_file(const Root *root, Arena *arena, const char *path, size_t max, char **ret,
                   size_t *ret_size) {
        return root_read_judged(root, arena, path, max, NULL, NULL, ret, ret_size);
}

int root_read_attribute(const Root *root, Arena *arena, const char *path, char **ret) {
        size_t length;
        char *text;
        int r = root_read_kernel_file(root, arena, path, ATTRIBUTE_BYTES_MAX, &text, &length);

        if (r < 0)
                return r;
        while (length > 0 && strchr(" \t\n", text[length - 1]))
                text[--length] = '\0';
        *ret = text;
        return 0;
}

int root_read_u64(const Root *root, const char *path, uint64_t *ret) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        char *text;
        int r = root_read_attribute(root, arena, path, &text);

        return r < 0 ? r : parse_u64(text, ret);
}

bool root_try_again(const Root *root, int error, unsigned *n_tries) {
        if (!error_is_fault(error) || ++*n_tries >= READ_TRIES)
                return false;
        root_drop_fault(root);
        return true;
}
