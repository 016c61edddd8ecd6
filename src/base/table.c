/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/table.h"

#include "base/vec.h"

typedef struct Cell {
        const char *text;
        const char *color;
} Cell;

struct Table {
        Arena *arena;
        const TableColumn *columns;
        size_t n_columns;
        VEC(Cell) cells;
};

static const char color_header[] = "\033[1;4m";
static const char color_reset[] = "\033[0m";

Table *table_new(Arena *arena, const TableColumn *columns, size_t n) {
        Table *table = ARENA_NEW(arena, Table);

        table->arena = arena;
        table->columns = columns;
        table->n_columns = n;
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
        return table->cells.n / table->n_columns;
}

static void print_cell(Text *text, const Cell *cell, const TableColumn *column, size_t width,
                       bool is_last, bool colored) {
        size_t padding = width - text_width(cell->text);

        if (column->align == TABLE_RIGHT)
                text_repeat(text, ' ', padding);
        if (colored && cell->color)
                text_printf(text, "%s%s%s", cell->color, cell->text, color_reset);
        else
                text_add(text, cell->text);
        if (is_last)
                return;
        if (column->align == TABLE_LEFT)
                text_repeat(text, ' ', padding);
        text_add(text, "  ");
}

void table_print(const Table *table, Text *text, const char *indent, bool colored) {
        size_t *widths = ARENA_ARRAY(table->arena, size_t, table->n_columns);
        size_t n_rows = table_rows(table);

        for (size_t column = 0; column < table->n_columns; column++) {
                size_t width = text_width(table->columns[column].title);

                for (size_t i = column; i < table->cells.n; i += table->n_columns)
                        width = MAX(width, text_width(table->cells.items[i].text));
                widths[column] = width;
        }
        for (size_t row = 0; row <= n_rows; row++) {
                text_add(text, indent);
                for (size_t column = 0; column < table->n_columns; column++) {
                        Cell header = {table->columns[column].title, color_header};
                        const Cell *cell =
                                row == 0
                                        ? &header
                                        : &table->cells.items[(row - 1) * table->n_columns + column];

                        print_cell(text, cell, &table->columns[column], widths[column],
                                   column + 1 == table->n_columns, colored);
                }
                while (text->length > 0 && text->string[text->length - 1] == ' ')
                        text->string[--text->length] = '\0';
                text_add(text, "\n");
        }
}
