/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Reads a database's own files in this process, from sources in memory. */

#include "demand/figures.h"

typedef struct SourcesGatherer {
        Gatherer gatherer; /* pass a pointer to this */
        const Sources *sources;
} SourcesGatherer;

static inline const Gathered *gather_here(const Gatherer *gatherer, Arena *arena,
                                          const Engine *engine, const EngineTarget *target) {
        /* The gatherer is the first member. */
        const SourcesGatherer *here = (const SourcesGatherer *) gatherer;

        return gathered_read(arena, engine, target, here->sources);
}

static inline SourcesGatherer figures_gatherer(const Sources *sources) {
        return (SourcesGatherer){{gather_here}, sources};
}
