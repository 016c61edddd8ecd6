/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Figures: the sizes of the instances with Memory=auto, from the databases' own files. */

#include "demand/demand.h"

typedef enum FiguresWanted {
        FIGURES_UNLEARNED, /* only where none was learned for a page size: at boot, and on reload */
        FIGURES_ALL,       /* of all: for `explain`, `check` and the gates */
} FiguresWanted;

/* One figure for each page size that an instance would take, or one that says what is wrong. By the
 * engines' rules, which are upper bounds mostly; no program is asked. */
Figures figures_derive(Arena *arena, const Config *config, const Topology *topology,
                       const Sources *sources, FiguresWanted wanted);

/* The same for one instance, whose memory_kind must be MEMORY_AUTO. */
void figures_add(Arena *arena, const InstanceConfig *instance, const Topology *topology,
                 const Sources *sources, Figures *figures);

/* What the engine is told about INSTANCE. */
EngineTarget figures_target(const InstanceConfig *instance);
