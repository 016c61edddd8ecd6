/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/table.h"

#include "base/vec.h"

typedef struct Cell {
        const char *text;
        const char *color;
} Cell;

typedef struct Column {
        const char *title;
        bool is_right;
} Column;

struct Table {
        Arena *arena;
        VEC(Column) columns;
        VEC(Cell) cells;
};

static const char color_header[] = "\033[1;4m";
static const char color_reset[] = "\033[0m";

Table *table_new(Arena *arena, const char *columns) {
        Table *table = ARENA_NEW(arena, Table);

        table->arena = arena;
        TEXT_FOREACH(title, arena, columns, "|")
                *vec_push(arena, &table->columns) =
                        (Column){title + (*title == '>'), *title == '>'};
        return table;
}

void table_add_colored(Table *table, const char *cell, const char *color) {
        *vec_push(table->arena, &table->cells) = (Cell){
                .text = arena_strdup(table->arena, cell ? cell : "-"),
                .color = color,
        };
}

void table_add(Table *table, const char *cell) {
        table_add_colored(table, cell, NULL);
}

void table_printf(Table *table, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        table_add(table, arena_vprintf(table->arena, format, arguments));
        va_end(arguments);
}

size_t table_rows(const Table *table) {
        return table->cells.n / table->columns.n;
}

void table_print(const Table *table, Text *text, const char *indent, bool colored) {
        size_t *widths = ARENA_ARRAY(table->arena, size_t, table->columns.n);
        size_t n_rows = table_rows(table);

        for (size_t column = 0; column < table->columns.n; column++) {
                size_t width = text_width(table->columns.items[column].title);

                for (size_t i = column; i < table->cells.n; i += table->columns.n)
                        width = MAX(width, text_width(table->cells.items[i].text));
                widths[column] = width;
        }
        for (size_t row = 0; row <= n_rows; row++) {
                text_add(text, indent);
                for (size_t i = 0; i < table->columns.n; i++) {
                        const Column *column = &table->columns.items[i];
                        const Cell header = {column->title, color_header};
                        const Cell *cell =
                                row == 0 ? &header
                                         : &table->cells.items[(row - 1) * table->columns.n + i];
                        size_t padding = widths[i] - text_width(cell->text);

                        if (column->is_right)
                                text_repeat(text, ' ', padding);
                        if (colored && cell->color)
                                text_printf(text, "%s%s%s", cell->color, cell->text, color_reset);
                        else
                                text_add(text, cell->text);
                        text_repeat(text, ' ', 2 + (column->is_right ? 0 : padding));
                }
                while (text->length > 0 && text->string[text->length - 1] == ' ')
                        text->string[--text->length] = '\0';
                text_add(text, "\n");
        }
}
