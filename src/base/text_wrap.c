/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Text as only hugeplanctl writes it: in sentences, and in lines that fit the terminal. */
#include "base/text.h"

#include <string.h>

void text_add_word(Text *text, const char *word) {
        if (word)
                text_printf(text, "%s%s", text->length > 0 ? " " : "", word);
}

char *text_without_slashes(Arena *arena, const char *path) {
        size_t length = strlen(path);

        while (length > 1 && path[length - 1] == '/')
                length--;
        return arena_strndup(arena, path, length);
}

char *text_quote(Arena *arena, const char *whose, const char *words) {
        char *quoted = text_excerpt(arena, words, QUOTE_BYTES_MAX);

        for (char *at = quoted; (at = strchr(at, '"'));)
                *at = '\'';
        return arena_printf(arena, "%s: \"%s\"", whose, quoted);
}

void text_add_wrapped(Text *text, const char *first, const char *indent, const char *paragraph,
                      size_t width) {
        size_t indent_width = text_width(indent);
        bool at_start = true;

        text_add(text, first);
        const char *newline = strrchr(text->string, '\n');
        size_t column = 0;

        /* Count the columns of the current line; colour escape sequences take none. */
        for (const char *at = newline ? newline + 1 : text->string; *at; at++)
                if (*at == '\033')
                        at += strcspn(at, "m");
                else if (((unsigned char) *at & 0xC0) != 0x80)
                        column++;
        TEXT_FOREACH(word, text->arena, paragraph, " ") {
                size_t word_width = text_width(word);

                if (!at_start && column + 1 + word_width > width) {
                        text_add(text, "\n");
                        text_add(text, indent);
                        column = indent_width;
                        at_start = true;
                }
                if (!at_start) {
                        text_add(text, " ");
                        column++;
                }
                text_add(text, word);
                column += word_width;
                at_start = false;
        }
        text_add(text, "\n");
}

size_t text_width(const char *string) {
        size_t width = 0;

        for (; *string; string++)
                if (((unsigned char) *string & 0xC0) != 0x80)
                        width++;
        return width;
}

void text_repeat(Text *text, char byte, size_t n) {
        char bytes[64];

        memset(bytes, byte, sizeof(bytes));
        for (; n > 0; n -= MIN(n, sizeof(bytes)))
                text_add_n(text, bytes, MIN(n, sizeof(bytes)));
}
