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
#include "read/unit_file.h"

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
        const char *active_state;    /* "active", "activating", ... */
        const char *sub_state;       /* of that: "start-pre", "start", "auto-restart", ... */
        uint32_t control_pid;        /* of the command that runs for it now; 0: none */
        uint32_t main_pid;           /* 0: none */
        uint32_t uid;                /* of User=, once that runs; UINT32_MAX: none, which is root */
        const char *run;             /* the invocation's id, in hexadecimal; "": it does not run */
        const char *control_group;   /* below the hierarchy's mount: "/system.slice/x.service" */
        MemoryPolicy policy;         /* with which its processes are started */
        const UnitAssignment *reset; /* see loaded_unit_find_reset() */
        const char *override;        /* an administrator's file of our drop-in's name; NULL: none */
} LoadedUnit;

typedef VEC(LoadedUnit) LoadedUnits;

/* Whether the process PID, of the unit's control group, is what starts it. Before its main process there is
 * nobody in the group but commands of systemd's and what they have started, such as the gate that a shell
 * runs. With it comes what only belongs to the unit, and then it is the command itself, or the process that
 * is to become the database, unless there is no main process yet that systemd knows (Type=forking). A unit
 * that is about to be started again, or being stopped, does not start. */
bool loaded_unit_starts_by(const LoadedUnit *unit, uint64_t pid);

/* The last ExecStartPre= without a value, which throws away what stands before it; NULL: none. */
const UnitAssignment *loaded_unit_find_reset(const UnitFile *file);

/* What the files of the unit NAME come to, where the manager is not asked: no more than what its
 * gates depend on, and what it starts. */
LoadedUnit loaded_unit_of_files(Arena *arena, const char *name, const UnitFile *file);

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
        const Sources *sources; /* the host's files; NULL: it is not known what exists there */
} LoadedUnitInput;

/* Adds that the unit cannot be loaded, for each instance that names it; nothing for one that is. With
 * SOURCES, the unit that may have been meant. */
void loaded_unit_judge_state(const Config *config, const Sources *sources, const LoadedUnit *unit,
                             Diags *problems);

/* The same for all units, with whatever else their instances cannot live with. */
void loaded_units_judge(const LoadedUnitInput *input, const LoadedUnits *units, Diags *problems);
