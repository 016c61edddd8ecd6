/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Demand: how many pages of which size each instance needs, and where they may come from. The
 * configuration turned into numbers by the engines' rules, before anyone asks whether they fit. */

#include "core/config.h"
#include "core/reason.h"
#include "core/topology.h"

/* An explicit part of one node (NodeMemory=). */
typedef struct NodePages {
        unsigned node;
        uint64_t pages;
} NodePages;

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
        /* Why it cannot be planned at all, whatever memory there is; REASON_NONE: it can. */
        Reason reason;
} DemandInstance;

typedef struct Demand {
        DemandInstance *instances; /* one per instance of the configuration, in its order */
        size_t n_instances;
} Demand;

/* Never fails: an instance that makes no sense on this host has a reason and no options. Refers to
 * CONFIG and TOPOLOGY, which must outlive it. */
Demand *demand_compute(Arena *arena, const Config *config, const Topology *topology);
