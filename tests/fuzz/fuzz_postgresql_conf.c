/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The files of a PostgreSQL server, packed as in support/sources.h: the data directory is /d, the unit
 * postgresql@15-main.service. The server's owner can write anything to them.
 *
 * Conditions: the function returns; texts can be printed on one line; a setting has a value and a place; sizes add up; and
 * the command line of postgres -C consists of words that were found. */

#include "base/size.h"
#include "engines/reader.h"
#include "fuzz/fuzz.h"
#include "support/sources.h"

static void require_short(const char *string, size_t length_max) {
        require(*string && strlen(string) <= length_max);
        require_printable(string);
}

static void check_size(Arena *arena, const Engine *engine, const Gathered *gathered,
                       uint64_t page_size_bytes) {
        Sizing sizing;
        Question question;
        const char *wrong =
                engine_size(engine, arena, &gathered->settings, page_size_bytes, &sizing);

        if (wrong)
                require_short(wrong, 64 << 10);
        else
                require(sizing.pages > 0 && sizing.bytes / page_size_bytes <= sizing.pages);
        if (!engine_reader(engine)->ask(arena, gathered, page_size_bytes, &question))
                return;
        require(question.program.n > 0 && question.arguments.n > 6);
        VEC_FOREACH(word, &question.arguments)
                require_short(*word, 8192);
        wrong = engine_reader(engine)->answer(arena, gathered, "1000000000\n", page_size_bytes,
                                              &sizing);
        if (wrong)
                require_short(wrong, 4096);
}

static void check_target(Arena *arena, const Sources *sources, EngineTarget target) {
        const Engine *engine = engine_find("postgresql");
        Gathered gathered = {.problems = diags_in(arena)};
        const char *wrong =
                engine_reader(engine)->gather(arena, engine, &target, sources, &gathered);

        VEC_FOREACH(problem, &gathered.problems.list)
                require_short(diag_format(arena, problem), 64 << 10);
        if (wrong) {
                require_short(wrong, 64 << 10);
                return;
        }
        require(gathered.settings.n >= gathered.options.n && *gathered.data_directory == '/');
        VEC_FOREACH(setting, &gathered.settings) {
                require_short(setting->name, 64);
                require_short(setting->origin, 16 << 10);
                if (*setting->value)
                        require_short(setting->value, 4096);
        }
        check_size(arena, engine, &gathered, 2 * MIB);
        check_size(arena, engine, &gathered, GIB);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const Sources *sources = test_sources_unpack(arena, data, size);

        check_target(arena, sources, (EngineTarget){.data_directory = "/d"});
        check_target(arena, sources, (EngineTarget){.unit = "postgresql@15-main.service"});
        return 0;
}
