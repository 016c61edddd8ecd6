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
        LOG_BYTES_MAX = 1 << 20, /* the last part of the log: some hundred starts */
        SIDS_MAX = 64,
        NAMES_MAX = 256,
        ERROR_MAX = 200,
        FILE_MAX = 4096,
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

/* ---- alert logs ---- */

/* NAME is DB_UNIQUE_NAME, which is not known here: each directory that has the SID is tried. */
static void read_logs_of(const Root *root, Arena *arena, const OracleInstance *sid,
                         HostFacts *facts) {
        const char *product = strstr(sid->home, "/product/");
        Names names = {};
        size_t n = 0;

        /* A SID with a slash could lead to another directory. */
        if (!product || *sid->home != '/' || *sid->sid == '\0' || *sid->sid == '.' ||
            strchr(sid->sid, '/'))
                return;
        const char *directory =
                arena_printf(arena, "%.*s/diag/rdbms", (int) (product - sid->home), sid->home);

        root_list(root, arena, directory, &names);
        VEC_FOREACH(name, &names) {
                const char *path = arena_printf(arena, "%s/%s/%s/trace/alert_%s.log", directory,
                                                *name, sid->sid, sid->sid);
                SourceText text = {};
                char *bytes;

                if (n++ == NAMES_MAX)
                        return;
                if (root_read_end(root, arena, path, LOG_BYTES_MAX, &bytes, &text.size) < 0)
                        continue;
                text.text = bytes;
                host_facts_add_alert(arena, facts, sid->sid, path, &text);
                return;
        }
}

json_t *alert_to_json(Arena *arena, const OracleAlert *alert) {
        return json_pack("[sooos?]", text_printable(arena, alert->file),
                         count_to_json(alert->page_size_bytes),
                         count_to_json(alert->available_pages),
                         count_to_json(alert->expected_pages),
                         alert->error ? text_excerpt(arena, alert->error, ERROR_MAX) : NULL);
}

static json_t *read_there(void *userdata, Arena *arena, HostSources *sources) {
        HostFacts found = {};

        read_logs_of(sources->root, arena, userdata, &found);
        return VEC_TO_JSON(alert, &found.alerts, alert_to_json(arena, alert));
}

bool alert_from_json(Arena *arena, json_t *json, const char *sid, OracleAlert *ret) {
        json_int_t size, available, expected;
        const json_t *error;
        const char *file;

        /* json_unpack() has no format letter for a value that may be null. */
        if (json_unpack(json, "[sIIIo!]", &file, &size, &available, &expected, &error) < 0 ||
            !(json_is_string(error) || json_is_null(error)) || size <= 0 || available < 0 ||
            expected <= 0)
                return false;
        *ret = (OracleAlert){
                .sid = sid,
                .page_size_bytes = (uint64_t) size,
                .available_pages = (uint64_t) available,
                .expected_pages = (uint64_t) expected,
                .error = json_is_string(error)
                                 ? text_excerpt(arena, json_string_value(error), ERROR_MAX)
                                 : NULL,
                .file = text_excerpt(arena, file, FILE_MAX),
        };
        return true;
}

void alert_logs_read(const Root *root, Arena *arena, HostFacts *facts) {
        for (size_t k = 0; k < MIN(facts->sids.n, (size_t) SIDS_MAX); k++) {
                OracleInstance *sid = &facts->sids.items[k];
                json_t *list = NULL, *row;
                OracleAlert alert;
                Person person;
                size_t i;

                if (!root_is_host(root)) {
                        read_logs_of(root, arena, sid, facts);
                        continue;
                }
                owner_to_read(arena, sid->home, &person);
                if (reader_ask(root, arena, &person, READER_USEC, read_there, sid, &list))
                        continue;
                json_array_foreach(list, i, row)
                        if (i < NAMES_MAX && alert_from_json(arena, row, sid->sid, &alert))
                                *vec_push(arena, &facts->alerts) = alert;
                json_decref(list);
        }
}
