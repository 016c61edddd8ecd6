/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "apply/guard.h"

#include "base/text.h"
#include "model/names.h"
#include "read/setting_source.h"

enum { GUARD_BYTES_MAX = 4096 };

int guard_write(const Root *root, uint64_t pages) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const char *text = setting_source_guard_text(arena, pages);
        char *there;

        if (root_read_file(root, arena, PATH_SYSCTL_GUARD, GUARD_BYTES_MAX, &there, NULL) == 0 &&
            text_equals(there, text))
                return 0;
        return root_write_file(root, PATH_SYSCTL_GUARD, text, 0644);
}

int guard_remove(const Root *root) {
        int r = root_remove(root, PATH_SYSCTL_GUARD);

        return r == -ENOENT ? 0 : r;
}
