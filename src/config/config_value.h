/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The syntax of values and comments of drop-ins below /etc/hugeplan.d, which config_file.c reads and all writers
 * (learned and seen figures, import) use.
 *
 * A value is written as it is, or between double quotes, where \" and \\ stand for a quote and a backslash. */

#include "base/text.h"

/* A path of PATH_MAX bytes fits even if each byte is escaped. */
enum { CONFIG_LINE_BYTES_MAX = 8300 };

/* Reads WRITTEN, the text after the equals sign without surrounding whitespace. Returns NULL and sets *ret, or returns
 * what is wrong and sets *ret_remedy. */
const char *config_value_read(Arena *arena, const char *written, const char **ret,
                              const char **ret_remedy);

/* ---- writing: config_write.c, config_comment.c ---- */

/* Adds the line KEY=VALUE, in quotes if VALUE needs them; adds nothing if VALUE is NULL. Reading the line gives VALUE
 * again, up to PATH_MAX bytes and except for bytes that text_printable() replaces. */
void config_add_value(Text *text, const char *key, const char *value);

/* Adds a comment of as many lines as needed; no text can end the comment. */
void config_add_comment(Text *text, const char *format, ...) PRINTF_LIKE(2, 3);
