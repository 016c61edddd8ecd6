/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A flat mapping is the common part of JSON and YAML; the list of autobase's variables is accepted, too:
 *
 *   { "shared_buffers": "8GB", "max_connections": 200 }        on any number of lines
 *   shared_buffers: 8GB                                        one setting on each line, not indented
 *   postgresql_parameters:
 *     - { option: "shared_buffers", value: "8GB" }
 *
 * Any other nesting is refused. Like a product's own file, a mapping may hold settings that do not affect the size; a
 * mapping with only such settings is refused. */

#include "engines/reader.h"

#include "base/text.h"
#include "engines/parameters.h"

#include <string.h>

static const char write_option[] = "write - { option: NAME, value: VALUE }";

typedef struct Scan {
        Arena *arena;
        const char *path;
        const char *start, *at; /* NUL-terminated */
        unsigned line;
        Settings settings;
} Scan;

static const char *refuse(const Scan *scan, const char *key, const char *text) {
        return arena_printf(scan->arena, "%s:%u: %s%s%s", scan->path, scan->line,
                            key ? text_excerpt(scan->arena, key, QUOTE_BYTES_MAX) : "",
                            key ? ": " : "", text);
}

/* Skips whitespace and comments, and line ends if OVER_LINES. */
static void skip(Scan *scan, bool over_lines) {
        for (;; scan->at++) {
                if (*scan->at == '#')
                        scan->at += strcspn(scan->at, "\n");
                if (*scan->at == '\n' && over_lines)
                        scan->line++;
                else if (!*scan->at || !strchr(" \t\r", *scan->at))
                        return;
        }
}

/* Returns a quoted text, or a plain one up to one of STOPS or a comment; NULL if there is neither, or if a quoted text
 * does not end in its line. In double quotes an escape stands for its character itself, because no value that affects
 * the size contains a control character; in single quotes two quotes are one. */
static const char *take_word(Scan *scan, const char *stops) {
        const char *start = scan->at;
        Text word = text_in(scan->arena);
        char quote = *start;

        if (quote != '"' && quote != '\'') {
                while (*scan->at && !strchr(stops, *scan->at) &&
                       !(*scan->at == '#' && strchr(" \t", scan->at[-1])))
                        scan->at++;
                return scan->at == start || strchr("[]{}|>&*!%@`,?", *start)
                               ? NULL
                               : text_strip(scan->arena,
                                            arena_strdup_to(scan->arena, start, scan->at));
        }
        for (scan->at++; *scan->at && *scan->at != '\n';) {
                char c = *scan->at++;

                if (c == quote && (quote == '"' || *scan->at != quote))
                        return text_string(&word);
                if ((c == quote || (c == '\\' && quote == '"')) && *scan->at && *scan->at != '\n')
                        c = *scan->at++;
                text_add_n(&word, &c, 1);
        }
        return NULL;
}

/* KEY: VALUE. Sets *RET_VALUE to NULL if a list follows. */
static const char *take_pair(Scan *scan, bool is_flow, const char **ret_key,
                             const char **ret_value) {
        *ret_key = take_word(scan, ":,{}[]\n");
        skip(scan, is_flow);
        if (!*ret_key || *scan->at != ':')
                return refuse(scan, NULL, "this is not a setting; write NAME: VALUE");
        scan->at++;
        skip(scan, is_flow);
        Scan next = *scan;

        *ret_value = take_word(scan, is_flow ? ",}\"\n" : "\n");
        skip(&next, true);
        if (*ret_value || (!is_flow && next.line > scan->line && *next.at == '-'))
                return NULL;
        return refuse(scan, *ret_key,
                      "its value is not a single word or text in quotes; write NAME: "
                      "VALUE, without lists, mappings and templates");
}

static const char *add(Scan *scan, const char *key, const char *value) {
        const Setting *before = settings_find(&scan->settings, key);

        if (before)
                return refuse(scan, key,
                              arena_printf(scan->arena, "%s sets this, too; remove one of the two",
                                           before->origin));
        settings_add(scan->arena, &scan->settings, key, value,
                     source_origin(scan->arena, scan->path, scan->line));
        return NULL;
}

/* { KEY: VALUE, ... }; if IS_OPTION, { option: KEY, value: VALUE }. */
static const char *take_mapping(Scan *scan, bool is_option) {
        const char *key, *value = NULL, *wrong = NULL, *option = NULL, *of_option = NULL;

        scan->at++;
        for (skip(scan, true); !wrong && *scan->at != '}'; skip(scan, true)) {
                wrong = take_pair(scan, true, &key, &value);
                if (!wrong && !is_option)
                        wrong = add(scan, key, value);
                else if (!wrong)
                        *(text_equals(key, "option") ? &option : &of_option) = value;
                skip(scan, true);
                if (!wrong && *scan->at == ',')
                        scan->at++;
                else if (!wrong && *scan->at != '}')
                        wrong = refuse(scan, key, "a ',' or a '}' is missing after this");
        }
        scan->at += !wrong;
        if (wrong || !is_option)
                return wrong;
        return option && of_option ? add(scan, option, of_option)
                                   : refuse(scan, NULL, write_option);
}

/* Pairs on lines of their own, and a list behind a pair without a value. */
static const char *take_lines(Scan *scan) {
        const char *key, *value = NULL, *wrong = NULL;

        for (skip(scan, true); !wrong && *scan->at; skip(scan, true)) {
                if (!value && *scan->at == '-') {
                        scan->at++;
                        skip(scan, false);
                        wrong = *scan->at == '{' ? take_mapping(scan, true)
                                                 : refuse(scan, NULL, write_option);
                } else if (scan->at > scan->start && scan->at[-1] != '\n') {
                        wrong = refuse(
                                scan, NULL,
                                "this line is indented, and so part of another value; write NAME: "
                                "VALUE lines only");
                } else {
                        wrong = take_pair(scan, false, &key, &value);
                        if (!wrong && value)
                                wrong = add(scan, key, value);
                }
                skip(scan, false);
                if (!wrong && *scan->at && *scan->at != '\n')
                        wrong = refuse(scan, NULL,
                                       "more than one setting in a line; break the line");
        }
        return wrong;
}

const char *settings_file_gather(Arena *arena, const Engine *engine, const EngineTarget *target,
                                 const Sources *sources, Gathered *ret) {
        const EngineReader *reader = engine_reader(engine);
        SourceText text = source_read(sources, arena, target->config_file);
        Scan scan = {arena, target->config_file, text.text, text.text, 1, {}};

        if (text.error < 0)
                return arena_printf(arena, "%s: %s", scan.path, reader_fault(arena, text.error));
        skip(&scan, true);
        bool is_marked = text_starts_with(scan.at, "---");

        if (is_marked) {
                scan.at += strcspn(scan.at, "\n");
                skip(&scan, true);
        }
        /* The first line that is not a comment begins a mapping: no product's own file has a colon before its "=". */
        const char *colon = memchr(scan.at, ':', strcspn(scan.at, "=\n"));

        if (reader->gather && !is_marked && *scan.at != '{' &&
            !(colon && strchr(" \t\r\n", colon[1])))
                return reader->gather(arena, engine, target, sources, ret);
        unsigned odd_line = reader_binary_line(text.text, text.size);

        if (odd_line > 0 || !text_is_utf8(text.text, text.size))
                return arena_printf(arena, "%s:%u: this is not text in UTF-8", scan.path,
                                    MAX(odd_line, 1U));
        const char *wrong = *scan.at == '{' ? take_mapping(&scan, false) : take_lines(&scan);

        skip(&scan, true);
        if (!wrong && *scan.at)
                wrong = refuse(&scan, NULL, "text follows the mapping; remove it");
        VEC_FOREACH(setting, &scan.settings)
                if (parameters_have(engine_formula(engine)->parameters, setting->name))
                        *vec_push(arena, &ret->settings) = *setting;
        if (!wrong && ret->settings.n == 0)
                wrong = arena_printf(arena,
                                     "%s: none of these settings matters to the size of %s; "
                                     "'hugeplanctl size --json' lists those that do",
                                     scan.path, engine->title);
        return wrong;
}
