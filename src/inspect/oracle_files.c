/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inspect/oracle_files.h"

#include "base/json.h"
#include "base/size.h"
#include "base/text.h"
#include "engines/oracle/oracle.h"
#include "inspect/confine.h"

#include <string.h>

enum {
        ENTRIES_MAX = 1024,
        LINES_MAX = 65536,
        HOME_BYTES_MAX = 4096,
};

/* ---- oratab: in the reader ---- */

static json_t *list_entries(void *userdata UNUSED, Arena *arena, HostSources *sources) {
        const OracleInstances found = oracle_instances_read(arena, &sources->sources);

        return VEC_TO_JSON(instance, &found,
                           json_pack("[sssb]", instance->sid, instance->home, instance->origin,
                                     instance->is_started));
}

/* ---- in the caller ---- */

char *oracle_entries_write(Arena *arena, const json_t *list, const char *path) {
        Text text = text_in(arena);
        size_t length = strlen(path), i;
        uint64_t next = 1, line;
        json_t *row;

        text_add(&text, "");
        json_array_foreach(list, i, row) {
                const char *sid, *home, *origin;
                int is_started;

                /* Skip entries of another file and invalid ones. */
                if (i == ENTRIES_MAX ||
                    json_unpack(row, "[sssb!]", &sid, &home, &origin, &is_started) < 0 ||
                    !oracle_sid_is_valid(sid) || *home != '/' || strlen(home) > HOME_BYTES_MAX ||
                    strpbrk(home, ":\n\r") || !text_starts_with(origin, path) ||
                    origin[length] != ':' || parse_u64(origin + length + 1, &line) < 0 ||
                    line > LINES_MAX || line < next)
                        continue;
                text_repeat(&text, '\n', line - next);
                text_printf(&text, "%s:%s:%s\n", sid, text_printable(arena, home),
                            is_started ? "Y" : "N");
                next = line + 1;
        }
        return text.string;
}

void oracle_files_add(const Root *root, Arena *arena, Overlay *overlay) {
        static const char *const paths[] = {"/etc/oratab", "/var/opt/oracle/oratab"};

        for (size_t i = 0; i < ARRAY_LEN(paths) && root_is_host(root); i++) {
                Person person;
                json_t *list = NULL;

                if (!root_exists(root, paths[i]))
                        continue;
                owner_to_read(arena, paths[i], &person);
                overlay_put(overlay, paths[i],
                            reader_ask(root, arena, &person, READER_USEC, list_entries, NULL, &list)
                                    ? ""
                                    : oracle_entries_write(arena, list, paths[i]));
                json_decref(list);
        }
}
