/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What only hugeplanctl needs of formulas: the daemon calculates with settings that it has made itself. */
#include "base/text.h"
#include "engines/parameters.h"

#include <string.h>

static char *folded(Arena *arena, const char *name) {
        char *copy = arena_strdup(arena, name);

        for (char *c = copy; *c; c++)
                *c = setting_fold(*c);
        return copy;
}

/* ---- similar names ---- */

enum { NAME_DISTANCE_MAX = 3, NAME_PART_MIN = 4 };

static const char *refuse_unknown(Arena *arena, const Engine *engine, const ParameterTable *table,
                                  const Setting *setting) {
        NearMiss miss = {folded(arena, setting->name), NAME_DISTANCE_MAX};

        ARRAY_FOREACH(row, table->rows, table->n) {
                const char *known = folded(arena, row->name);
                /* A part of the whole name is similar, too: "buffer_pool_size". */
                bool is_part = strlen(miss.word) >= NAME_PART_MIN && strstr(known, miss.word);

                near_miss_try_at(&miss, row->name,
                                 is_part ? NAME_DISTANCE_MAX : text_distance(miss.word, known));
        }
        return setting_refuse(arena, setting, "not a setting that the size of %s depends on; %s",
                              engine->title,
                              miss.name ? arena_printf(arena, "did you mean %s?", miss.name)
                                        : "'hugeplanctl size --json' lists them");
}

const char *settings_refuse_unknown(Arena *arena, const Engine *engine, const Settings *settings) {
        const ParameterTable *table = engine_formula(engine)->parameters;

        VEC_FOREACH(setting, settings)
                if (table && !setting->origin && !parameters_have(table, setting->name))
                        return refuse_unknown(arena, engine, table, setting);
        return NULL;
}

/* ---- fingerprints ---- */

/* The sum does not depend on the order of the settings. */
const char *engine_fingerprint(const Engine *engine, Arena *arena, const Settings *settings) {
        const ParameterTable *table = engine_formula(engine)->parameters;
        uint64_t sum = 0;

        if (!table)
                return NULL;
        VEC_FOREACH(setting, settings)
                if (parameters_have(table, setting->name) &&
                    settings_find(settings, setting->name) == setting)
                        sum += text_fold(text_fold(TEXT_FOLD_START, folded(arena, setting->name)),
                                         setting->value);
        return arena_printf(arena, "%016" PRIx64, sum);
}

/* ---- sources ---- */

const char *sizing_source_name(SizingSource source) {
        static const char *const names[] = {
                [SIZING_RULE] = "rule",       [SIZING_WORD] = "word",   [SIZING_SEEN] = "seen",
                [SIZING_LEARNED] = "learned", [SIZING_GIVEN] = "given",
        };

        return names[source];
}
