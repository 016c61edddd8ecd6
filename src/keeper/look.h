/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A look at the host: everything that one decision is made from, read at one moment.
 *
 *  Root --probe--> topology --+
 *  Root --use----> use -------+--observe--> ledger --+
 *  state, or the daemon's ----+                      +--> demand --> plan --> what else to write
 *  configuration, databases' own files --> figures --+
 *
 * What cannot be read is tried again, at once; a look to which that does not help has a fault.
 * The one function that the daemon, `hugeplanctl` and the gate all call. It only reads. */

#include "demand/figures.h"
#include "host/root.h"
#include "plan/boot_guard.h"
#include "plan/host_plan.h"
#include "status/status.h"

typedef struct Look Look;

typedef struct LookInput {
        const Root *root;
        const Config *config;
        const Ledger *ledger;          /* NULL: as the host's files have it */
        const Figures *found;          /* sizes that gates have found out; NULL: none */
        const PoolLimits *limits;      /* NULL: none known */
        const PlanStartings *starting; /* NULL: none */
        bool is_reload;                /* plan as a reload does (plan/boot_guard.h) */
        const Topology
                *known; /* what does not change by itself is as it was then; NULL: all is read */
        HostUse *used; /* with KNOWN, a moment ago: stands where nothing shows otherwise; NULL: is read */
        const Look *
                seen; /* counts and units are as they were then, which its caller has proven; NULL: is read */
        /* For who may read databases' files, figures_derive(), with GATHERER: what nobody has found out yet is derived
         * from them, anew each time, for at early boot they may not be mounted yet. NULL: it is not. */
        Figures (*derive)(Arena *arena, const Config *config, const Topology *topology,
                          const Gatherer *gatherer, FiguresWanted wanted);
        const Gatherer *gatherer;
} LookInput;

struct Look {
        const Config *config;
        const PlanStartings *starting;
        Topology *topology;
        HostUse *use;
        Ledger *ledger;       /* observed; a copy */
        const Ledger *stored; /* as its file has it, where that was read; NULL: it is not known */
        const char *state; /* what is wrong with the ledger's file, where it was read; else NULL */
        uint64_t moved_pages; /* by others, between nodes */
        Figures figures;      /* of instances with Memory=auto: found, or not learned yet */
        const Plan *plan;     /* with the demand */
        HostPlan host;
        Diags guard_problems; /* what is not planned until a reload */
        Diags host_problems;
        ReadFault fault; /* error 0: none; else nothing of this may be concluded from */
};

/* In ARENA. What INPUT refers to must outlive it. */
Look *look_make(Arena *arena, const LookInput *input);

/* The first half of look_make(): no figures, demand or plan. */
Look *look_at_host(Arena *arena, const LookInput *input);

/* The other half, of a LOOK that was made of the same INPUT, and whose ledger may have changed since; also once more.
 * What cannot be read is not tried again. */
void look_complete(Arena *arena, const LookInput *input, Look *look);

/* The plan of a LOOK that was made as for a reload, but as if every unit that runs had been stopped: by that, too, a
 * reload is refused. */
const Plan *look_plan_restarted(Arena *arena, const Root *root, const Look *look);

/* All that is wrong with what the plan of a LOOK was made from, or by it. */
void look_add_problems(const Look *look, Diags *problems);

/* What the fault of a look is told as; without a path it is a lack of memory. */
Diag look_fault_diag(Arena *arena, const ReadFault *fault);

/* For status_judge(), by a plan that was made before; refers to LOOK. */
StatusInput look_status_input(const Look *look, const Plan *plan);
