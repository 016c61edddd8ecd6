/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A database's unit as the service manager has it in effect, with every drop-in that was read, and
 * whether the instances that name it can live with that.
 *
 * The administrator has the last word: a later drop-in wins over ours, and one of the same name takes
 * its place. What was done on purpose is told as what it is; what keeps a database from its pages is
 * a problem. Sources: org.freedesktop.systemd1(5), systemd.unit(5), systemd.exec(5). */

#include "model/memory_policy.h"
#include "plan/plan.h"
#include "read/accounts.h"

typedef struct LoadedUnit {
        const char *name;       /* as the configuration has it: an alias, perhaps */
        const char *load_state; /* "loaded", "not-found", "masked", "bad-setting", "error" */
        /* The rest is known of a loaded one only. */
        bool is_outdated;           /* its files have changed since they were read */
        SourceNames dropins;        /* paths, in the order in which they count */
        SourceNames after;          /* units that it is ordered after */
        SourceNames pre_starts;     /* the command lines of ExecStartPre= */
        SourceNames starts;         /* of ExecStart= */
        uint64_t memory_lock_bytes; /* UINT64_MAX: as much as it wants */
        bool may_lock;              /* it starts with CAP_IPC_LOCK */
        bool is_bound;              /* NUMAPolicy=bind, to these nodes */
        IdSet nodes;
        const char *user, *group; /* "": not set */
        SourceNames groups;       /* SupplementaryGroups= */
        /* Of its present run; known where that was asked for. */
        const char *active_state;  /* "active", "activating", ... */
        const char *sub_state;     /* of that: "start-pre", "start", "auto-restart", ... */
        uint32_t control_pid;      /* of the command that runs for it now; 0: none */
        uint32_t main_pid;         /* 0: none */
        uint32_t uid;              /* of User=, once that runs; UINT32_MAX: none, which is root */
        const char *run;           /* the invocation's id, in hexadecimal; "": it does not run */
        const char *control_group; /* below the hierarchy's mount: "/system.slice/x.service" */
        MemoryPolicy policy;       /* with which its processes are started */
        const char *override;      /* an administrator's file of our drop-in's name; NULL: none */
        /* The last ExecStartPre= of a drop-in without a value, which throws away what stands before it; NULL: none. */
        const char *reset_file;
        unsigned reset_line;
} LoadedUnit;

typedef VEC(LoadedUnit) LoadedUnits;

/* Whether the process PID, of the unit's control group, is what starts it. Before its main process there is
 * nobody in the group but commands of systemd's and what they have started, such as the gate that a shell
 * runs. With it comes what only belongs to the unit, and then it is the command itself, or the process that
 * is to become the database, unless there is no main process yet that systemd knows (Type=forking). A unit
 * that is about to be started again, or being stopped, does not start. */
bool loaded_unit_starts_by(const LoadedUnit *unit, uint64_t pid);

/* Whether each instance of CONFIG that names this unit has a gate in it: an ExecStartPre= that runs
 * `hugeplanctl wait` for it, ours or one written by hand. */
bool loaded_unit_has_gates(const Config *config, const LoadedUnit *unit);

/* Adds to PROBLEMS what gates a loaded unit lacks. Where PROBLEMS say already that its drop-in is
 * missing, nothing: what is wrong then is that. */
void loaded_unit_judge_gates(const Config *config, const LoadedUnit *unit, Diags *problems);

typedef struct LoadedUnitInput {
        const Config *config;
        const Plan *plan;
        const Topology *topology;
        const Accounts *accounts;
} LoadedUnitInput;

/* A look through the host's files (units/unit_search.h). */
typedef struct UnitSearch {
        const Sources *sources;
        /* Why the server that the instance's unit starts does not exist; NULL: it does, or that is not known. */
        const char *(*find_absent)(Arena *arena, const Sources *sources,
                                   const InstanceConfig *instance);
        /* The unit of an existing server of the instance's engine whose name is the nearest to its own, and which
         * no instance names; NULL: there is none. */
        const char *(*find_nearest)(Arena *arena, const Sources *sources, const Config *config,
                                    const InstanceConfig *instance);
} UnitSearch;

/* Adds that the unit cannot be loaded, for each instance that names it; nothing for one that is. With
 * SEARCH, the unit that may have been meant. */
void loaded_unit_judge_state(const Config *config, const UnitSearch *search, const LoadedUnit *unit,
                             Diags *problems);

/* The same for all units, with whatever else their instances cannot live with. */
void loaded_units_judge(const LoadedUnitInput *input, const LoadedUnits *units, Diags *problems);
