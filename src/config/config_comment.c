/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config/config_value.h"

enum { COMMENT_COLUMNS = 88 };

void config_add_comment(Text *text, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        text_add_wrapped(text, "# ", "#   ",
                         text_printable(text->arena, arena_vprintf(text->arena, format, arguments)),
                         COMMENT_COLUMNS);
        va_end(arguments);
}
