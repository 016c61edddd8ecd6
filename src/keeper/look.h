/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A look at the host: everything that one decision is based on, read at one moment.
 *
 *  Root --probe--> topology --+
 *  Root --use----> use -------+--observe--> ledger --+
 *  state, or the daemon's ----+                      +--> demand --> plan --> what else to write
 *  configuration, databases' own files --> figures --+
 * Failed reads are tried again at once; if they keep failing, the look has a fault. The daemon, hugeplanctl and the
 * gate all use look_make(), which only reads. */

#include "demand/figures.h"
#include "host/root.h"
#include "plan/boot_guard.h"
#include "plan/host_plan.h"
#include "status/status.h"

typedef struct Look Look;

typedef struct LookInput {
        const Root *root;
        const Config *config;
        const Ledger *ledger;          /* NULL: that of the state file */
        const Figures *found;          /* sizes that gates have reported; NULL: none */
        const PoolLimits *limits;      /* NULL: none known */
        const PlanStartings *starting; /* NULL: none */
        bool is_reload;                /* plan as a reload does (plan/boot_guard.h) */
        const Topology *known;         /* settings are taken from it; NULL: everything is read */
        const Look *seen; /* its counts and units are current, the caller knows; NULL: read */
        /* figures_derive(), with GATHERER, for callers that may read the databases' files: unknown sizes are derived
         * from them each time, because they may not be mounted early in boot. NULL: sizes are not derived. */
        Figures (*derive)(Arena *arena, const Config *config, const Topology *topology,
                          const Gatherer *gatherer, FiguresWanted wanted);
        const Gatherer *gatherer;
} LookInput;

struct Look {
        const Config *config;
        const PlanStartings *starting;
        Topology *topology;
        HostUse *use;
        Ledger *ledger;       /* a copy, with what was observed */
        const Ledger *stored; /* the content of its file, if that was read; else NULL */
        const char *state;    /* what is wrong with the ledger's file; else NULL */
        bool is_counted;      /* the keeper's first look: this boot was counted before */
        bool is_good;         /* and was good */
        uint64_t moved_pages; /* moved between nodes externally */
        Figures figures;      /* of instances with Memory=auto */
        const Plan *plan;     /* with the demand */
        HostPlan host;
        Diags guard_problems; /* of the boot guard: what is not planned until a reload */
        Diags host_problems;
        ReadFault fault; /* error 0: none; otherwise nothing may be concluded from this look */
};

/* Allocated in ARENA; what INPUT refers to must outlive the look. */
Look *look_make(Arena *arena, const LookInput *input);

/* The first half of look_make(): without figures, demand and plan. */
Look *look_at_host(Arena *arena, const LookInput *input);

/* The second half, for a LOOK made from the same INPUT; the ledger may have changed since. May be called again. Failed
 * reads are not tried again. */
void look_complete(Arena *arena, const LookInput *input, Look *look);

/* The plan of LOOK as if all running units had stopped: a reload must leave their next start its pages. */
const Plan *look_plan_restarted(Arena *arena, const Root *root, const Look *look);

/* Adds the problems of the configuration, of the host and of the plan of LOOK. */
void look_add_problems(const Look *look, Diags *problems);

/* The fault of a look as a diagnostic; a fault without a path is a lack of memory. */
Diag look_fault_diag(Arena *arena, const ReadFault *fault);

/* The input of status_judge() for LOOK and an earlier PLAN; refers to both. */
StatusInput look_status_input(const Look *look, const Plan *plan);
