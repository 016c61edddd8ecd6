/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "host/root/root_inside.h"

#include <stdio.h>

void root_forget_fault(const Root *root) {
        if (root->aside->error == 0)
                *root->aside = *root->fault;
        root_drop_fault(root);
}

void root_drop_fault(const Root *root) {
        root->fault->error = 0;
}

static ReadFault fault_of(Arena *arena, const Noted *noted) {
        return (ReadFault){noted->error,
                           noted->error < 0 ? arena_strdup(arena, noted->path) : NULL};
}

ReadFault root_any_fault(const Root *root, Arena *arena) {
        return fault_of(arena, root->aside->error < 0 ? root->aside : root->fault);
}

ReadFault root_fault(const Root *root, Arena *arena) {
        return fault_of(arena, root->fault);
}

int root_note(const Root *root, const char *path, int r) {
        if (error_is_fault(r) && root->fault->error == 0) {
                root->fault->error = r;
                snprintf(root->fault->path, sizeof(root->fault->path), "%s", path);
        }
        return r;
}
