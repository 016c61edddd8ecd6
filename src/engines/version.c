/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/version.h"

#include "base/text.h"
#include "read/unit_file.h"

#include <string.h>

enum { VERSION_LENGTH_MAX = 32 };

/* The program that the unit starts, where it is called NAME. */
static void add_program_of_unit(Arena *arena, const char *unit_name, const Sources *sources,
                                const char *name, SourceNames *programs) {
        const UnitFile *unit = unit_file_read(arena, sources, unit_name);
        const SourceNames words = unit_file_start(arena, unit, sources);

        if (words.n > 0 && *words.items[0] == '/' &&
            text_ends_with(words.items[0], arena_printf(arena, "/%s", name)))
                *vec_push(arena, programs) = words.items[0];
}

void version_ask(Arena *arena, const Engine *engine, const EngineTarget *target,
                 const Sources *sources, const Gathered *gathered, Question *ret) {
        static const char *const directories[] = {"/usr/bin", "/usr/local/bin", "/usr/sbin",
                                                  "/usr/libexec"};
        const EngineReader *reader = engine_reader(engine);
        const char *names = reader->version_programs, *name;

        *ret = (Question){.user = QUESTION_ANYBODY};
        if (reader->add_programs)
                reader->add_programs(arena, gathered, &ret->program);
        while (names && (name = text_next_word(arena, &names, " "))) {
                if (target->unit)
                        add_program_of_unit(arena, target->unit, sources, name, &ret->program);
                ARRAY_FOREACH(directory, directories, ARRAY_LEN(directories))
                        *vec_push(arena, &ret->program) =
                                arena_printf(arena, "%s/%s", *directory, name);
        }
        if (reader->version_option)
                *vec_push(arena, &ret->arguments) = reader->version_option;
        *vec_push(arena, &ret->arguments) = "--version";
}

const char *version_answer(Arena *arena, const char *output, const char *mark,
                           const char **ret_version) {
        const char *at = strstr(output, mark);
        const char *version = at ? at + strlen(mark) : "";
        size_t length = strspn(version, "0123456789."), n = strspn(version, "0123456789");
        const char *found = arena_strndup(arena, version, length);
        Version parsed;

        if (length >= VERSION_LENGTH_MAX || length < n + 2 || parse_version(found, &parsed) < 0)
                return arena_printf(arena, "its answer holds no version ('%sX.Y' is expected)",
                                    mark);
        *ret_version = found;
        return NULL;
}
