/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Stricter than systemd.syntax(7) where a mistake would go unnoticed: continued lines, comments after a value, ':'
 * instead of '=', NUL bytes and invalid UTF-8 are refused, and keys after a malformed section header belong to no
 * section. config_value.c defines the syntax of values, for the reader and for writers. */
#include "config/config_keys.h"

#include "base/text.h"
#include "config/config_value.h"
#include "model/problem.h"

#include <string.h>

typedef struct Reader {
        Arena *arena;
        ParsedFile *parsed;
        Diags *problems;
        const char *at, *end;
        unsigned line;
        const char *section; /* NULL: before the first section, not reported; "": an invalid one */
} Reader;

void config_file_refuse(ParsedFile *parsed, Diags *problems, ProblemKind kind, unsigned line,
                        const char *key, const char *text, const char *remedy) {
        Diag diag = problem_of(kind, parsed->file->path, remedy);

        diag.line = line;
        diag.key = key;
        diag.text = text;
        diags_add(problems, &diag);
        if (!parsed->refusal)
                parsed->refusal = arena_memdup(
                        problems->arena, &problems->list.items[problems->list.n - 1], sizeof(Diag));
}

static void refuse_line(Reader *reader, const char *key, const char *text, const char *remedy) {
        config_file_refuse(reader->parsed, reader->problems, PROBLEM_CONFIG_SYNTAX, reader->line,
                           key, text, remedy);
}

/* Returns the next physical line without its newline and surrounding whitespace, or NULL at the end of the file. An
 * invalid line is refused and returned as "". */
static char *next_line(Reader *reader) {
        if (reader->at == reader->end)
                return NULL;

        const char *start = reader->at;
        const char *newline = memchr(start, '\n', (size_t) (reader->end - start));
        size_t length = (size_t) ((newline ? newline : reader->end) - start);

        reader->at = newline ? newline + 1 : reader->end;
        reader->line++;
        char *line = text_strip(reader->arena, arena_strndup(reader->arena, start, length));

        if (memchr(start, '\0', length))
                refuse_line(reader, NULL, "the line contains a NUL byte", "write plain text");
        else if (!text_is_utf8(start, length))
                refuse_line(reader, NULL, "the line is not valid UTF-8", "save the file in UTF-8");
        else if (strlen(line) > CONFIG_LINE_BYTES_MAX && *line != '#' && *line != ';')
                refuse_line(reader, NULL,
                            arena_printf(reader->arena, "the line is longer than %d bytes",
                                         CONFIG_LINE_BYTES_MAX),
                            "repeat the key to continue a list on a line of its own");
        else
                return line;
        return arena_strdup(reader->arena, "");
}

static void take_assignment(Reader *reader, const char *line) {
        const char *equals = strchr(line, '='), *remedy = "write Key=Value", *value = NULL;
        const char *key =
                text_strip(reader->arena, arena_strdup_to(reader->arena, line, equals ?: line));

        if (!*key)
                refuse_line(reader, NULL,
                            arena_printf(reader->arena, "'%s' is not an assignment", line), remedy);
        else if (strpbrk(key, ":; \t"))
                refuse_line(reader, key, "this is not a key", remedy);
        else if (!reader->section) { /* reported once for all keys before the first section */
                refuse_line(reader, key, "the key comes before the first section",
                            "begin the file with [Host] or [Instance]");
                reader->section = "";
        } else {
                const char *written = text_strip(reader->arena, equals + 1);
                const char *wrong = config_value_read(reader->arena, written, &value, &remedy);

                if (wrong)
                        refuse_line(reader, key, wrong, remedy);
                else
                        *vec_push(reader->arena, &reader->parsed->assignments) =
                                (Assignment){reader->section, key, value, reader->line};
        }
}

ParsedFile *config_file_parse(Arena *arena, const ConfigFile *file, Diags *problems) {
        ParsedFile *parsed = ARENA_NEW(arena, ParsedFile);

        parsed->file = file;
        if (!file->text) {
                config_file_refuse(parsed, problems, PROBLEM_CONFIG_UNREADABLE, 0, NULL,
                                   arena_printf(arena, "cannot be read%s: %s",
                                                file->error == -EACCES ? " by this user" : "",
                                                strerror(-file->error)),
                                   file->error == -EACCES ? CONFIG_DENIED_REMEDY
                                   : file->error == -ENOENT
                                           ? "correct the path"
                                           : "make it a regular file of at most 64K");
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

        for (const char *line; (line = next_line(&reader));) {
                size_t length = strlen(line);

                if (*line == '[' &&
                    (line[length - 1] != ']' || strcspn(line + 1, "[]") < length - 2)) {
                        reader.section = "";
                        refuse_line(&reader, NULL,
                                    arena_printf(arena, "'%s' is not a section header", line),
                                    "write [Host] or [Instance] alone on its line");
                } else if (*line == '[') {
                        const char *name = arena_strndup(arena, line + 1, length - 2);

                        reader.section = name;
                        parsed->has_host |= text_equals(name, "Host");
                        parsed->has_instance |= text_equals(name, "Instance");
                        if (!TEXT_IS_ANY(name, "Host", "Instance") && !text_starts_with(name, "X-"))
                                refuse_line(
                                        &reader, NULL,
                                        arena_printf(arena, "unknown section [%s]", name),
                                        "the sections are [Host] and [Instance]; your own must begin with X-");
                } else if (!strchr("#;", *line)) /* strchr() also finds the NUL of an empty line */
                        take_assignment(&reader, line);
        }
        parsed->is_empty = !parsed->refusal && !parsed->has_host && !parsed->has_instance &&
                           parsed->assignments.n == 0;
        return parsed;
}
