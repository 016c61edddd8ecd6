/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "base/table.h"
#include "support/testing.h"

static char *print(Arena *arena, const Table *table, const char *indent, bool colored) {
        Text text = text_in(arena);

        table_print(table, &text, indent, colored);
        return text.string;
}

TEST(alignment) {
        Table *table = table_new(arena, "NAME|>N|X");

        table_add(table, "a");
        table_printf(table, "%d", 1234);
        table_add(table, "yes");
        table_add(table, "longer name");
        table_add(table, "5");
        table_add(table, NULL);
        assert_int_equal(table_rows(table), 2);
        assert_text(print(arena, table, "  ", false), "  NAME            N  X\n"
                                                      "  a            1234  yes\n"
                                                      "  longer name     5  -\n");
}

TEST(no_trailing_blanks) {
        Table *table = table_new(arena, "A|LONG TITLE");

        table_add(table, "a");
        table_add(table, "");
        table_add(table, "");
        table_add(table, "");
        assert_text(print(arena, table, "", false), "A  LONG TITLE\na\n\n");
}

TEST(columns_not_bytes) {
        Table *table = table_new(arena, ">A|B");

        table_add(table, "\xC3\xA4\xC3\xB6"); /* two columns in four bytes */
        table_add(table, "x");
        table_add(table, "abc");
        table_add(table, "y");
        assert_text(print(arena, table, "", false), "  A  B\n"
                                                    " \xC3\xA4\xC3\xB6  x\n"
                                                    "abc  y\n");
}

/* Colours take no columns. */
TEST(colors) {
        Table *table = table_new(arena, "A|B");

        table_add_colored(table, "red", "\033[31m");
        table_add(table, "x");
        assert_text(print(arena, table, "", true), "\033[1;4mA\033[0m    \033[1;4mB\033[0m\n"
                                                   "\033[31mred\033[0m  x\n");
        assert_text(print(arena, table, "", false), "A    B\nred  x\n");
}
