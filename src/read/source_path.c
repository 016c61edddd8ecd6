/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "read/source.h"

char *source_origin(Arena *arena, const char *path, unsigned line) {
        return arena_printf(arena, "%s:%u", path, line);
}

char *source_relative(Arena *arena, const char *file, const char *path) {
        const char *slash = strrchr(file, '/');

        if (*path == '/' || !slash)
                return arena_strdup(arena, path);
        return arena_printf(arena, "%.*s/%s", (int) (slash - file), file, path);
}
