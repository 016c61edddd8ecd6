/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "demand/figures.h"

#include "base/json.h"
#include "base/size.h"
#include "base/text.h"
#include "demand/page_counts.h"

#include <string.h>

enum {
        STRING_BYTES_MAX = 8192,
        SENTENCE_BYTES_MAX = 400,
        SETTINGS_MAX = 4096,
        PROBLEMS_MAX = 256,
};

/* ---- out ---- */

/* Returns STRING, cut if it is too long; null for NULL. */
static json_t *string_to_json(Arena *arena, const char *string) {
        return string ? json_string(text_excerpt(arena, string, STRING_BYTES_MAX)) : json_null();
}

static json_t *all_settings_to_json(Arena *arena, const Settings *settings) {
        size_t first = sub_floored(settings->n, SETTINGS_MAX);

        /* If there are too many, the last ones count. */
        return ARRAY_TO_JSON(setting, settings->items ? settings->items + first : NULL,
                             settings->n - first,
                             json_pack("[ooo]", string_to_json(arena, setting->name),
                                       string_to_json(arena, setting->value),
                                       string_to_json(arena, setting->origin)));
}

static json_t *diags_to_json(Arena *arena, const Diags *diags) {
        return ARRAY_TO_JSON(
                diag, diags->list.items, MIN(diags->list.n, (size_t) PROBLEMS_MAX),
                json_pack(
                        "{ss so so si so so so}", "severity", severity_name(diag->severity), "id",
                        string_to_json(arena, diag->id), "file", string_to_json(arena, diag->file),
                        "line", (int) MIN(diag->line, (unsigned) INT32_MAX), "key",
                        string_to_json(arena, diag->key), "text", string_to_json(arena, diag->text),
                        "remedy", string_to_json(arena, diag->remedy)));
}

json_t *gathered_to_json(Arena *arena, const Gathered *gathered) {
        return json_pack("{so so so so so sb so so so so so}", "settings",
                         all_settings_to_json(arena, &gathered->settings), "problems",
                         diags_to_json(arena, &gathered->problems), "version",
                         string_to_json(arena, gathered->version), "dataDirectory",
                         string_to_json(arena, gathered->data_directory), "configFile",
                         string_to_json(arena, gathered->config_file), "read", gathered->is_read,
                         "user", string_to_json(arena, gathered->user), "options",
                         all_settings_to_json(arena, &gathered->options), "program",
                         string_to_json(arena, gathered->program), "untrusted",
                         string_to_json(arena, gathered->untrusted), "incomplete",
                         string_to_json(arena, gathered->incomplete));
}

/* ---- in: each returns 0 or -EINVAL ---- */

/* Reads a string and makes it printable; printable text is unchanged. */
static int take_string(Arena *arena, const json_t *json, const char **ret) {
        if (json_is_null(json))
                return 0;
        if (!json_is_string(json) || json_string_length(json) > STRING_BYTES_MAX ||
            strlen(json_string_value(json)) != json_string_length(json))
                return -EINVAL;
        *ret = text_printable(arena, json_string_value(json));
        return 0;
}

/* Reads a sentence, which is not a value, and cuts it: no page of text is printed. */
static int take_sentence(Arena *arena, const json_t *json, const char **ret) {
        if (take_string(arena, json, ret) < 0)
                return -EINVAL;
        if (*ret)
                *ret = text_excerpt(arena, *ret, SENTENCE_BYTES_MAX);
        return 0;
}

static int take_needed(Arena *arena, const json_t *json, const char **ret) {
        return json_is_string(json) ? take_string(arena, json, ret) : -EINVAL;
}

/* Reads a list of at most MAX rows, each by TAKE. */
static int take_list(Arena *arena, const json_t *list, size_t max,
                     int (*take)(Arena *arena, const json_t *row, void *ret), void *ret) {
        const json_t *row;
        size_t i;

        if (!json_is_array(list) || json_array_size(list) > max)
                return -EINVAL;
        json_array_foreach(list, i, row)
                if (take(arena, row, ret) < 0)
                        return -EINVAL;
        return 0;
}

static int take_setting(Arena *arena, const json_t *row, void *ret) {
        Setting *setting = vec_push(arena, (Settings *) ret);

        /* Without an origin it would be the administrator's own. */
        return json_array_size(row) == 3 &&
                               take_needed(arena, json_array_get(row, 0), &setting->name) == 0 &&
                               take_needed(arena, json_array_get(row, 1), &setting->value) == 0
                       ? take_needed(arena, json_array_get(row, 2), &setting->origin)
                       : -EINVAL;
}

static int take_diag(Arena *arena, const json_t *json, void *ret) {
        const json_t *severity, *id, *file, *line, *key, *text, *remedy;
        Diag diag = {};
        uint64_t number;

        if (json_unpack((json_t *) json, "{s:o, s:o, s:o, s:o, s:o, s:o, s:o !}", "severity",
                        &severity, "id", &id, "file", &file, "line", &line, "key", &key, "text",
                        &text, "remedy", &remedy) < 0 ||
            !json_is_string(severity) ||
            severity_from_name(json_string_value(severity), &diag.severity) < 0 ||
            take_string(arena, id, &diag.id) < 0 || take_string(arena, file, &diag.file) < 0 ||
            figure_count_from_json(line, &number) < 0 || number > INT32_MAX ||
            take_string(arena, key, &diag.key) < 0 || take_sentence(arena, text, &diag.text) < 0 ||
            !diag.text || take_sentence(arena, remedy, &diag.remedy) < 0)
                return -EINVAL;
        diag.line = (unsigned) number;
        diags_add(ret, &diag);
        return 0;
}

int gathered_from_json(Arena *arena, const json_t *json, Gathered *ret) {
        const json_t *settings, *problems, *version, *data, *config, *is_read, *user, *options,
                *program, *untrusted, *incomplete;

        *ret = (Gathered){.problems = diags_in(arena)};
        if (json_unpack((json_t *) json,
                        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o !}", "settings",
                        &settings, "problems", &problems, "version", &version, "dataDirectory",
                        &data, "configFile", &config, "read", &is_read, "user", &user, "options",
                        &options, "program", &program, "untrusted", &untrusted, "incomplete",
                        &incomplete) < 0 ||
            take_list(arena, settings, SETTINGS_MAX, take_setting, &ret->settings) < 0 ||
            take_list(arena, problems, PROBLEMS_MAX, take_diag, &ret->problems) < 0 ||
            take_string(arena, version, &ret->version) < 0 ||
            take_string(arena, data, &ret->data_directory) < 0 ||
            take_string(arena, config, &ret->config_file) < 0 || !json_is_boolean(is_read) ||
            take_string(arena, user, &ret->user) < 0 ||
            take_list(arena, options, SETTINGS_MAX, take_setting, &ret->options) < 0 ||
            take_string(arena, program, &ret->program) < 0 ||
            take_sentence(arena, untrusted, &ret->untrusted) < 0 ||
            take_sentence(arena, incomplete, &ret->incomplete) < 0)
                return -EINVAL;
        ret->is_read = json_is_true(is_read);
        return 0;
}

json_t *page_counts_to_json(const PageCounts *counts) {
        return VEC_TO_JSON(count, counts,
                           json_pack("{so so}", "pageSizeBytes",
                                     count_to_json(count->page_size_bytes), "pages",
                                     count_to_json(count->pages)));
}
