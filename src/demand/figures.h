/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Figures: the sizes of the instances with Memory=auto, from the databases' own files. */

#include "demand/demand.h"

#include <jansson.h>

/* Reads a database's own files: in this process, or in one of its own that runs as their owner (inspect/gather.h). Adds
 * one figure for each of the PAGE_SIZES that the rule covers (one without a size if there are none), and one that says
 * what is wrong, if anything is. Each has what was gathered; `instance` is the target's. */
typedef struct Gatherer Gatherer;
struct Gatherer {
        void (*gather)(const Gatherer *gatherer, Arena *arena, const Engine *engine,
                       const EngineTarget *target, const uint64_t *page_sizes, size_t n_page_sizes,
                       Figures *ret);
};

/* Computes the size from what was GATHERED of TARGET and its host's base page; returns as engine_size() does. */
const char *gathered_size(Arena *arena, const Engine *engine, const EngineTarget *target,
                          const Gathered *gathered, uint64_t page_size_bytes, Sizing *ret);

/* Adds a Gatherer's figures, read in this process from SOURCES. */
void figures_gather(Arena *arena, const Engine *engine, const EngineTarget *target,
                    const Sources *sources, const uint64_t *page_sizes, size_t n_page_sizes,
                    Figures *ret);

typedef enum FiguresWanted {
        FIGURES_UNLEARNED, /* only of page sizes without a learned one: at boot, and on reload */
        FIGURES_ALL,       /* of all page sizes: for `explain`, `check` and the gates */
} FiguresWanted;

/* Returns one figure for each page size that an instance would take, or one that says what is wrong. The engines' rules
 * are mostly upper bounds; a program is run at most for its version. */
Figures figures_derive(Arena *arena, const Config *config, const Topology *topology,
                       const Gatherer *gatherer, FiguresWanted wanted);

/* Adds the figures of one instance, whose memory_kind must be MEMORY_AUTO. */
void figures_add(Arena *arena, const InstanceConfig *instance, const Topology *topology,
                 const Gatherer *gatherer, Figures *figures);

/* Returns what the engine is told about INSTANCE, and about the host (NULL: nothing). */
EngineTarget figures_target(const InstanceConfig *instance, const Topology *topology);

/* ---- what a reader process has found, on its way to the caller (inspect/gather.h) ---- */

/* Returns the figures of one target, which share what was gathered. */
json_t *figures_to_json(Arena *arena, const Figures *figures);

/* Returns 0, or -EINVAL. The figures were made from files that others wrote, who may control the reader: every member
 * is checked, and one that is invalid refuses all. Strings are printable and bounded; sizes are of PAGE_SIZES, each
 * once. INSTANCE is the figures' name (NULL: none yet). */
int figures_from_json(Arena *arena, const json_t *json, const char *instance,
                      const uint64_t *page_sizes, size_t n_page_sizes, Figures *ret);
