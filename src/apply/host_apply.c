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

/* ---- the guard ---- */

char *guard_text(Arena *arena, uint64_t pages) {
        return arena_printf(
                arena,
                "# Written and kept up to date by hugepland; see hugepland(8).\n"
                "# hugeplan has reserved huge pages node by node. systemd-sysctl applies all of\n"
                "# sysctl.d again whenever a package asks for it; another figure here would then\n"
                "# take pages from some nodes and give them to others. This file is read last and\n"
                "# repeats what all nodes hold together, which changes nothing.\n"
                "vm.nr_hugepages = %" PRIu64 "\n",
                pages);
}

int guard_write(const Root *root, uint64_t pages) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const char *text = guard_text(arena, pages);

        return root_has_text(root, PATH_SYSCTL_GUARD, text)
                       ? 0
                       : root_write_file(root, PATH_SYSCTL_GUARD, text);
}

int guard_remove(const Root *root) {
        int r = root_remove(root, PATH_SYSCTL_GUARD);

        return r == -ENOENT ? 0 : r;
}
