/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Options of Java. The first byte is the kind of the rest: 'l' a file with one option on each line, 'a' an argument file,
 * 'v' a variable, 's' a shell script.
 *
 * Conditions: the function returns, and settings are bounded, valid UTF-8, and have an origin. */

#include "base/text.h"
#include "engines/jvm/jvm.h"
#include "fuzz/fuzz.h"
#include "support/sources.h"

static void check_settings(const Settings *settings) {
        VEC_FOREACH(setting, settings) {
                size_t length = strlen(setting->value);

                require(setting->name && setting->origin);
                require(length <= 64 && text_is_utf8(setting->value, length));
        }
}

static void check_options(Arena *arena, const JvmOptions *options) {
        Settings settings = {};

        VEC_FOREACH(option, options)
                require(*option->text == '-' && option->origin);
        jvm_options_settings(arena, options, &settings);
        check_settings(&settings);
}

static void read_script(Arena *arena, const char *string) {
        const TestFile file = {"/s", string};
        JvmScript script = {.arena = arena, .sources = test_sources(arena, &file, 1)};
        JvmOptions options = {};

        jvm_script_read(&script, "/s");
        VEC_FOREACH(variable, &script.variables)
                jvm_options_read_variable(arena, variable->value, variable->origin, &options);
        check_options(arena, &options);
}

FUZZ(arena, data, size) {
        const char *string = size > 0 ? arena_strndup(arena, (const char *) data + 1, size - 1)
                                      : "";
        const SourceText text = {.text = string, .size = strlen(string)};
        Diags problems = diags_in(arena);
        JvmOptions options = {};

        switch (size > 0 ? *data : '\0') {
        case 's':
                read_script(arena, string);
                break;
        case 'a':
                jvm_options_read_arguments(arena, &text, "/f", &options);
                break;
        case 'v':
                jvm_options_read_variable(arena, string, "/f:1", &options);
                break;
        case 'l':
                for (uint64_t major = 0; major < 30; major += 8)
                        jvm_options_read_lines(arena, &text, "/f", major, &options, &problems);
                break;
        }
        check_options(arena, &options);
}
