/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "apply/host_apply.h"

#include "base/text.h"
#include "model/names.h"

int host_writes_apply(const Root *root, const HostWrites *writes, const char **ret_path) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        char *before = NULL, *after;
        int first = 0, r = 0;

        if (writes->n == 0)
                return 0;
        root_read_attribute(root, arena, PATH_MIN_FREE, &before);
        VEC_FOREACH(write, writes) {
                r = root_write_attribute(root, write->path, write->value);
                if (r < 0 && first == 0) {
                        first = r;
                        *ret_path = write->path;
                }
        }
        if (!before || root_read_attribute(root, arena, PATH_MIN_FREE, &after) < 0 ||
            text_equals(before, after))
                return first;
        r = root_write_attribute(root, PATH_MIN_FREE, arena_printf(arena, "%s\n", before));
        if (r < 0 && first == 0) {
                first = r;
                *ret_path = PATH_MIN_FREE;
        }
        return first;
}
