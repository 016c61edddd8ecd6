/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Variables that shell scripts set, as far as no shell is needed. */

#include "engines/jvm/jvm.h"
#include "read/unit_file.h"
#include "support/sources.h"
#include "support/story.h"

static JvmScript read(Arena *arena, const char *text) {
        const TestFile files[] = {
                {"/s.sh", text},
                {"/etc/default/app", "MORE=from-file\n"},
                {"/etc/systemd/system/app.service",
                 "[Service]\nEnvironment=HOME_OF=/opt/app GIVEN=1g\n"},
        };
        const Sources *sources = test_sources(arena, files, ARRAY_LEN(files));
        const UnitFile *unit = unit_file_read(arena, sources, "app.service");
        JvmScript script = {
                .arena = arena, .sources = sources, .variables = unit_file_variables(unit)};

        assert_int_equal(jvm_script_read(&script, "/s.sh"), 0);
        return script;
}

PLAIN_VERB(do_script, "script") {
        JvmScript script = read(line->arena, story_unescape(line->arena, line->rest));
        Text text = text_in(line->arena);

        VEC_FOREACH(conditional, &script.conditional)
                text_printf(&text, "!%s", conditional->value);
        text_add(&text, jvm_script_find(&script, "X")->value);
        return text_string(&text);
}

STORY_TEST(assignments, "unit/engines/jvm/script")

TEST(origins) {
        JvmScript script = read(arena, "A=1\nX=\"a\nb\"\nY=1\n");

        assert_text(jvm_script_find(&script, "X")->origin, "/s.sh:2");
        assert_text(jvm_script_find(&script, "Y")->origin, "/s.sh:4");
        assert_int_equal(jvm_script_read(&script, "/none"), -ENOENT);
}

/* A variable that doubles with each line, and a file that sources itself. */
TEST(too_much) {
        Text text = text_in(arena);

        text_add(&text, "X=0123456789\n");
        for (int i = 0; i < 1000; i++)
                text_add(&text, "X=\"$X$X\"\n");
        JvmScript script = read(arena, text.string);

        assert_true(strlen(jvm_script_find(&script, "X")->value) < 1 << 20);
        text = text_in(arena);
        for (int i = 0; i < 60000; i++)
                text_printf(&text, "V%d=$W%d\n", i, i);
        script = read(arena, text.string);
        assert_true(script.is_cut);
        script = read(arena, "X=1\n");
        assert_false(script.is_cut);
        script = read(arena, "X=\"$X+\"\n. /s.sh\n");
        assert_text(jvm_script_find(&script, "X")->value, "++++++++");
        assert_true(script.is_cut);
}
