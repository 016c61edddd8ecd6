/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config/config_value.h"

#include <string.h>

void config_add_value(Text *text, const char *key, const char *value) {
        const char *read, *remedy;

        if (!value)
                return;
        value = text_printable(text->arena, value);
        /* Without quotes it would be read differently. */
        bool is_quoted = *value == '"' || config_value_read(text->arena, value, &read, &remedy) ||
                         !text_equals(text_strip(text->arena, value), value);

        text_printf(text, "%s=%s", key, is_quoted ? "\"" : "");
        for (; *value; value++) {
                if (is_quoted && strchr("\"\\", *value))
                        text_add(text, "\\");
                text_add_n(text, value, 1);
        }
        text_add(text, is_quoted ? "\"\n" : "\n");
}
