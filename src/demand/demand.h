/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Demand: how many pages of which size each instance needs, and where they may come from. The configuration as numbers
 * by the engines' rules, before it is known whether these fit. */

#include "config/config.h"
#include "engines/reader.h"
#include "model/memory_policy.h"
#include "model/reason.h"
#include "model/topology.h"

/* What a figure was made from: the server's version, and engine_fingerprint() of its settings; NULL: not known. */
typedef struct FigureBasis {
        const char *version, *settings;
} FigureBasis;

/* The size of an instance with Memory=auto, as just determined: by its engine's rule from the database's own files, or
 * by its server itself. */
typedef struct Figure {
        const char *instance;
        Sizing sizing;            /* for pages of sizing.page_size_bytes */
        const char *wrong;        /* why there is no figure, of any page size; NULL: sizing holds */
        const Gathered *gathered; /* the input of the figure; NULL: not known */
        FigureBasis basis;        /* likewise, as far as it is compared */
        uint64_t pages_in_file;   /* of a figure that is to be stored: what was stored before */
} Figure;

typedef VEC(Figure) Figures;

/* One acceptable page size, in the instance's order of preference. */
typedef struct DemandOption {
        uint64_t page_size_bytes;
        uint64_t pages;
        PagesByNode split; /* NodeMemory=; empty: the planner places them */
        Sizing sizing;     /* how `pages` came about; no steps if Pages= gave them */
} DemandOption;

typedef struct DemandInstance {
        const InstanceConfig *config;
        DemandOption *options;
        size_t n_options;
        /* The nodes that may and can serve the instance: online, with memory, in hugeplan's cpuset. */
        IdSet nodes;
        MemoryPolicy policy; /* under which the unit will take its pages, by its drop-in */
        /* Why the instance is not served, whatever memory there is; REASON_NONE: it may be served. Without options it
         * cannot be served. */
        Reason reason;
} DemandInstance;

typedef struct Demand {
        DemandInstance *instances; /* one per instance of the configuration, in its order */
        size_t n_instances;
} Demand;

/* Adds the version in the name of CONFIG's unit ("postgresql@16-main.service") to SETTINGS that have none: for a given
 * size no file is read. Returns the version, or NULL. */
const char *demand_add_version(Arena *arena, const InstanceConfig *config, Settings *settings);

/* Never fails: an instance that is impossible on this host has a reason and no options. FIGURES (NULL: none) are for
 * instances with Memory=auto and have precedence over what was learned at the last start. The demand refers to the
 * arguments, which must outlive it. */
Demand *demand_compute(Arena *arena, const Config *config, const Topology *topology,
                       const Figures *figures);

/* Returns whether the kernel knows all nodes that CONFIG names: an offline or empty one may get memory later. */
bool demand_nodes_may_come(const Topology *topology, const InstanceConfig *config);
