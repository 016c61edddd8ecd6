/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Figures: the sizes of the instances with Memory=auto, from the databases' own files. */

#include "demand/demand.h"

#include <jansson.h>

/* Reads a database's own files: in this process, or in one of its own that runs as their owner (inspect/gather.h).
 * Returns what was found, also if something is wrong (`incomplete`). */
typedef struct Gatherer Gatherer;
struct Gatherer {
        const Gathered *(*gather)(const Gatherer *gatherer, Arena *arena, const Engine *engine,
                                  const EngineTarget *target);
};

/* Does what a Gatherer does, in this process from SOURCES. */
Gathered *gathered_read(Arena *arena, const Engine *engine, const EngineTarget *target,
                        const Sources *sources);

/* Returns the size by what was GATHERED of TARGET and by its host's base page, or what is wrong. For a PAGE_SIZE_BYTES
 * of 0 there is no size. */
Figure gathered_figure(Arena *arena, const Engine *engine, const EngineTarget *target,
                       const Gathered *gathered, uint64_t page_size_bytes);

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

json_t *gathered_to_json(Arena *arena, const Gathered *gathered);

/* Returns 0, or -EINVAL. It was made from files that others wrote, who may control the reader: every member is checked,
 * and one that is invalid refuses all. Strings are printable and bounded. */
int gathered_from_json(Arena *arena, const json_t *json, Gathered *ret);
