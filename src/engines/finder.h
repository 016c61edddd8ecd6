/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* An engine's finder: finds the product's databases that no instance describes yet, by what its packages install and by
 * the running processes. */

#include "engines/reader.h"
#include "read/unit_file.h"

/* What is known of a process. Its owner can forge names and arguments, so they are only used to find files, and are
 * checked before they are written to a file. */
typedef struct RunningProcess {
        uint64_t pid;
        uint64_t uid;          /* of its user; UINT64_MAX: not known */
        const char *command;   /* the kernel's short name: "postgres" */
        SourceNames arguments; /* its command line; [0] is the name that the process gives itself */
        const char *unit;      /* its service, of the host's manager; NULL: none */
        const char *directory; /* working directory, for many servers their data; NULL: not known */
        const char *
                container; /* "Podman container 0123456789ab"; NULL: its control group names none */
        uint64_t peak_bytes;   /* VmPeak; 0: not known */
        uint64_t tables_bytes; /* its page tables: VmPTE */
        uint64_t shared_bytes; /* touched shared memory: RssShmem */
        uint64_t huge_bytes;   /* huge pages: HugetlbPages; a lower bound */
        /* Mapped huge pages, and shared memory mapped instead of them; 0: none, or not examined. */
        uint64_t mapped_bytes;
        bool is_elsewhere; /* its root directory is not the host's, as in a container */
} RunningProcess;

typedef VEC(RunningProcess) RunningProcesses;

/* A database that was found; whether it needs huge pages is not known yet. */
typedef struct Candidate {
        const Engine *engine;
        const char *name; /* the instance's: "postgresql-15-main" */
        const char *title;
        const char *found;
        EngineTarget target;
        const char *note;              /* a hint for the administrator; NULL: none */
        const RunningProcess *process; /* its largest known process; NULL: none */
        uint64_t memory_bytes;         /* for Memory=, if nothing can be asked; 0: none */
        bool is_elsewhere;             /* the paths in TARGET are not paths of this host */
        bool is_guess;                 /* it counts as a database only if its size can be found */
} Candidate;

/* A kind of place that was searched, and how many there were. */
typedef struct FinderPlace {
        const char *title; /* "units" */
        size_t n;
} FinderPlace;

/* Something that resembles a database but is not suggested, and why. */
typedef struct PassedOver {
        const char *name;
        const char *why;
} PassedOver;

typedef VEC(FinderPlace) FinderPlaces;
typedef VEC(PassedOver) PassedOvers;

/* The finder's inputs and results. */
typedef struct Finder {
        Arena *arena;
        const Sources *sources;
        const RunningProcesses *processes;
        const char *sysv_segments; /* /proc/sysvipc/shm; NULL: not known */
        VEC(Candidate) candidates;
        FinderPlaces places;
        PassedOvers passed_over;
        bool is_elsewhere; /* the processes are in other root directories */
} Finder;

/* All members may be NULL. ENGINE is the engine that the finder belongs to. */
typedef struct EngineFinder {
        /* Finds installed databases other than the units that the engine's traits name. */
        void (*find_installed)(Finder *finder, const Engine *engine);
        void (*find_running)(Finder *finder, const Engine *engine);
        /* Finds databases that no other finder has found. */
        void (*find_rest)(Finder *finder, const Engine *engine);
        /* Adds details to a candidate: PROGRAM is the engine's program that UNIT starts; if UNIT is NULL, the one that
         * runs. */
        void (*describe)(Finder *finder, Candidate *candidate, const UnitFile *unit,
                         const char *program);
} EngineFinder;

/* Runs all engines' finders: on units, on installed files, then on processes. */
void engines_find(Finder *finder);

/* Never NULL. */
const EngineFinder *engine_finder(const Engine *engine);

/* Adds CANDIDATE, or merges it into the candidate of the same database. */
void finder_add(Finder *finder, const Candidate *candidate);

/* Records that N of TITLE were searched. */
void finder_looked(Finder *finder, const char *title, size_t n);

/* Records that NAME is not suggested; WHY is a clause. */
void finder_pass(Finder *finder, const char *name, const char *why);

/* Returns the service of the host's own manager that PROCESS belongs to; NULL: none that can have a gate. */
const char *finder_service(const RunningProcess *process);

/* Returns the base name of the program that PROCESS was started as; "" if not known. */
const char *finder_program(Arena *arena, const RunningProcess *process);

/* Returns the data directory of PROCESS, a server of ENGINE; NULL if not known. */
const char *finder_data_directory(const RunningProcess *process, const Engine *engine);

/* Returns whether PATH can be written to a file: absolute, and printable. */
bool finder_is_path(const char *path);

/* Returns the name of UNIT without its suffix: "mariadb@reports.service" -> "mariadb@reports". */
const char *finder_stem(const Finder *finder, const char *unit);

/* Returns the user of PROCESS, as which its files are read, whatever PROCESS claims; NULL if not known. */
const char *finder_user(const Finder *finder, const RunningProcess *process);

/* The part of engines_find() that searches processes. */
void find_in_processes(Finder *finder);

/* Returns the first of NAMES, a list of programs (NULL: none), that ExecStart= of UNIT starts; NULL: none. */
const char *started_by_unit(const UnitFile *unit, const char *names);
