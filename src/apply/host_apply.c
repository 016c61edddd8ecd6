/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "apply/host_apply.h"

#include "base/text.h"
#include "model/names.h"

static int write_all(const Root *root, const HostWrites *writes, const char **ret_path) {
        int first = 0;

        VEC_FOREACH(write, writes) {
                int r = root_write_attribute(root, write->path, write->value);

                if (r < 0 && first == 0) {
                        first = r;
                        *ret_path = write->path;
                }
        }
        return first;
}

int limits_apply(const Root *root, const LimitsPlan *plan, const char **ret_path) {
        return write_all(root, &plan->writes, ret_path);
}

int thp_apply(const Root *root, const ThpPlan *plan, const char **ret_path) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        char *before = NULL, *after;

        if (plan->writes.n == 0)
                return 0;
        root_read_attribute(root, arena, PATH_MIN_FREE, &before);
        int first = write_all(root, &plan->writes, ret_path);

        if (!before || root_read_attribute(root, arena, PATH_MIN_FREE, &after) < 0 ||
            text_equals(before, after))
                return first;
        int r = root_write_attribute(root, PATH_MIN_FREE, arena_printf(arena, "%s\n", before));

        if (r < 0 && first == 0) {
                first = r;
                *ret_path = PATH_MIN_FREE;
        }
        return first;
}
