/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "read/shell_words.h"

#include "base/text.h"

#include <ctype.h>
#include <string.h>

/* A limit, because a variable may include itself repeatedly. */
enum { WORD_BYTES_MAX = 16 << 10 };

size_t shell_name_length(const char *at) {
        size_t n = 0;

        while (isalnum((unsigned char) at[n]) || at[n] == '_')
                n++;
        return text_is_digit(*at) ? 0 : n;
}

/* Adds the value of NAME, {NAME} or {NAME:-TEXT} after a "$". Returns its end. */
static const char *add_variable(Text *word, const char *at, const Variables *variables) {
        bool is_braced = *at == '{';
        const char *name = at + is_braced;
        const char *more = name + shell_name_length(name);
        const char *end = more + (is_braced ? strcspn(more, "}") : 0);

        if (more > name && (!is_braced || *end)) {
                const char *wanted = arena_strdup_to(word->arena, name, more);
                const Variable *variable =
                        VEC_FIND(each, variables, text_equals(each->name, wanted));

                more += is_braced ? strspn(more, ":-=") : 0;
                const char *value = variable && *variable->value
                                            ? variable->value
                                            : arena_strdup_to(word->arena, more, end);
                bool fits = word->length + strlen(value) < WORD_BYTES_MAX;

                text_add(word, fits ? value : SHELL_UNKNOWN);
                return end + is_braced;
        }
        text_add(word, SHELL_UNKNOWN);
        if (*at == '(') { /* up to the parenthesis that closes it */
                unsigned n_open = 1;

                for (at++; *at && n_open > 0; at++)
                        n_open = *at == '(' ? n_open + 1 : *at == ')' ? n_open - 1 : n_open;
                return at;
        }
        if (is_braced)
                return end + (*end != '\0');
        return at + (*at && strchr("?#@*!$-0123456789", *at));
}

const char *shell_take_word(Arena *arena, const char **at, const char *ends,
                            const Variables *variables) {
        Text word = text_in(arena);
        const char *c = *at;
        char quote = '\0';

        while (*c && (quote || !strchr(ends, *c))) {
                bool is_plain = quote == '\'', is_filled = variables && !is_plain;
                const char *begin = c++;

                if (quote ? *begin == quote : *begin == '"' || *begin == '\'') {
                        quote = quote ? '\0' : *begin;
                } else if (*begin == '\\' && !is_plain && *c) {
                        text_add(&word, quote && !strchr("\"\\$`\n", *c) ? "\\" : "");
                        text_add_n(&word, c, *c != '\n');
                        c++;
                } else if (*begin == '$' && is_filled) {
                        c = add_variable(&word, c, variables);
                } else if (*begin == '`' && is_filled) {
                        c += strcspn(c, "`");
                        c += *c != '\0';
                        text_add(&word, SHELL_UNKNOWN);
                } else {
                        text_add_n(&word, begin, 1);
                }
        }
        *at = c;
        return text_string(&word);
}
