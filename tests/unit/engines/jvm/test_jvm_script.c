/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What shell scripts set, as far as that is plain. */

#include "engines/jvm/jvm.h"
#include "read/unit_file.h"
#include "support/sources.h"
#include "support/testing.h"

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

/* The value of X behind the script; "!" before it where it is set under a condition. */
TEST(assignments) {
        static const struct {
                const char *text, *value;
        } rows[] = {
                {"X=-Xmx1g\n", "-Xmx1g"},
                {"export X='-Xmx1g $A'   # more\n", "-Xmx1g $A"},
                {"X=\"a \\\"b\\\"\"\nX=\"$X c\"\n", "a \"b\" c"},
                {"X=\"a \\\n  b\nc\"\n", "a   b\nc"},
                {"X=-Xm\\\nx1g\n", "-Xmx1g"},
                {"# X=\"open\nX=1\n", "1"},
                {"A=2\nX=-Xmx${A}g; Y=3\n", "-Xmx2g"},
                {"X=a\nX+=\" b\"\n", "a b"},
                {"X=$GIVEN:$HOME_OF:$NONE:${NONE:-d}\n", "1g:/opt/app::d"},
                {"X=a$(expr 1 + $(f))b`date`c\n", "a" SHELL_UNKNOWN "b" SHELL_UNKNOWN "c"},
                {"X=$1\n", SHELL_UNKNOWN},
                {". /etc/default/app\nX=$MORE\n", "from-file"},
                {"NAME=app\n[ -r /etc/default/$NAME ] && . /etc/default/$NAME\nX=$MORE\n",
                 "from-file"},
                {". /none\nX=1\n", "1"},
                /* What is set where nothing was. */
                {"if [ -z \"$X\" ]; then\n  X=1\n  X=2\nfi\n", "2"},
                {"X=1\nif [ \"x$X\" = \"x\" ]\nthen\n  X=3\nfi\n", "1"},
                {"if [ -z \"$X\" ]; then X=1; fi\nY=2\n", ""},
                {"if [ -z \"$X\" ]; then\n if [ -f /x ]; then\n  :\n fi\n X=1\nfi\n", "1"},
                /* What only a shell knows. */
                {"if [ -f /x ]; then\n  X=\"1 $GIVEN\"\nfi\n", "!1 "},
                {"if [ ! -z \"$X\" ]; then\nX=1\nfi\n", "!1"},
                {"if [ -z \"$X\" -a -f /x ]; then\nX=1\nfi\n", "!1"},
                {"if [ -z \"$X\" ]; then\n:\nelif true; then\nX=1\nfi\n", "!1"},
                {"if [ -z \"$X\" ]; then\n  X=1\nelse\n  X=3\nfi\n", "!31"},
                {"if [ -z \"$NONE\" ]; then\n  X=1\nfi\n", "!1"},
                {"case $1 in\n a)\n X=1 ;;\nesac\n", "!1"},
                {"f() {\n X=1\n}\n", "!1"},
                {"f()\n{\n X=1\n}\nX=2\n", "!12"},
                {"for a in b; do\nX=1\ndone\nX=2\n", "!12"},
                {"fi\ndone\n}\nelse\nX=1\n", "1"},
                {"X=\"never closed\n", "never closed\n"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                JvmScript script = read(arena, rows[i].text);
                Text text = text_in(arena);

                VEC_FOREACH(conditional, &script.conditional)
                        text_printf(&text, "!%s", conditional->value);
                text_add(&text, jvm_script_find(&script, "X")->value);
                assert_text(text_string(&text), rows[i].value);
        }
}

TEST(origins) {
        JvmScript script = read(arena, "A=1\nX=\"a\nb\"\nY=1\n");

        assert_text(jvm_script_find(&script, "X")->origin, "/s.sh:2");
        assert_text(jvm_script_find(&script, "Y")->origin, "/s.sh:4");
        assert_int_equal(jvm_script_read(&script, "/none"), -ENOENT);
}

/* A variable that doubles with each line, and a file that reads itself. */
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
