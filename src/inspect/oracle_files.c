/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inspect/oracle_files.h"

#include "base/json.h"
#include "base/size.h"
#include "base/text.h"
#include "engines/oracle/oracle_instances.h"
#include "inspect/reader.h"

#include <string.h>

enum {
        ENTRIES_MAX = 1024,
        LINES_MAX = 65536,
        HOME_BYTES_MAX = 4096,
};

/* ---- in the reader ---- */

static json_t *list_entries(void *userdata, Arena *arena, HostSources *sources) {
        const OracleInstances found = oracle_instances_read(arena, &sources->sources);

        (void) userdata;
        return VEC_TO_JSON(instance, &found,
                           json_pack("[sssb]", instance->sid, instance->home, instance->origin,
                                     instance->is_started));
}

/* ---- for who asked ---- */

typedef struct Entry {
        const char *sid, *home;
        uint64_t line;
        bool is_started;
} Entry;

/* Of the file PATH; false: it is another's, or nothing that stands in such a file. */
static bool take_entry(json_t *json, const char *path, Entry *ret) {
        const char *sid, *home, *origin;
        size_t length = strlen(path);
        int is_started;

        if (json_unpack(json, "[sssb!]", &sid, &home, &origin, &is_started) < 0 ||
            !oracle_sid_is_valid(sid) || *home != '/' || strlen(home) > HOME_BYTES_MAX ||
            strpbrk(home, ":\n\r") || !text_starts_with(origin, path) || origin[length] != ':' ||
            parse_u64(origin + length + 1, &ret->line) < 0 || ret->line > LINES_MAX)
                return false;
        *ret = (Entry){sid, home, ret->line, is_started};
        return true;
}

char *oracle_entries_write(Arena *arena, const json_t *list, const char *path) {
        Text text = text_in(arena);
        uint64_t line = 1;
        json_t *row;
        size_t i;

        text_add(&text, "");
        json_array_foreach(list, i, row) {
                Entry entry;

                if (i == ENTRIES_MAX || !take_entry(row, path, &entry) || entry.line < line)
                        continue;
                text_repeat(&text, '\n', entry.line - line);
                text_printf(&text, "%s:%s:%s\n", entry.sid, text_printable(arena, entry.home),
                            entry.is_started ? "Y" : "N");
                line = entry.line + 1;
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
                overlay_put(arena, overlay, paths[i],
                            reader_ask(arena, &person, list_entries, NULL, &list)
                                    ? ""
                                    : oracle_entries_write(arena, list, paths[i]));
                json_decref(list);
        }
}
