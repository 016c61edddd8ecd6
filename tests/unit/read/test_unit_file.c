/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Unit files that are too large. All others are in unit_file.stories and commands.stories. */

#include "read/unit_file.h"
#include "support/sources.h"
#include "support/testing.h"

static const char *value_of(const UnitFile *unit, const char *key) {
        const UnitAssignment *found = unit_file_find(unit, "Service", key);

        return found ? found->value : NULL;
}

static char *repeat(Arena *arena, const char *string, size_t n) {
        Text text = text_in(arena);

        for (size_t i = 0; i < n; i++)
                text_add(&text, string);
        return text.string;
}

TEST(bounds) {
        const Sources *sources = TEST_SOURCES(
                arena,
                {"/etc/systemd/system/a@.service",
                 arena_printf(arena,
                              "[Service]\nLine=%s\nMany=%s\nFew=%s\nEnvironment=\"X=%s\"\n%s",
                              repeat(arena, "x", 70000), repeat(arena, "%n", 20000),
                              repeat(arena, "%n", 10), repeat(arena, "a ", 30000),
                              repeat(arena, "K=%n%n%n%n%n%n%n%n\n", 20000))});
        const char *name = arena_printf(arena, "a@%s.service", repeat(arena, "x", 240));
        UnitFile *unit = unit_file_read(arena, sources, name);
        size_t bytes = 0;

        assert_null(value_of(unit, "Line"));
        assert_null(value_of(unit, "Many"));
        assert_int_equal(strlen(value_of(unit, "Few")), 10 * strlen(name));
        VEC_FOREACH(assignment, &unit->assignments)
                bytes += strlen(assignment->value);
        assert_true(bytes <= 1 << 20);
        assert_int_equal(unit_file_command(unit, arena_printf(arena, "/bin/x %s",
                                                              repeat(arena, "$X ", 20000)))
                                 .n,
                         0);
        assert_int_equal(unit_file_command(unit, arena_printf(arena, "/bin/x %s",
                                                              repeat(arena, "${X}", 15000)))
                                 .n,
                         0);
        assert_null(
                unit_file_read(arena, sources, repeat(arena, "a@x.service", 30))->fragment_path);
        unit_file_read(arena, sources,
                       arena_printf(arena, "%s@x.service", repeat(arena, "a-", 120)));
}
