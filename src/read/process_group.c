/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Control groups: which unit a process belongs to. */

#include "base/text.h"
#include "model/name_check.h"
#include "read/process.h"

#include <string.h>

/* ---- the group of a process ---- */

char *process_unit_of_group(Arena *arena, const char *path, size_t *ret_length) {
        const char *rest = path;
        char *name;

        while ((name = text_next_word(arena, &rest, "/")) && text_ends_with(name, ".slice"))
                ;
        /* systemd prefixes names that could clash with the kernel's files with "_". */
        if (name && *name == '_')
                name++;
        if (!name || !name_is_unit(name) ||
            !(text_ends_with(name, ".service") || text_ends_with(name, ".scope")))
                return NULL;
        *ret_length = (size_t) (rest - path);
        return name;
}

void process_parse_cgroup(Arena *arena, const char *text, Process *ret) {
        ret->unit = ret->unit_group = NULL;
        TEXT_FOREACH(line, arena, text, "\n") {
                /* "1:name=systemd:/...", which is authoritative on a hybrid host, or "0::/...". */
                const char *controllers = strchr(line, ':'), *path;
                bool is_unified = controllers && text_starts_with(controllers, "::");
                size_t length;
                char *unit;

                if (!is_unified &&
                    !(controllers && text_starts_with(controllers, ":name=systemd:")))
                        continue;
                path = strchr(controllers + 1, ':') + 1;
                if (!(unit = process_unit_of_group(arena, path, &length)))
                        continue;
                if (is_unified)
                        ret->unit_group = arena_strndup(arena, path, length);
                if (!is_unified || !ret->unit)
                        ret->unit = unit;
        }
}
