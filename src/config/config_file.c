/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* inih splits lines into section, key and value. What it would let pass stands here, in the reader
 * that hands it one line at a time: lines beyond its buffer (it would deliver them cut), keys after
 * a malformed section header (they would land in the section before), indented lines (they would
 * continue the key above), inline comments (they would cut values), ':' in place of '=', NUL bytes
 * and what is not UTF-8. It also counts the lines, which the handler is not told. */
#include "config/config_file.h"

#include "base/text.h"
#include "model/problem.h"

#include <ini.h>
#include <string.h>

enum { LINE_BYTES_MAX = 190 }; /* inih's buffer holds 200 with newline and NUL */

typedef struct Reader {
        Arena *arena;
        ParsedFile *parsed;
        Diags *problems;
        const char *at, *end;
        unsigned line;
        bool section_is_known; /* or that it is missing has been reported, once for all keys before the first */
} Reader;

void config_file_refuse(ParsedFile *parsed, Diags *problems, ProblemKind kind, unsigned line,
                        const char *key, const char *text, const char *remedy) {
        diags_add(problems, &(Diag){.severity = SEVERITY_ERROR,
                                    .id = problem_id(kind),
                                    .file = parsed->file->path,
                                    .line = line,
                                    .key = key,
                                    .text = text,
                                    .remedy = remedy});
        if (!parsed->refusal)
                parsed->refusal = arena_memdup(
                        problems->arena, &problems->list.items[problems->list.n - 1], sizeof(Diag));
}

static void refuse_line(Reader *reader, const char *key, const char *text, const char *remedy) {
        config_file_refuse(reader->parsed, reader->problems, PROBLEM_CONFIG_SYNTAX, reader->line,
                           key, text, remedy);
}

/* The next physical line without its end, whitespace around it taken off; NULL at the end of the file.
 * A line that cannot be used is refused and comes back empty. */
static char *next_line(Reader *reader) {
        if (reader->at == reader->end)
                return NULL;

        const char *start = reader->at;
        const char *newline = memchr(start, '\n', (size_t) (reader->end - start));
        size_t length = (size_t) ((newline ? newline : reader->end) - start);

        reader->at = newline ? newline + 1 : reader->end;
        reader->line++;
        if (memchr(start, '\0', length)) {
                refuse_line(reader, NULL, "the line holds a NUL byte", "write plain text");
                return arena_strdup(reader->arena, "");
        }
        if (!text_is_utf8(start, length)) {
                refuse_line(reader, NULL, "the line is not valid UTF-8", "save the file in UTF-8");
                return arena_strdup(reader->arena, "");
        }
        char *line = text_strip(reader->arena, arena_strndup(reader->arena, start, length));

        if (strlen(line) > LINE_BYTES_MAX && *line != '#' && *line != ';') {
                refuse_line(reader, NULL,
                            arena_printf(reader->arena, "the line is longer than %d bytes",
                                         LINE_BYTES_MAX),
                            "repeat the key to continue a list on a line of its own");
                return arena_strdup(reader->arena, "");
        }
        return line;
}

/* Notes the section that begins, "" when it is none of ours. */
static void begin_section(Reader *reader, const char *line) {
        size_t length = strlen(line);
        const char *name = arena_strndup(reader->arena, line + 1, length - 2);

        reader->section_is_known = true;
        if (line[length - 1] != ']' || strchr(name, ']') || strchr(name, '[')) {
                refuse_line(reader, NULL,
                            arena_printf(reader->arena, "'%s' is no section header", line),
                            "write [Host] or [Instance] alone on its line");
                return;
        }
        if (text_equals(name, "Host"))
                reader->parsed->has_host = true;
        else if (text_equals(name, "Instance"))
                reader->parsed->has_instance = true;
        else if (!text_starts_with(name, "X-"))
                refuse_line(reader, NULL, arena_printf(reader->arena, "unknown section [%s]", name),
                            "the sections are [Host] and [Instance]; your own begin with X-");
}

static bool is_blank_before(const char *value, char comment) {
        for (const char *at = strchr(value, comment); at; at = strchr(at + 1, comment))
                if (at > value && (at[-1] == ' ' || at[-1] == '\t'))
                        return true;
        return false;
}

/* NULL when the line is an assignment that inih reads as meant, else what is wrong with it. */
static const char *check_assignment(Reader *reader, const char *line, const char **ret_key,
                                    const char **ret_remedy) {
        const char *equals = strchr(line, '=');

        *ret_key = NULL;
        *ret_remedy = "write Key=Value";
        if (!equals)
                return arena_printf(reader->arena, "'%s' is no assignment", line);
        *ret_key = text_strip(reader->arena, arena_strdup_to(reader->arena, line, equals));
        if (!**ret_key || strpbrk(*ret_key, ":; \t"))
                return "this is no key";
        if (!reader->section_is_known) {
                reader->section_is_known = true;
                *ret_remedy = "begin the file with [Host] or [Instance]";
                return "the key stands before the first section";
        }
        *ret_remedy = "put the comment on a line of its own";
        if (is_blank_before(equals + 1, ';') || is_blank_before(equals + 1, '#'))
                return "a comment after the value would become part of it";
        *ret_remedy = "repeat the key to continue a list on a line of its own";
        if (text_ends_with(line, "\\"))
                return "a backslash does not continue the line";
        return NULL;
}

/* An ini_reader: one line, or nothing of it where it is of no use. */
static char *read_line(char *buffer, int size, void *stream) {
        Reader *reader = stream;
        const char *line = next_line(reader), *key, *remedy, *wrong;

        if (!line)
                return NULL;
        if (*line == '[') {
                begin_section(reader, line);
                /* A header that is none must not leave its keys in the section before. */
                if (!text_ends_with(line, "]"))
                        line = "[?]";
        } else if (strchr("#;", *line)) {
                line = "";
        } else if ((wrong = check_assignment(reader, line, &key, &remedy))) {
                refuse_line(reader, key, wrong, remedy);
                line = "";
        }
        size_t length = MIN(strlen(line), (size_t) size - 2);

        memcpy(buffer, line, length);
        memcpy(buffer + length, "\n", 2);
        return buffer;
}

static int take_assignment(void *user, const char *section, const char *key, const char *value) {
        Reader *reader = user;

        *vec_push(reader->arena, &reader->parsed->assignments) = (Assignment){
                .section = arena_strdup(reader->arena, section),
                .key = arena_strdup(reader->arena, key),
                .value = arena_strdup(reader->arena, value ? value : ""),
                .line = reader->line,
        };
        return 1;
}

ParsedFile *config_file_parse(Arena *arena, const ConfigFile *file, Diags *problems) {
        ParsedFile *parsed = ARENA_NEW(arena, ParsedFile);

        parsed->file = file;
        if (!file->text) {
                config_file_refuse(
                        parsed, problems, PROBLEM_CONFIG_UNREADABLE, 0, NULL,
                        arena_printf(arena, "cannot be read: %s", strerror(-file->error)),
                        "make it a regular file of at most 64K that root can read");
                return parsed;
        }

        const char *text = file->text;
        size_t size = file->size;

        if (size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) { /* a byte order mark */
                text += 3;
                size -= 3;
        }
        Reader reader = {
                .arena = arena,
                .parsed = parsed,
                .problems = problems,
                .at = text,
                .end = text + size,
        };

        if (ini_parse_stream(read_line, &reader, take_assignment, &reader) != 0 && !parsed->refusal)
                refuse_line(&reader, NULL, "the file cannot be parsed", "write Key=Value lines");
        parsed->is_empty = !parsed->refusal && !parsed->has_host && !parsed->has_instance &&
                           parsed->assignments.n == 0;
        return parsed;
}
