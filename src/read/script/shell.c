/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "read/script/shell.h"

#include <ctype.h>
#include <string.h>

size_t shell_name_length(const char *at) {
        size_t n = 0;

        while (isalnum((unsigned char) at[n]) || at[n] == '_')
                n++;
        return text_is_digit(*at) ? 0 : n;
}

bool shell_is_known(const char *word) {
        return word && !strstr(word, SHELL_UNKNOWN);
}

/* ---- lines ---- */

/* Whether LINE, before which the quote *QUOTE was open, leaves one open, or a backslash takes its end. */
static bool goes_on(const char *line, char *quote) {
        for (const char *at = line; *at; at++) {
                if (*at == '\\' && *quote != '\'') {
                        if (!*++at)
                                return true;
                } else if (*quote ? *at == *quote : *at == '"' || *at == '\'') {
                        *quote = *quote ? '\0' : *at;
                } else if (!*quote && *at == '#' && (at == line || strchr(" \t", at[-1]))) {
                        return false;
                }
        }
        return *quote != '\0';
}

const char *shell_take_line(Arena *arena, SourceLines *lines, bool quotes_go_on,
                            unsigned *ret_number) {
        const char *line = source_line(arena, lines);
        Text text = text_in(arena);
        char quote = '\0';

        *ret_number = lines->number;
        if (!line)
                return NULL;
        for (; line; line = source_line(arena, lines)) {
                bool is_cut = text_ends_with(line, "\\");

                text_add_n(&text, line, strlen(line) - is_cut);
                if (!(quotes_go_on ? goes_on(line, &quote) : is_cut))
                        break;
                text_add(&text, is_cut ? "" : "\n");
        }
        return text_string(&text);
}

/* ---- words ---- */

/* Behind "$(": up to the parenthesis that closes it. */
static const char *skip_parentheses(const char *at) {
        for (unsigned n_open = 1; *at && n_open > 0; at++)
                n_open = *at == '(' ? n_open + 1 : *at == ')' ? n_open - 1 : n_open;
        return at;
}

/* Behind a quote: what stands up to the next one, which *AT is moved behind. */
static size_t take_quoted(const char **at, const char *quote) {
        size_t length = strcspn(*at, quote);

        *at += length + ((*at)[length] != '\0');
        return length;
}

/* NAME and what stands between it and END, in braces. */
/* Behind "$". */
static const char *take_variable(const ShellWords *words, const char *at, Text *word) {
        bool is_braced = *at == '{';
        const char *name = at + is_braced;
        size_t length = text_is_digit(*name) ? 1 : shell_name_length(name);
        const char *end = name + length + (is_braced ? strcspn(name + length, "}") : 0);
        const char *value = NULL;

        if (length > 0 && (!is_braced || *end))
                value = words->value(words->userdata, arena_strndup(words->arena, name, length),
                                     arena_strdup_to(words->arena, name + length, end));
        if (value && word->length + strlen(value) < words->bytes_max)
                text_add(word, value);
        else
                text_add(word, SHELL_UNKNOWN);
        if (*at == '(')
                return skip_parentheses(at + 1);
        if (length == 0 && !is_braced) /* $?, $#, $@ */
                return end + (*end && strchr("?#@*!$-", *end));
        return end + (is_braced && *end);
}

const char *shell_take_word(const ShellWords *words, const char **at) {
        Text word = text_in(words->arena);
        const char *c = *at;
        bool is_quoted = false;

        while (*c && (is_quoted || !strchr(words->ends, *c))) {
                const char *begin = ++c;

                switch (c[-1]) {
                case '"':
                        is_quoted = !is_quoted;
                        break;
                case '\'':
                        if (is_quoted)
                                text_add(&word, "'");
                        else
                                text_add_n(&word, begin, take_quoted(&c, "'"));
                        break;
                case '`':
                        take_quoted(&c, "`");
                        text_add(&word, SHELL_UNKNOWN);
                        break;
                case '$':
                        c = take_variable(words, c, &word);
                        break;
                default:
                        c += c[-1] == '\\' && *c;
                        text_add_n(&word, c - 1, 1);
                }
        }
        *at = c;
        return text_string(&word);
}
