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
