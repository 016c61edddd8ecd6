/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/postgresql/postgresql_value.h"

#include "base/text.h"

#include <errno.h>
#include <string.h>

enum { VALUE_BYTES_MAX = 4096 };

const char *postgresql_read_fault(Arena *arena, int error) {
        const char *text = strerror(-error);

        if (error == -EFBIG)
                text = "it is larger than 1M, which no configuration is";
        if (error == -E2BIG)
                text = "all files together are larger than 16M, which no configuration is";
        if (error == -EINVAL)
                text = "it is no regular file";
        return arena_printf(arena, "cannot be read: %s", text);
}

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
