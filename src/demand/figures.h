/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Figures: the sizes of the instances with Memory=auto, from the databases' own files. */

#include "demand/demand.h"

/* Who reads a database's own files: in this process, or as their owner in one of its own
 * (inspect/gather.h). Adds one figure for each of the PAGE_SIZES that fits (one without a size where there
 * are none), and one that says what is wrong, if something is. Each has what was gathered; `instance` is
 * the target's. */
typedef struct Gatherer Gatherer;
struct Gatherer {
        void (*gather)(const Gatherer *gatherer, Arena *arena, const Engine *engine,
                       const EngineTarget *target, const uint64_t *page_sizes, size_t n_page_sizes,
                       Figures *ret);
};

/* The size by what was GATHERED of TARGET, and by its host's base page. As engine_size(). */
const char *gathered_size(Arena *arena, const Engine *engine, const EngineTarget *target,
                          const Gathered *gathered, uint64_t page_size_bytes, Sizing *ret);

/* In this process, from SOURCES. */
void figures_gather(Arena *arena, const Engine *engine, const EngineTarget *target,
                    const Sources *sources, const uint64_t *page_sizes, size_t n_page_sizes,
                    Figures *ret);

typedef enum FiguresWanted {
        FIGURES_UNLEARNED, /* only where none was learned for a page size: at boot, and on reload */
        FIGURES_ALL,       /* of all: for `explain`, `check` and the gates */
} FiguresWanted;

/* One figure for each page size that an instance would take, or one that says what is wrong. By the
 * engines' rules, which are upper bounds mostly; a program is asked for its version at most. */
Figures figures_derive(Arena *arena, const Config *config, const Topology *topology,
                       const Gatherer *gatherer, FiguresWanted wanted);

/* The same for one instance, whose memory_kind must be MEMORY_AUTO. */
void figures_add(Arena *arena, const InstanceConfig *instance, const Topology *topology,
                 const Gatherer *gatherer, Figures *figures);

/* The page sizes that INSTANCE would take, in ARENA, and how many they are. One that the host does not have is
 * left out here; the demand says so. */
size_t figures_page_sizes(Arena *arena, const InstanceConfig *instance, const Topology *topology,
                          const uint64_t **ret);

/* What the engine is told about INSTANCE, and about the host (NULL: nothing). */
EngineTarget figures_target(const InstanceConfig *instance, const Topology *topology);
