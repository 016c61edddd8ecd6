/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Suggestions: the databases of this host that no instance describes yet, as drop-ins ready to be
 * written. Found by what their packages leave behind (clusters, units, /etc/oratab) and by what runs
 * now. A drop-in says with Memory=auto what can be found out anew at each start; how large that is
 * today stands beside it as a comment. */

#include "check/migrate/set_pages.h"
#include "demand/figures.h"
#include "engines/finder.h"
#include "status/history.h"

typedef struct SuggestInput {
        const Config *config;
        const Topology *topology;
        const Sources *sources;
        const Gatherer *gatherer; /* of the databases' own files */
        const RunningProcesses *processes;
        const char *sysv_segments; /* /proc/sysvipc/shm; NULL: not known */
} SuggestInput;

typedef struct Suggestion {
        const char *title; /* "PostgreSQL 15, cluster main" */
        const char *found; /* where: "/etc/postgresql/15/main" */
        const Engine *engine;
        const char *unit;      /* NULL: not known */
        const char *path;      /* of the drop-in; NULL: none is proposed */
        const char *text;      /* its text */
        const char *described; /* the file that describes this database already; NULL: none */
        const char *why_not;   /* why nothing is proposed, where it is not described either */
        uint64_t peak_bytes;   /* VmPeak of its process, as a hint where why_not is set; 0: none */
        uint64_t pages;        /* of the default size, by today's settings; 0: not known */
        const char *data_directory; /* NULL: not known */
        bool is_running;            /* as far as was seen */
        uint64_t sessions;          /* at most; as for engine_sessions() */
} Suggestion;

typedef struct Suggestions {
        Suggestion *items;
        size_t n, capacity;
        RunningProcesses processes; /* that were looked at */
        FinderPlaces places;        /* where was looked */
        PassedOvers
                passed_over; /* what is no database, or none that could be made use of, though it seemed so */
} Suggestions;

/* What there is on a host of which nothing is described yet: databases, what their memory is mapped by, what that
 * costs in page tables, and who sets huge pages. */
typedef struct FirstLook {
        const Suggestions *suggestions;
        const SetPagesList *set_pages;
        const HistoryEntries *history; /* NULL: all of these are explained */
        const Topology *topology;
        uint64_t tables_bytes; /* page tables of the whole host; 0: not known */
} FirstLook;

/* Everything that was found, each database once, by engine. */
Suggestions suggest(Arena *arena, const SuggestInput *input);
