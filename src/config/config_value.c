/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config/config_value.h"

#include <string.h>

static bool is_comment_behind(const char *value, char comment) {
        for (const char *at = strchr(value, comment); at; at = strchr(at + 1, comment))
                if (at > value && (at[-1] == ' ' || at[-1] == '\t'))
                        return true;
        return false;
}

/* Returns NULL if VALUE is read unchanged without quotes. */
static const char *check_plain(const char *value, const char **ret_remedy) {
        *ret_remedy = "put the comment on a line of its own, or the value in double quotes";
        if (is_comment_behind(value, ';') || is_comment_behind(value, '#'))
                return "a comment after the value would become part of it";
        *ret_remedy = "repeat the key to continue a list on a line of its own";
        return text_ends_with(value, "\\") ? "a backslash does not continue the line" : NULL;
}

static const char *read_quoted(Arena *arena, const char *at, const char **ret,
                               const char **ret_remedy) {
        Text value = text_in(arena);

        *ret_remedy = "write the value without quotes, or as \"VALUE\", with \\\" for a quote and "
                      "\\\\ for a backslash within it";
        while (*++at != '"') {
                if (*at == '\\' && *++at != '"' && *at != '\\')
                        return "between double quotes a backslash may only precede \" or \\";
                if (!*at)
                        return "the closing quote is missing";
                text_add_n(&value, at, 1);
        }
        *ret = text_string(&value);
        return at[1] ? "there is text after the closing quote" : NULL;
}

const char *config_value_read(Arena *arena, const char *written, const char **ret,
                              const char **ret_remedy) {
        if (*written == '"')
                return read_quoted(arena, written, ret, ret_remedy);
        *ret = written;
        return check_plain(written, ret_remedy);
}
