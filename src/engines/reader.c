/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/reader.h"

#include "engines/engine_rows.h"

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

bool engine_is_fixed(const Engine *engine, const Settings *settings) {
        const EngineReader *reader = engine_reader(engine);

        return engine->maps_all_at_start || (reader->is_fixed && reader->is_fixed(settings));
}
