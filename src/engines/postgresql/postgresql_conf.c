/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/postgresql/postgresql_conf.h"

#include "base/text.h"

#include <string.h>
#include <strings.h>

enum {
        DEPTH_MAX = 10, /* the server's CONF_FILE_MAX_DEPTH */
        /* hugeplan's limits: no configuration has more */
        FILES_MAX = 512,
        SETTINGS_MAX = 4096,
        NAME_BYTES_MAX = 63, /* NAMEDATALEN */
};

typedef struct Reading {
        Arena *arena;
        const Sources *sources;
        PostgresqlWanted *is_wanted;
        Settings *settings;
        size_t n_files;
        size_t n_settings;
        const char *
                unread; /* a sentence on the first file that only the server can read; NULL: none */
} Reading;

typedef struct File {
        Reading *reading;
        const char *path;
        const struct File *includer;
        unsigned depth;
        const char *at, *end; /* the rest of the text */
        unsigned line;
} File;

/* ---- values from any source ---- */

enum { VALUE_BYTES_MAX = 4096 };

const char *postgresql_value_fault(const char *value) {
        size_t length = strlen(value);

        if (length > VALUE_BYTES_MAX)
                return "the value is longer than 4K; write a shorter one";
        if (!text_is_utf8(value, length))
                return "the value is not UTF-8; write it in UTF-8";
        for (const char *at = value; *at; at++)
                if ((unsigned char) *at < ' ' || *at == 0x7F ||
                    (*at == '\xC2' && (unsigned char) at[1] < 0xA0))
                        return "the value has control characters; remove them";
        return NULL;
}

bool postgresql_is_path(const char *value) {
        return value && *value == '/' && !postgresql_value_fault(value);
}

/* ---- sentences ---- */

static const char *refuse(const File *file, const char *text) {
        if (file->line == 0)
                return arena_printf(file->reading->arena, "%s: %s", file->path, text);
        return arena_printf(file->reading->arena, "%s:%u: %s", file->path, file->line, text);
}

/* ---- tokens ---- */

typedef enum TokenKind {
        TOKEN_END, /* of the line or the file */
        TOKEN_EQUALS,
        TOKEN_NAME,           /* letters and digits */
        TOKEN_QUALIFIED_NAME, /* NAME.NAME */
        TOKEN_VALUE,          /* a number, or letters with any of -._:/ */
        TOKEN_STRING,         /* in quotes */
        TOKEN_WRONG,
} TokenKind;

typedef struct Token {
        TokenKind kind;
        const char *start;
        size_t length;
} Token;

/* Compares bytes: every byte of a non-ASCII character counts as a letter, in any encoding. */
static bool is_letter(char c) {
        return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
               (unsigned char) c >= 0x80;
}

static bool is_hex_digit(char c) {
        return text_is_digit(c) || (c >= 'A' && c <= 'F') || (c >= 'a' && c <= 'f');
}

static bool is_unit_letter(char c) {
        return is_letter(c) && c != '_' && (unsigned char) c < 0x80;
}

static bool is_word_character(char c) {
        return is_letter(c) || text_is_digit(c) || (c && strchr("-._:/", c));
}

/* Returns how many bytes from AT on belong to a class. */
static size_t span(const char *at, const char *end, bool (*is_member)(char)) {
        const char *start = at;

        while (at < end && is_member(*at))
                at++;
        return (size_t) (at - start);
}

static size_t count_sign(const char *at, const char *end) {
        return at < end && (*at == '-' || *at == '+');
}

/* Returns the length of "12", "-1", "128MB", "0x1F"; 0: none of these. */
static size_t integer_length(const char *at, const char *end) {
        const char *start = at + count_sign(at, end);
        size_t digits = span(start, end, text_is_digit);
        size_t length = digits;

        if (digits == 0)
                return 0;
        if (digits == 1 && *start == '0' && end - start > 2 && start[1] == 'x' &&
            is_hex_digit(start[2]))
                length = 2 + span(start + 2, end, is_hex_digit);
        length += span(start + length, end, is_unit_letter);
        return (size_t) (start - at) + length;
}

/* Returns the length of "1.5", ".5", "1.5e-3"; 0: none of these. */
static size_t real_length(const char *at, const char *end) {
        const char *next = at + count_sign(at, end);

        next += span(next, end, text_is_digit);
        if (next == end || *next != '.')
                return 0;
        next += 1 + span(next + 1, end, text_is_digit);
        if (next < end && (*next == 'e' || *next == 'E')) {
                const char *exponent = next + 1 + count_sign(next + 1, end);

                if (span(exponent, end, text_is_digit) > 0)
                        next = exponent + span(exponent, end, text_is_digit);
        }
        return (size_t) (next - at);
}

/* Returns the length from quote to quote, with '' and \' inside; 0 if the string does not end in its line. */
static size_t string_length(const char *at, const char *end) {
        const char *next = at + 1;

        for (; next < end && *next != '\n'; next++) {
                if (*next == '\\') {
                        next++;
                        if (next == end || *next == '\n')
                                return 0;
                } else if (*next == '\'') {
                        if (end - next < 2 || next[1] != '\'')
                                return (size_t) (next - at) + 1;
                        next++;
                }
        }
        return 0;
}

static bool is_name_character(char c) {
        return is_letter(c) || text_is_digit(c);
}

/* The word begins with a letter. */
static Token take_word(File *file) {
        Token token = {TOKEN_VALUE, file->at, span(file->at, file->end, is_word_character)};
        const char *end = token.start + token.length;
        const char *point = token.start + span(token.start, end, is_name_character);

        if (point == end)
                token.kind = TOKEN_NAME;
        else if (*point == '.' && point + 1 < end && is_letter(point[1]) &&
                 point + 1 + span(point + 1, end, is_name_character) == end)
                token.kind = TOKEN_QUALIFIED_NAME;
        file->at = end;
        return token;
}

static bool is_at_line_end(const File *file) {
        return file->at == file->end || *file->at == '\n';
}

static void skip_line(File *file) {
        const char *newline = memchr(file->at, '\n', (size_t) (file->end - file->at));

        file->at = newline ? newline : file->end;
}

/* Takes the longest token that matches, like flex, but not beyond the end of the line. */
static Token take_token(File *file) {
        while (!is_at_line_end(file) && strchr(" \t\r", *file->at) && *file->at)
                file->at++;
        if (!is_at_line_end(file) && *file->at == '#')
                skip_line(file);
        Token token = {TOKEN_END, file->at, 0};

        if (is_at_line_end(file))
                return token;
        if (is_letter(*file->at))
                return take_word(file);
        if (*file->at == '\'') {
                token.kind = TOKEN_STRING;
                token.length = string_length(file->at, file->end);
        } else if (*file->at == '=') {
                token.kind = TOKEN_EQUALS;
                token.length = 1;
        } else {
                token.kind = TOKEN_VALUE;
                token.length =
                        MAX(integer_length(file->at, file->end), real_length(file->at, file->end));
        }
        if (token.length == 0)
                token.kind = TOKEN_WRONG;
        file->at += token.length;
        return token;
}

/* ---- values ---- */

static bool is_octal_digit(char c) {
        return c >= '0' && c <= '7';
}

/* Returns the character that the escape at AT stands for, and moves AT behind the escape. */
static char unescape(const char **at, const char *end) {
        static const char letters[] = "bfnrt", meanings[] = "\b\f\n\r\t";
        const char *letter = **at ? strchr(letters, **at) : NULL;
        unsigned value = 0;

        if (!is_octal_digit(**at)) {
                char c = letter ? meanings[letter - letters] : **at;

                (*at)++;
                return c;
        }
        for (size_t n = 0; n < 3 && *at < end && is_octal_digit(**at); n++)
                value = value * 8 + (unsigned) (*(*at)++ - '0');
        return (char) value;
}

/* Returns the text of a token; NULL if it contains a NUL. */
static const char *token_text(Arena *arena, const Token *token) {
        char *text = arena_alloc(arena, token->length + 1), *to = text;
        const char *at = token->start, *end = at + token->length;

        if (token->kind == TOKEN_STRING) {
                at++;
                end--;
        }
        while (at < end) {
                char c = *at++;

                if (token->kind == TOKEN_STRING && c == '\\')
                        c = unescape(&at, end);
                else if (token->kind == TOKEN_STRING && c == '\'')
                        at++;
                if (c == '\0')
                        return NULL;
                *to++ = c;
        }
        return text;
}

/* ---- lines ---- */

static const char *read_file(File *file, int *ret_unopened);

static const char *check_include(const File *file) {
        Reading *reading = file->reading;
        const File *includer = file->includer;

        for (const File *outer = includer; outer; outer = outer->includer)
                if (text_equals(outer->path, file->path))
                        return refuse(includer, "the file that is included here includes itself; "
                                                "remove one of the two lines");
        if (file->depth > DEPTH_MAX)
                return refuse(includer, "more than 10 levels of files are included, which the "
                                        "server refuses; include fewer");
        if (++reading->n_files > FILES_MAX)
                return refuse(includer, "more than 512 files are included, which no configuration "
                                        "does; include fewer");
        return NULL;
}

/* Skips an included file that cannot be opened if MAY_BE_MISSING: ParseConfigFile(), not strict. */
static const char *include_file(const File *file, const char *path, bool may_be_missing) {
        File included = {
                .reading = file->reading, .path = path, .includer = file, .depth = file->depth + 1};
        const char *wrong = check_include(&included);
        int unopened = 0;

        if (!wrong)
                wrong = read_file(&included, &unopened);
        if (wrong || !unopened || may_be_missing)
                return wrong;
        if (unopened != -ENOENT)
                return refuse(&included, reader_fault(file->reading->arena, unopened));
        return refuse(file, arena_printf(file->reading->arena,
                                         "includes %s, which does not exist; the server "
                                         "does not start like this: correct the name, or "
                                         "write include_if_exists",
                                         path));
}

static bool is_directory(const Reading *reading, const char *path) {
        SourceNames names = {};

        return reading->sources->list(reading->sources, reading->arena, path, &names) >= 0;
}

/* Includes names that end in ".conf" and do not begin with a dot, in byte order. */
static const char *include_directory(const File *file, const char *path) {
        const Reading *reading = file->reading;
        SourceNames names = {};
        int r = reading->sources->list(reading->sources, reading->arena, path, &names);

        if (r < 0)
                return refuse(file, arena_printf(reading->arena,
                                                 "includes the directory %s, which %s; the server "
                                                 "does not start like this: correct the name",
                                                 path, reader_fault(reading->arena, r)));
        VEC_FOREACH(name, &names) {
                const char *inner = arena_printf(reading->arena, "%s/%s", path, *name);
                const char *wrong;

                if (**name == '.' || strlen(*name) < 6 || !text_ends_with(*name, ".conf") ||
                    is_directory(reading, inner))
                        continue;
                wrong = postgresql_value_fault(*name) ? refuse(file, "includes a directory with a "
                                                                     "file name that cannot be "
                                                                     "printed; rename the file")
                                                      : include_file(file, inner, false);
                if (wrong)
                        return wrong;
        }
        return NULL;
}

static const char *include(const File *file, const char *directive, const char *value) {
        const char *fault = value ? postgresql_value_fault(value) : "the value has a NUL";
        const char *path;

        if (fault)
                return refuse(file, fault);
        if (!*value)
                return refuse(file,
                              "includes nothing; write the name of a file, or remove the line");
        path = source_relative(file->reading->arena, file->path, value);
        if (strcasecmp(directive, "include_dir") == 0)
                return include_directory(file, path);
        return include_file(file, path, strcasecmp(directive, "include_if_exists") == 0);
}

static bool is_include(const char *name) {
        return strcasecmp(name, "include") == 0 || strcasecmp(name, "include_if_exists") == 0 ||
               strcasecmp(name, "include_dir") == 0;
}

static const char *use_line(const File *file, const Token *name_token, const Token *value_token) {
        char name[NAME_BYTES_MAX + 1] = "";

        if (name_token->length >= sizeof(name))
                return NULL;
        memcpy(name, name_token->start, name_token->length);
        if (is_include(name))
                return include(file, name, token_text(file->reading->arena, value_token));
        if (!file->reading->is_wanted(name))
                return NULL;
        const char *value = token_text(file->reading->arena, value_token);
        const char *fault = value ? postgresql_value_fault(value)
                                  : "the value has a NUL; remove it";

        if (!fault && ++file->reading->n_settings > SETTINGS_MAX)
                fault = "so many lines set the server's size that this is no configuration; remove "
                        "those that are repeated";
        if (fault)
                return refuse(file, arena_printf(file->reading->arena, "%s: %s", name, fault));
        settings_add(file->reading->arena, file->reading->settings, name, value,
                     source_origin(file->reading->arena, file->path, file->line));
        return NULL;
}

/* NAME [=] VALUE, or an empty line. */
static const char *read_line(File *file) {
        Token name = take_token(file), value;

        if (name.kind == TOKEN_END)
                return NULL;
        value = take_token(file);
        if (value.kind == TOKEN_EQUALS)
                value = take_token(file);
        bool has_name = name.kind == TOKEN_NAME || name.kind == TOKEN_QUALIFIED_NAME;
        bool has_value = value.kind == TOKEN_NAME || value.kind == TOKEN_VALUE ||
                         value.kind == TOKEN_STRING;

        if (!has_name || !has_value || take_token(file).kind != TOKEN_END)
                return refuse(file, "not a line that PostgreSQL can read, so the server would not "
                                    "start; write NAME = VALUE, with text in single quotes");
        return use_line(file, &name, &value);
}

static const char *read_file(File *file, int *ret_unopened) {
        SourceText text = source_read(file->reading->sources, file->reading->arena, file->path);

        *ret_unopened = source_is_unopened(text.error) ? text.error : 0;
        if (*ret_unopened)
                return NULL;
        if (text.error < 0) {
                if (!file->reading->unread)
                        file->reading->unread =
                                refuse(file, reader_fault(file->reading->arena, text.error));
                return NULL;
        }
        file->at = text.text;
        file->end = text.text + text.size;
        for (file->line = 1; file->at < file->end; file->line++) {
                const char *wrong = read_line(file);

                if (wrong)
                        return wrong;
                file->at += file->at < file->end;
        }
        return NULL;
}

const char *postgresql_conf_read(Arena *arena, const Sources *sources, const char *path,
                                 PostgresqlWanted *is_wanted, Settings *settings,
                                 int *ret_unopened) {
        Reading reading = {
                .arena = arena, .sources = sources, .is_wanted = is_wanted, .settings = settings};
        File file = {.reading = &reading, .path = path};

        const char *wrong = read_file(&file, ret_unopened ? ret_unopened : &(int){0});

        return wrong ? wrong : reading.unread;
}
