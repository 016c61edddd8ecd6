/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Values and comments of drop-ins below /etc/hugeplan.d: the one form in which all that write them do (what was
 * learned and seen, import), and that config_file.c reads.
 *
 * A value stands as it is, or between double quotes, where \" and \\ stand for these two. */

#include "base/text.h"

/* A path of PATH_MAX bytes fits, with each of them escaped. */
enum { CONFIG_LINE_BYTES_MAX = 8300 };

/* Of what stands behind the equals sign, without whitespace around it. NULL, or what is wrong with it and what to
 * write instead. */
const char *config_value_read(Arena *arena, const char *written, const char **ret,
                              const char **ret_remedy);

/* ---- writing: config_write.c ---- */

/* Adds the line KEY=VALUE, in quotes where the value needs them; none for NULL. What is read is VALUE again, but
 * for what text_printable() replaces. At most PATH_MAX bytes are read back. */
void config_add_value(Text *text, const char *key, const char *value);

/* Adds a comment of as many lines as it takes; whatever the text holds, it stays one. */
void config_add_comment(Text *text, const char *format, ...) PRINTF_LIKE(2, 3);
