/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Demand: how many pages of which size each instance needs, and where they may come from. The
 * configuration turned into numbers by the engines' rules, before anyone asks whether they fit. */

#include "config/config.h"
#include "engines/reader.h"
#include "model/memory_policy.h"
#include "model/reason.h"
#include "model/topology.h"

/* How large an instance with Memory=auto is, as found out just now: by its engine's rule from the
 * database's own files, or by its server's own word. */
typedef struct Figure {
        const char *instance;
        Sizing sizing;            /* for pages of sizing.page_size_bytes */
        const char *wrong;        /* why there is none, for any page size; NULL: sizing holds */
        const char *remedy;       /* what to do about it; NULL: the general advice */
        const Gathered *gathered; /* what it was made from; NULL: that is not known */
} Figure;

typedef VEC(Figure) Figures;

/* One acceptable page size, in the instance's order of preference. */
typedef struct DemandOption {
        uint64_t page_size_bytes;
        uint64_t pages;
        NodePages *split; /* NULL: the planner places them */
        size_t n_split;
        Sizing sizing; /* how `pages` came about; no steps where Pages= gave it */
} DemandOption;

typedef struct DemandInstance {
        const InstanceConfig *config;
        DemandOption *options;
        size_t n_options;
        /* The nodes that may serve it and can: online, with memory, allowed to us. */
        IdSet nodes;
        MemoryPolicy policy; /* under which its unit will take the pages, by its drop-in */
        /* Why it is not served, whatever memory there is; REASON_NONE: it may be. Without options it
         * cannot be. */
        Reason reason;
} DemandInstance;

typedef struct Demand {
        DemandInstance *instances; /* one per instance of the configuration, in its order */
        size_t n_instances;
} Demand;

/* Adds the version that the name of CONFIG's unit says ("postgresql@16-main.service") to SETTINGS that have none: for a
 * size that is given no file is read. Gives it, or NULL. */
const char *demand_add_version(Arena *arena, const InstanceConfig *config, Settings *settings);

/* Never fails: an instance that makes no sense on this host has a reason and no options. FIGURES
 * (NULL: none) are for instances with Memory=auto and go before what was learned at the last start.
 * Refers to its arguments, which must outlive it. */
Demand *demand_compute(Arena *arena, const Config *config, const Topology *topology,
                       const Figures *figures);

/* Whether the kernel knows of all nodes that CONFIG names: one that is offline, or has no memory, may yet have some. */
bool demand_nodes_may_come(const Topology *topology, const InstanceConfig *config);
