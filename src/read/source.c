/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "read/source.h"

#include "base/text.h"

bool source_names_have(const SourceNames *names, const char *name) {
        return VEC_FIND(each, names, text_equals(*each, name));
}

SourceLines source_lines(const SourceText *text) {
        return (SourceLines){text->text, text->text ? text->text + text->size : NULL, 0};
}

char *source_line(Arena *arena, SourceLines *lines) {
        if (lines->at == lines->end)
                return NULL;
        size_t length = (size_t) (lines->end - lines->at);
        const char *newline = memchr(lines->at, '\n', length);
        const char *line = lines->at;

        if (newline)
                length = (size_t) (newline - line);
        lines->at += newline ? length + 1 : length;
        lines->number++;
        if (length > 0 && line[length - 1] == '\r')
                length--;
        return arena_strndup(arena, line, length);
}
