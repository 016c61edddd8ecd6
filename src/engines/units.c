/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/units.h"

#include "engines/engine_rows.h"

const EngineUnits *engine_units(const Engine *engine) {
        static const EngineUnits none = {};

#define ROW(name)                     \
        if (engine == &engine_##name) \
                return &units_##name;
        ENGINE_UNITS(ROW)
#undef ROW
        return &none;
}
