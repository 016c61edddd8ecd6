/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/postgresql/postgresql.h"

#include "base/memory.h"
#include "base/text.h"

#include <regex.h>
#include <string.h>
#include <strings.h>

enum {
        SETTINGS_MAX = 4096, /* no configuration has more */
        NAME_BYTES_MAX = 63, /* NAMEDATALEN */
};

typedef struct Reading {
        Arena *arena;
        const Sources *sources;
        PostgresqlWanted *is_wanted;
        Settings *settings;
        regex_t pattern; /* line_pattern */
        size_t n_files;
        size_t n_settings;
        const char *unread; /* says which file only the server can read; NULL: none */
} Reading;

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

/* ---- the grammar ---- */

#define SPACE "[ \t\r]*"
#define NAME  "[A-Za-z_][A-Za-z_0-9]*"

/* NAME [=] VALUE [# comment] by the tokens of guc-file.l, on text that has "_" in place of each byte of a non-ASCII
 * character, which counts as a letter in any encoding. VALUE is a string with '' and \' inside, an integer ("-1",
 * "128MB", "0x1F"), a real number (".5", "1.5e-3") or a word. */
static const char line_pattern[] = "^" SPACE "(" NAME "(\\." NAME ")?)(" SPACE "=?" SPACE ")"
                                   "('([^'\\]|\\\\.|'')*'|[-+]?[0-9]+[A-Za-z]*|"
                                   "[-+]?0x[0-9A-Fa-f]+[A-Za-z]*|"
                                   "[-+]?[0-9]*\\.[0-9]*([eE][-+]?[0-9]+)?|"
                                   "[A-Za-z_][-A-Za-z_0-9.:/]*)" SPACE "(#|$)";

enum { MATCH_NAME = 1, MATCH_BETWEEN = 3, MATCH_VALUE = 4, MATCHES };

/* A part of a line. */
typedef struct Token {
        const char *start;
        size_t length;
} Token;

/* Sets *RET_NAME and *RET_VALUE to the parts of LINE. Returns 0, or -EINVAL if the server does not accept LINE. Ends the
 * program if regexec(3) has no memory: a line that is not read must not look like a setting that is not made. */
static int split_line(const Reading *reading, const char *line, size_t length, Token *ret_name,
                      Token *ret_value) {
        static const char letters[] =
                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
        char *ascii = arena_memdup(reading->arena, line, length + 1);
        regmatch_t parts[MATCHES];

        ascii[length] = '\0';
        for (char *c = ascii; c < ascii + length; c++)
                *c = (unsigned char) *c >= 0x80 ? '_' : *c ? *c : '\1';
        int r = regexec(&reading->pattern, ascii, MATCHES, parts, 0);

        if (r == REG_NOMATCH)
                return -EINVAL;
        if (r != 0)
                memory_end();
        const regmatch_t *name = &parts[MATCH_NAME], *between = &parts[MATCH_BETWEEN],
                         *value = &parts[MATCH_VALUE];

        *ret_name = (Token){line + name->rm_so, (size_t) (name->rm_eo - name->rm_so)};
        *ret_value = (Token){line + value->rm_so, (size_t) (value->rm_eo - value->rm_so)};
        /* Without anything between them, only these signs end the name. */
        if (between->rm_so == between->rm_eo && !strchr("'+", *ret_value->start))
                return -EINVAL;
        /* "lib.max" is a name and no value. */
        const char *word = ascii + value->rm_so;
        size_t n = strspn(word, letters);
        bool is_qualified = n > 0 && n + 1 < ret_value->length && !text_is_digit(*word) &&
                            word[n] == '.' && !text_is_digit(word[n + 1]) &&
                            n + 1 + strspn(word + n + 1, letters) == ret_value->length;

        return is_qualified ? -EINVAL : 0;
}

/* ---- values ---- */

/* Returns the character that the escape at AT stands for, and moves AT behind the escape. */
static char unescape(const char **at, const char *end) {
        static const char letters[] = "bfnrt", meanings[] = "\b\f\n\r\t";
        const char *letter = **at ? strchr(letters, **at) : NULL;
        unsigned value = 0;

        if (**at < '0' || **at > '7') {
                char c = letter ? meanings[letter - letters] : **at;

                (*at)++;
                return c;
        }
        for (size_t n = 0; n < 3 && *at < end && **at >= '0' && **at <= '7'; n++)
                value = value * 8 + (unsigned) (*(*at)++ - '0');
        return (char) value;
}

/* Returns the text of a value; NULL if it contains a NUL. */
static const char *value_text(Arena *arena, const Token *token) {
        char *text = arena_alloc(arena, token->length + 1), *to = text;
        const char *at = token->start, *end = at + token->length;
        bool is_string = *at == '\'';

        at += is_string;
        end -= is_string;
        while (at < end) {
                char c = *at++;

                if (is_string && c == '\\')
                        c = unescape(&at, end);
                else if (is_string && c == '\'')
                        at++;
                if (c == '\0')
                        return NULL;
                *to++ = c;
        }
        return text;
}

/* ---- lines ---- */

static const char *read_file(Reading *reading, ReaderPlace *place, int *ret_unopened);

/* Skips an included file that cannot be opened if MAY_BE_MISSING: ParseConfigFile(), not strict. */
static const char *include_file(Reading *reading, const ReaderPlace *place, const char *path,
                                bool may_be_missing) {
        ReaderPlace included = {.path = path, .includer = place, .depth = place->depth + 1};
        const char *wrong = reader_check_include(reading->arena, &included, ++reading->n_files);
        int unopened = 0;

        if (!wrong)
                wrong = read_file(reading, &included, &unopened);
        if (wrong || !unopened || may_be_missing)
                return wrong;
        if (unopened != -ENOENT)
                return reader_refuse(reading->arena, &included,
                                     reader_fault(reading->arena, unopened));
        return reader_refuse(
                reading->arena, place,
                arena_printf(reading->arena,
                             "includes %s, which does not exist; the server does not start "
                             "like this: correct the name, or write include_if_exists",
                             path));
}

/* Includes names that end in ".conf" and do not begin with a dot, in byte order. */
static const char *include_directory(Reading *reading, const ReaderPlace *place, const char *path) {
        const Sources *sources = reading->sources;
        SourceNames names = {}, inner_names = {};
        int r = sources->list(sources, reading->arena, path, &names);
        const char *wrong = NULL;

        if (r < 0)
                return reader_refuse(
                        reading->arena, place,
                        arena_printf(reading->arena,
                                     "includes the directory %s, which %s; the server does "
                                     "not start like this: correct the name",
                                     path, reader_fault(reading->arena, r)));
        for (size_t i = 0; i < names.n && !wrong; i++) {
                const char *name = names.items[i];
                const char *inner = arena_printf(reading->arena, "%s/%s", path, name);

                if (*name == '.' || strlen(name) < 6 || !text_ends_with(name, ".conf") ||
                    sources->list(sources, reading->arena, inner, &inner_names) >= 0)
                        continue;
                wrong = postgresql_value_fault(name)
                                ? reader_refuse(
                                          reading->arena, place,
                                          "includes a directory with a file name that cannot be "
                                          "printed; rename the file")
                                : include_file(reading, place, inner, false);
        }
        return wrong;
}

static const char *include(Reading *reading, const ReaderPlace *place, const char *directive,
                           const char *value) {
        const char *fault = value ? postgresql_value_fault(value) : "the value has a NUL";
        const char *path;

        if (fault)
                return reader_refuse(reading->arena, place, fault);
        if (!*value)
                return reader_refuse(
                        reading->arena, place,
                        "includes nothing; write the name of a file, or remove the line");
        path = source_relative(reading->arena, place->path, value);
        if (strcasecmp(directive, "include_dir") == 0)
                return include_directory(reading, place, path);
        return include_file(reading, place, path, strcasecmp(directive, "include_if_exists") == 0);
}

static const char *use_line(Reading *reading, const ReaderPlace *place, const char *line,
                            size_t length) {
        const char *start = line + strspn(line, " \t\r");
        char name[NAME_BYTES_MAX + 1] = "";
        Token name_token, value_token;

        if (start == line + length || *start == '#')
                return NULL;
        if (split_line(reading, line, length, &name_token, &value_token) < 0)
                return reader_refuse(
                        reading->arena, place,
                        "not a line that PostgreSQL can read, so the server would not start; "
                        "write NAME = VALUE, with text in single quotes");
        if (name_token.length >= sizeof(name))
                return NULL;
        memcpy(name, name_token.start, name_token.length);
        if (strcasecmp(name, "include") == 0 || strcasecmp(name, "include_if_exists") == 0 ||
            strcasecmp(name, "include_dir") == 0)
                return include(reading, place, name, value_text(reading->arena, &value_token));
        if (!reading->is_wanted(name))
                return NULL;
        const char *value = value_text(reading->arena, &value_token);
        const char *fault = value ? postgresql_value_fault(value)
                                  : "the value has a NUL; remove it";

        if (!fault && ++reading->n_settings > SETTINGS_MAX)
                fault = "too many lines set the server's size; remove those that are "
                        "repeated";
        if (fault)
                return reader_refuse(reading->arena, place,
                                     arena_printf(reading->arena, "%s: %s", name, fault));
        settings_add(reading->arena, reading->settings, name, value,
                     source_origin(reading->arena, place->path, place->line));
        return NULL;
}

static const char *read_file(Reading *reading, ReaderPlace *place, int *ret_unopened) {
        SourceText text = source_read(reading->sources, reading->arena, place->path);

        *ret_unopened = source_is_unopened(text.error) ? text.error : 0;
        if (*ret_unopened)
                return NULL;
        if (text.error < 0) {
                if (!reading->unread)
                        reading->unread = reader_refuse(reading->arena, place,
                                                        reader_fault(reading->arena, text.error));
                return NULL;
        }
        const char *at = text.text, *end = at + text.size, *wrong = NULL;

        for (place->line = 1; at < end && !wrong; place->line++) {
                const char *newline = memchr(at, '\n', (size_t) (end - at));
                const char *stop = newline ? newline : end;

                wrong = use_line(reading, place, at, (size_t) (stop - at));
                at = stop + 1;
        }
        return wrong;
}

const char *postgresql_conf_read(Arena *arena, const Sources *sources, const char *path,
                                 PostgresqlWanted *is_wanted, Settings *settings,
                                 int *ret_unopened) {
        Reading reading = {
                .arena = arena, .sources = sources, .is_wanted = is_wanted, .settings = settings};
        ReaderPlace place = {.path = path};

        if (regcomp(&reading.pattern, line_pattern, REG_EXTENDED) != 0)
                memory_end();
        const char *wrong = read_file(&reading, &place, ret_unopened ? ret_unopened : &(int){0});

        regfree(&reading.pattern);
        return wrong ? wrong : reading.unread;
}
