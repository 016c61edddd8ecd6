/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config/config_value.h"

#include <string.h>

/* Returns whether VALUE would be read differently without quotes. */
static bool needs_quotes(Arena *arena, const char *value) {
        const char *read, *remedy;

        return *value == '"' || config_value_read(arena, value, &read, &remedy) ||
               !text_equals(text_strip(arena, value), value);
}

void config_add_value(Text *text, const char *key, const char *value) {
        if (!value)
                return;
        value = text_printable(text->arena, value);
        bool is_quoted = needs_quotes(text->arena, value);

        text_printf(text, "%s=%s", key, is_quoted ? "\"" : "");
        for (; *value; value++) {
                if (is_quoted && strchr("\"\\", *value))
                        text_add(text, "\\");
                text_add_n(text, value, 1);
        }
        text_add(text, is_quoted ? "\"\n" : "\n");
}
