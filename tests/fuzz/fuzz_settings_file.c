/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A file for `size --from=`. The first byte selects the engine; an engine without a format of its own reads only a mapping
 * of JSON or YAML.
 *
 * Conditions: the function returns; values of a mapping are printable, and each setting is there once. */

#include "base/text.h"
#include "engines/reader.h"
#include "fuzz/fuzz.h"
#include "support/sources.h"

FUZZ(arena, data, size) {
        if (size < 2)
                return;
        const Engine *engine = engines[*data % n_engines];
        const TestFile file = {
                .path = "/f", .text = fuzz_text(arena, data + 1, size - 1), .size = size - 1};
        const EngineTarget target = {.config_file = file.path, .is_alone = true};
        Gathered gathered = {.problems = diags_in(arena)};

        if (engine->reserves && !settings_file_gather(arena, engine, &target,
                                                      test_sources(arena, &file, 1), &gathered)) {
                Sizing sizing;

                VEC_FOREACH(setting, &gathered.settings)
                        require(engine->has_auto ||
                                (text_starts_with(setting->origin, "/f:") &&
                                 settings_find(&gathered.settings, setting->name) == setting));
                VEC_FOREACH(setting, &gathered.settings)
                        require(engine->has_auto ||
                                text_equals(text_printable(arena, setting->value),
                                            setting->value) ||
                                strchr(setting->value, '\t'));
                engine_size(engine, arena, &gathered.settings, 2 << 20, &sizing);
        }
}
