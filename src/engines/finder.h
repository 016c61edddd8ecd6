/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* An engine's finder: finds the product's databases that no instance describes yet, by what its packages install and by
 * the running processes. */

#include "engines/reader.h"
#include "read/process.h"
#include "read/unit_file.h"

/* A database that was found; whether it needs huge pages is not known yet. */
typedef struct Candidate {
        const Engine *engine;
        const char *name; /* the instance's: "postgresql-15-main" */
        const char *title;
        const char *found;
        EngineTarget target;
        const char *note;       /* a hint for the administrator; NULL: none */
        const Process *process; /* its largest known process; NULL: none */
        uint64_t memory_bytes;  /* for Memory=, if nothing can be asked; 0: none */
        bool is_elsewhere;      /* the paths in TARGET are not paths of this host */
        bool is_guess;          /* it counts as a database only if its size can be found */
} Candidate;

/* Something that resembles a database but is not suggested, and why. */
typedef struct PassedOver {
        const char *name;
        const char *why;
} PassedOver;

typedef VEC(PassedOver) PassedOvers;

/* The finder's inputs and results. */
typedef struct Finder {
        Arena *arena;
        const Sources *sources;
        const Processes *processes;
        const char *sysv_segments; /* /proc/sysvipc/shm; NULL: not known */
        VEC(Candidate) candidates;
        PassedOvers passed_over;
} Finder;

/* All members may be NULL. ENGINE is the engine that the finder belongs to. */
typedef struct EngineFinder {
        /* Finds installed databases other than the units that the engine's traits name. */
        void (*find_installed)(Finder *finder, const Engine *engine);
        /* Returns whether PROCESS is a database of this engine's. NULL: each of the engine's servers is. */
        bool (*is_process)(Finder *finder, const Process *process);
        /* Names the database of a process, which may be a candidate even if it runs in no service. */
        bool is_named;
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

/* Records that NAME is not suggested; WHY is a clause. */
void finder_pass(Finder *finder, const char *name, const char *why);

/* Returns the service of the host's own manager that PROCESS belongs to; NULL: none that can have a gate. */
const char *finder_service(const Process *process);

/* Returns the base name of the program that PROCESS was started as; "" if not known. */
const char *finder_program(Arena *arena, const Process *process);

/* Returns the data directory of PROCESS, a server of ENGINE; NULL if not known. */
const char *finder_data_directory(const Process *process, const Engine *engine);

/* Returns whether PATH can be written to a file: absolute, and printable. */
bool finder_is_path(const char *path);

/* Returns the name of UNIT without its suffix: "mariadb@reports.service" -> "mariadb@reports". */
const char *finder_stem(const Finder *finder, const char *unit);

/* The part of engines_find() that searches processes. */
void find_in_processes(Finder *finder);

/* Returns the first of NAMES, a list of programs (NULL: none), that ExecStart= of UNIT starts; NULL: none. */
const char *started_by_unit(const UnitFile *unit, const char *names);
