/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What pods may ask for. */

#include "engines/engine_rows.h"
#include "engines/plain_memory.h"

static const char *size_kubelet(Arena *arena, const Settings *settings, uint64_t page_size_bytes,
                                Sizing *ret) {
        return plain_memory_size(&engine_kubelet, arena, settings, page_size_bytes, ret);
}

const EngineFormula formula_kubelet = {size_kubelet, &plain_memory_parameters};
