/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inspect/oracle_files.h"

#include "base/text.h"
#include "inspect/confine.h"

/* In the reader. JSON is UTF-8. */
static json_t *read_lines(void *path, Arena *arena, HostSources *sources) {
        const SourceText file = source_read(&sources->sources, arena, path);
        Text text = text_in(arena);

        SOURCE_FOREACH(line, arena, lines, &file)
                text_printf(&text, "%s\n",
                            text_is_utf8(line, strlen(line)) ? line : text_printable(arena, line));
        return json_string(text_string(&text));
}

void oracle_files_add(const Root *root, Arena *arena, Overlay *overlay) {
        static const char *const paths[] = {"/etc/oratab", "/var/opt/oracle/oratab"};

        for (size_t i = 0; i < ARRAY_LEN(paths) && root_is_host(root); i++) {
                Person person;
                json_auto_t *text = NULL;

                if (!root_exists(root, paths[i]))
                        continue;
                owner_to_read(arena, paths[i], &person);
                reader_ask(root, arena, &person, READER_USEC, read_lines, (void *) paths[i], &text);
                overlay_put(overlay, paths[i], arena_strdup(arena, json_string_value(text) ?: ""));
        }
}
