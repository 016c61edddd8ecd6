/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The output of --output=: the values of the JSON, with the same names. */
#include "base/table.h"
#include "base/text.h"
#include "ctl/observe/observe.h"

#include <stdio.h>
#include <string.h>

static const char *cell_of(Arena *arena, const json_t *value) {
        Text text = text_in(arena);
        const json_t *item;
        size_t i;

        if (json_is_string(value))
                return json_string_value(value);
        if (json_is_boolean(value))
                return json_is_true(value) ? "true" : "false";
        if (json_is_integer(value))
                return arena_printf(arena, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        json_array_foreach(value, i, item) {
                const json_t *node = json_object_get(item, "node");

                text_add_word(&text,
                              node ? arena_printf(arena, "%s:%s", cell_of(arena, node),
                                                  cell_of(arena, json_object_get(item, "pages")))
                                   : cell_of(arena, item));
        }
        return text.string;
}

static void add_csv(Text *text, const char *cell) {
        if (!cell || !strpbrk(cell, ",\"\r\n")) {
                text_add(text, cell ? cell : "");
                return;
        }
        text_add(text, "\"");
        for (; *cell; cell++)
                text_repeat(text, *cell, *cell == '"' ? 2 : 1);
        text_add(text, "\"");
}

/* ROW is NULL for the header. */
static void add_row(Text *csv, Table *table, const json_t *row, const char *columns) {
        const char *column, *separator = "";

        while ((column = text_next_word(csv->arena, &columns, "|"))) {
                column += *column == '>';
                const char *cell = row ? cell_of(csv->arena, json_object_get(row, column)) : column;

                if (row)
                        table_add(table, cell);
                text_add(csv, separator);
                add_csv(csv, cell);
                separator = ",";
        }
        text_add(csv, "\n");
}

void print_columns(const Command *command, json_t *rows, const char *columns) {
        Table *table = table_new(command->arena, columns);
        Text csv = text_in(command->arena), text = text_in(command->arena);
        const json_t *row;
        size_t i;

        add_row(&csv, table, NULL, columns);
        json_array_foreach(rows, i, row)
                add_row(&csv, table, row, columns);
        table_print(table, &text, "", false);
        fputs(command->output == OUTPUT_CSV ? csv.string : text.string, stdout);
        json_decref(rows);
}
