/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/table.h"

#include "base/vec.h"

typedef struct Cell {
        const char *text;
        const char *color;
        size_t width;
} Cell;

typedef struct Column {
        bool is_right;
        size_t width;
} Column;

struct Table {
        Arena *arena;
        VEC(Column) columns;
        VEC(Cell) cells; /* the first row has the titles */
};

static const char color_header[] = "\033[1;4m";
static const char color_reset[] = "\033[0m";

Table *table_new(Arena *arena, const char *columns) {
        Table *table = ARENA_NEW(arena, Table);

        table->arena = arena;
        TEXT_FOREACH(title, arena, columns, "|") {
                bool is_right = *title == '>';

                *vec_push(arena, &table->columns) = (Column){is_right, 0};
                table_add_colored(table, title + is_right, color_header);
        }
        return table;
}

void table_add_colored(Table *table, const char *cell, const char *color) {
        Column *column = &table->columns.items[table->cells.n % table->columns.n];
        const char *text = cell ? cell : "-";
        size_t width = text_width(text);

        *vec_push(table->arena, &table->cells) = (Cell){text, color, width};
        column->width = MAX(column->width, width);
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
        return table->cells.n / table->columns.n - 1;
}

void table_print(const Table *table, Text *text, const char *indent, bool colored) {
        for (size_t row = 0; row <= table_rows(table); row++) {
                text_add(text, indent);
                for (size_t i = 0; i < table->columns.n; i++) {
                        const Column *column = &table->columns.items[i];
                        const Cell *cell = &table->cells.items[row * table->columns.n + i];
                        size_t padding = column->width - cell->width;

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
