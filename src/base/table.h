/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Tables for people: aligned columns, a header, two spaces between columns, no trailing whitespace. */

#include "base/text.h"

typedef struct Table Table;

/* Returns a table in ARENA with these columns, "NAME|>PAGES|>": a column with a leading ">" is right-aligned. */
Table *table_new(Arena *arena, const char *columns);

/* Add the next cell of the current row, which must outlive the table; a new row begins when the last one is full. COLOR
 * is an escape sequence put around the cell if the table is printed in colour, or NULL. */
void table_add(Table *table, const char *cell);
void table_add_colored(Table *table, const char *cell, const char *color);
void table_printf(Table *table, const char *format, ...) PRINTF_LIKE(2, 3);

size_t table_rows(const Table *table);

/* Appends the table to TEXT, with INDENT before every line. */
void table_print(const Table *table, Text *text, const char *indent, bool colored);
