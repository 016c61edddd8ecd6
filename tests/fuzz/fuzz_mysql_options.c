/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The files of a host with MariaDB or MySQL, packed as in support/sources.h: units, option files, files of the data
 * directory. Both engines read them.
 *
 * Conditions: the function returns an error text, or settings with places, with large pages on, and with a size. */

#include "base/size.h"
#include "base/text.h"
#include "engines/reader.h"
#include "fuzz/fuzz.h"
#include "support/sources.h"

static void check_size(Arena *arena, const Engine *engine, const Gathered *gathered) {
        Sizing sizing;
        const char *wrong = engine_size(engine, arena, &gathered->settings, 2 * MIB, &sizing);

        if (wrong)
                require(*wrong);
        else
                require(sizing.pages > 0 && sizing.bytes >= 2 * MIB);
}

static void check(Arena *arena, const char *name, const EngineTarget *target,
                  const Sources *sources) {
        const Engine *engine = engine_find(name);
        Gathered gathered = {.problems = diags_in(arena)};
        const char *wrong =
                engine_reader(engine)->gather(arena, engine, target, sources, &gathered);

        if (wrong)
                require(*wrong);
        else {
                const Setting *large = settings_find(&gathered.settings, "large_pages");

                require(large && text_equals(large->value, "ON"));
                require(gathered.data_directory && *gathered.data_directory == '/');
                VEC_FOREACH(setting, &gathered.settings)
                        require(*setting->name && setting->value && *setting->origin);
                check_size(arena, engine, &gathered);
        }
        VEC_FOREACH(problem, &gathered.problems.list)
                require(problem->id && problem->text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const Sources *sources = test_sources_unpack(arena, data, size);

        check(arena, "mariadb", &(EngineTarget){}, sources);
        check(arena, "mariadb", &(EngineTarget){.unit = "mariadb@one.service"}, sources);
        check(arena, "mysql", &(EngineTarget){}, sources);
        check(arena, "mysql", &(EngineTarget){.config_file = "/etc/my.cnf"}, sources);
        return 0;
}
