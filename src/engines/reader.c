/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/reader.h"

#include "base/text.h"
#include "engines/engine_rows.h"
#include "engines/parameters.h"

const EngineReader *engine_reader(const Engine *engine) {
        static const EngineReader none = {};

#define ROW(name)                     \
        if (engine == &engine_##name) \
                return &reader_##name;
        ENGINE_READERS(ROW)
#undef ROW
        return &none;
}

uint64_t engine_sessions(const Engine *engine, const Gathered *gathered) {
        const EngineReader *reader = engine_reader(engine);

        if (!reader->sessions_setting || gathered->incomplete)
                return 0;
        const Setting *setting = settings_find(&gathered->settings, reader->sessions_setting);
        uint64_t n = reader->sessions_initial;

        return setting && parse_u64(setting->value, &n) < 0 ? 0 : n;
}

static Reads reads_of(const Engine *engine, const char *word) {
        const ParameterTable *table = engine_formula(engine)->parameters;
        const EngineReader *reader = engine_reader(engine);
        const char *dot = strrchr(word, '.'), *base = text_base_name(word);
        Reads reads = reader->reads ? reader->reads(word) : READS_NOT;

        if (reads != READS_NOT)
                return reads;
        if (table && parameters_have(table, dot ? dot + 1 : word))
                return READS_VALUE;
        if (text_fits(engine->servers, base) || text_fits(engine->supervisors, base))
                return READS_SERVER;
        return text_fits(engine->programs, base) || text_fits(engine->images, base) ? READS_WORD
                                                                                    : READS_NOT;
}

Reads engine_reads(const char *word) {
        Reads reads = READS_NOT;

        for (size_t i = 0; i < n_engines && reads == READS_NOT; i++)
                reads = reads_of(engines[i], word);
        return reads;
}

bool engines_read_whole(const char *base_name) {
        return ARRAY_ANY(engine, engines, n_engines,
                         text_fits(engine_reader(*engine)->whole_files, base_name));
}

void engines_read_pieces(Arena *arena, const SourceText *file, Pieces *ret) {
        for (size_t i = 0; i < n_engines; i++)
                if (engine_reader(engines[i])->pieces)
                        engine_reader(engines[i])->pieces(arena, file, ret);
}

bool engine_is_fixed(const Engine *engine, const Settings *settings) {
        const EngineReader *reader = engine_reader(engine);

        return engine->maps_all_at_start || (reader->is_fixed && reader->is_fixed(settings));
}
