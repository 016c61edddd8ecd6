/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A database's unit as the service manager has loaded it, with all drop-ins, and whether it suits the instances that
 * name it.
 *
 * The administrator decides: a later drop-in overrides ours, and a drop-in of the same name replaces it. Deliberate
 * settings are reported as such; a setting that keeps a database from its pages is a problem. Sources:
 * org.freedesktop.systemd1(5), systemd.unit(5), systemd.exec(5). */

#include "model/memory_policy.h"
#include "plan/plan.h"
#include "read/accounts.h"
#include "read/unit_file.h"

typedef struct LoadedUnit {
        const char *name;       /* as in the configuration; may be an alias */
        const char *load_state; /* "loaded", "not-found", "masked", "bad-setting", "error" */
        /* The rest is known of a loaded unit only. */
        bool is_outdated;           /* its files have changed since they were read */
        SourceNames dropins;        /* paths, in the order in which they are applied */
        SourceNames after;          /* units that it is ordered after */
        SourceNames pre_starts;     /* the command lines of ExecStartPre= */
        SourceNames starts;         /* of ExecStart= */
        uint64_t memory_lock_bytes; /* UINT64_MAX: no limit */
        bool may_lock;              /* it starts with CAP_IPC_LOCK */
        MemoryPolicy policy;        /* of the processes of ExecStart= */
        const char *user, *group;   /* "": not set */
        SourceNames groups;         /* SupplementaryGroups= */
        /* The present run, if UNIT_QUERY_RUN was queried. */
        const char *active_state; /* "active", "activating", ... */
        const char *sub_state;    /* of that: "start-pre", "start", "auto-restart", ... */
        uint32_t control_pid;     /* of the control process that runs now; 0: none */
        uint32_t main_pid;        /* 0: none */
        uint32_t uid;    /* of User=, while the unit runs; UINT32_MAX: none, that is, root */
        const char *run; /* the invocation's id, in hexadecimal; "": the unit does not run */
        const char *control_group; /* below the hierarchy's mount: "/system.slice/x.service" */
        const char *override;      /* an administrator's file of our drop-in's name; NULL: none */
} LoadedUnit;

typedef VEC(LoadedUnit) LoadedUnits;

/* Returns whether PID, a process in the unit's control group, is starting the unit. Before the main process exists, the
 * group has only systemd's control processes and their children, such as a gate that a shell runs. Afterwards it may
 * have other processes, so that only the control process or the main process counts, unless systemd does not know the
 * main process yet (Type=forking). A unit that waits for its restart, or stops, is not starting. */
bool loaded_unit_starts_by(const LoadedUnit *unit, uint64_t pid);

/* Returns whether the unit has a gate for each instance of CONFIG that names the unit: an ExecStartPre= that runs
 * `hugeplanctl wait` for the instance, from our drop-in or written by hand. */
bool loaded_unit_has_gates(const Config *config, const LoadedUnit *unit);

/* Adds a problem for missing gates of a loaded unit, unless PROBLEMS already has its drop-in as missing,
 * which is the cause in that case. */
void loaded_unit_judge_gates(const Config *config, const LoadedUnit *unit, Diags *problems);

/* Searches the host's files. */
typedef struct UnitSearch {
        const Sources *sources;
        /* Returns why the server that the instance's unit starts does not exist, or NULL if it exists or that is
         * unknown. */
        const char *(*find_absent)(Arena *arena, const Sources *sources,
                                   const InstanceConfig *instance);
        /* Returns the unit of an existing server of the engine whose name is nearest to the instance's Unit= and that
         * no instance names, or NULL if there is none. */
        const char *(*find_nearest)(Arena *arena, const Sources *sources, const Config *config,
                                    const InstanceConfig *instance);
} UnitSearch;

typedef struct LoadedUnitInput {
        const Config *config;
        const Plan *plan;
        const Topology *topology;
        const Accounts *accounts;
        /* NULL: the host's files are not searched, and two instances that share a unit deliberately are not reported. */
        const UnitSearch *search;
} LoadedUnitInput;

/* Adds a problem for each instance whose unit is not loaded. With SEARCH the problem names the unit that may
 * have been meant. */
void loaded_unit_judge_state(const Config *config, const UnitSearch *search, const LoadedUnit *unit,
                             Diags *problems);

/* Adds a problem for each instance of a loaded unit that its settings keep from pages: nodes that it may not use, no
 * right to System V segments. */
void loaded_unit_judge_access(const LoadedUnitInput *input, const LoadedUnit *unit,
                              Diags *problems);

/* The same for all units, and all other problems that their settings cause for the instances. */
void loaded_units_judge(const LoadedUnitInput *input, const LoadedUnits *units, Diags *problems);

/* ---- whether the units run the instances' databases (unit_match.c) ---- */

/* Without this check a mistake in Unit= goes unnoticed: a template yields a unit of any name, whose drop-in is never used,
 * and the real server starts without a gate. A unit whose program is not known is no problem, because a script may start
 * any program. */

/* Adds unit-wrong for instances whose loaded unit starts another program or, with a search, a server that does not
 * exist; the remedy names the nearest unit of an existing server. Adds unit-shared for units that several instances
 * name: a warning, or a notice if the instances differ in page size, engine or database files. Needs neither topology
 * nor accounts. */
void unit_match_judge(Arena *arena, const LoadedUnitInput *input, const LoadedUnits *units,
                      Diags *problems);

/* Returns whether COMMAND_LINES, those of a unit, start a server of ENGINE. */
bool unit_match_is_server(Arena *arena, const Engine *engine, const SourceNames *command_lines);

/* Returns the memory policy of a unit's main process: what numactl(8) in COMMAND_LINE sets, else POLICY. Interleaving
 * over "all" nodes is treated as no policy, because which nodes these are is not known. */
MemoryPolicy unit_policy_of_start(Arena *arena, const char *command_line, MemoryPolicy policy);

/* ---- units from the host's files, as the service manager will load them (unit_search.c) ---- */

/* Only `check` uses these and, with them, the readers of unit files and databases' files; the daemon queries the
 * service manager instead. */
UnitSearch unit_search(const Sources *sources);

/* Returns the unit NAME as its files describe it: the members for its gates, the commands that it starts, and its
 * rights to memory, without the nodes. */
LoadedUnit unit_search_loaded(Arena *arena, const char *name, const UnitFile *file);

/* Returns whether UNIT's lines of KEY, a list such as RestrictAddressFamilies=, allow one of WORDS ("AF_UNIX AF_LOCAL"):
 * words after "~" are forbidden, and if the first line has it, all others are allowed. IF_UNSET: without lines. */
bool unit_allows(const UnitFile *unit, const char *key, const char *words, bool if_unset);

/* Parses a size of a unit file: bytes, or with a suffix K M G T P E; "infinity" is UINT64_MAX. For "SOFT:HARD" it is
 * the soft limit. systemd.exec(5). Returns -EINVAL if VALUE is not a size. */
int unit_size_parse(Arena *arena, const char *value, uint64_t *ret_bytes);
