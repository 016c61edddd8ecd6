/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* An engine's finder: the product's databases on a host that no instance describes yet, by what its packages
 * leave behind and by what runs. */

#include "engines/reader.h"
#include "read/unit_file.h"

/* What is looked at of a process: who wrote it may lie, so names and arguments are only ever used to
 * find files, and are checked before they are written down. */
typedef struct RunningProcess {
        uint64_t pid;
        uint64_t uid;          /* who runs it; UINT64_MAX: not known */
        const char *command;   /* the kernel's short name: "postgres" */
        SourceNames arguments; /* as it was started; [0] is its own name for itself */
        const char *unit;      /* of the host's manager; NULL: none */
        const char *
                directory; /* where it works, which for many servers is their data; NULL: not known */
        const char *
                container; /* "Podman container 0123456789ab"; NULL: none that its control group tells of */
        uint64_t peak_bytes;   /* VmPeak; 0: not known */
        uint64_t tables_bytes; /* its page tables: VmPTE */
        uint64_t shared_bytes; /* what it has touched of shared memory: RssShmem */
        uint64_t huge_bytes;   /* of huge pages: HugetlbPages; a lower bound */
        /* What it has mapped of huge pages, and of shared memory in their place; 0: none, or not looked at. */
        uint64_t mapped_bytes;
        bool is_elsewhere; /* its root directory is another, as in a container */
} RunningProcess;

typedef VEC(RunningProcess) RunningProcesses;

/* A database that was found, before it is known whether it needs anything. */
typedef struct Candidate {
        const Engine *engine;
        const char *name; /* of the instance: "postgresql-15-main" */
        const char *title;
        const char *found;
        EngineTarget target;
        const char *note;              /* what the administrator should know; NULL: nothing */
        const RunningProcess *process; /* what of it runs; NULL: nothing that was seen */
        uint64_t memory_bytes;         /* for Memory=, where nothing can be asked; 0: none */
        bool is_elsewhere;             /* the paths in TARGET are not of this host's files */
        bool is_guess;                 /* a database only where its size can be found out */
} Candidate;

/* Where was looked, and at how many. */
typedef struct FinderPlace {
        const char *title; /* "units" */
        size_t n;
} FinderPlace;

/* What looked like a database, and is not taken for one. */
typedef struct PassedOver {
        const char *name;
        const char *why;
} PassedOver;

typedef VEC(FinderPlace) FinderPlaces;
typedef VEC(PassedOver) PassedOvers;

/* What a finder looks at and adds to. */
typedef struct Finder {
        Arena *arena;
        const Sources *sources;
        const RunningProcesses *processes;
        const char *sysv_segments; /* /proc/sysvipc/shm; NULL: not known */
        VEC(Candidate) candidates;
        FinderPlaces places;
        PassedOvers passed_over;
        bool is_elsewhere; /* the processes are */
} Finder;

/* All members may be NULL. ENGINE is the one whose finder it is. */
typedef struct EngineFinder {
        /* Besides the units that the engine's traits name. */
        void (*find_installed)(Finder *finder, const Engine *engine);
        void (*find_running)(Finder *finder, const Engine *engine);
        /* What no other engine has found. */
        void (*find_rest)(Finder *finder, const Engine *engine);
        /* Says more of what was found: PROGRAM is the one of the engine's that the unit UNIT starts, or runs (UNIT
         * is NULL then). */
        void (*describe)(Finder *finder, Candidate *candidate, const UnitFile *unit,
                         const char *program);
} EngineFinder;

/* Has all engines look: at units, at what is installed, then at what runs. */
void engines_find(Finder *finder);

/* Never NULL. */
const EngineFinder *engine_finder(const Engine *engine);

/* Adds CANDIDATE, unless it was found before. */
void finder_add(Finder *finder, const Candidate *candidate);

/* It was looked at N of what TITLE says. */
void finder_looked(Finder *finder, const char *title, size_t n);

/* NAME is no database, for this reason: a clause. */
void finder_pass(Finder *finder, const char *name, const char *why);

/* The service of the host's own manager that starts PROCESS; NULL: none that a gate could be in. */
const char *finder_service(const RunningProcess *process);

/* The base name of the program that PROCESS was started as; "" where that is not known. */
const char *finder_program(Arena *arena, const RunningProcess *process);

/* Where the data of ENGINE's server PROCESS is; NULL: not known. */
const char *finder_data_directory(const RunningProcess *process, const Engine *engine);

/* Whether PATH is one that can be written down: absolute, and printable. */
bool finder_is_path(const char *path);

/* The name of a unit without its suffix: "mariadb@reports.service" -> "mariadb@reports". */
const char *finder_stem(const Finder *finder, const char *unit);

/* Its files are read as who runs it, whatever it says it is; NULL: not known. */
const char *finder_user(const Finder *finder, const RunningProcess *process);

/* A part of engines_find(): by what runs. */
void find_in_processes(Finder *finder);

/* The first of NAMES, a list of programs (NULL: none), that ExecStart= of UNIT starts, allocated in ARENA; NULL: none.
  */
const char *started_by_unit(Arena *arena, const UnitFile *unit, const char *names);
