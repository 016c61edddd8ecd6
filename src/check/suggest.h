/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Suggestions: databases of this host that no instance describes yet, as drop-ins that can be written. They are found
 * by their packages' files (clusters, units, /etc/oratab) and by running processes. With Memory=auto a drop-in leaves
 * the size to each start; a comment has today's size. */

#include "demand/figures.h"
#include "engines/finder.h"

typedef struct SuggestInput {
        Arena *arena; /* of the result */
        const Config *config;
        const Topology *topology;
        const Sources *sources;
        const Gatherer *gatherer; /* for the databases' own files */
        const Processes *processes;
        const char *sysv_segments; /* /proc/sysvipc/shm; NULL: not known */
} SuggestInput;

typedef struct Suggestion {
        const char *title; /* "PostgreSQL 15, cluster main" */
        const char *found; /* its place: "/etc/postgresql/15/main" */
        const Engine *engine;
        const char *unit;           /* NULL: not known */
        const char *path;           /* of the drop-in; NULL: none is proposed */
        const char *text;           /* its text */
        const char *described;      /* the file that describes this database already; NULL: none */
        const char *why_not;        /* why nothing is proposed, if it is not described */
        uint64_t peak_bytes;        /* VmPeak of its process, a hint if why_not is set; 0: none */
        uint64_t pages;             /* of the default size, by the present settings; 0: not known */
        const char *data_directory; /* NULL: not known */
        bool is_running;            /* a process was found */
        uint64_t sessions;          /* the most, see engine_sessions() */
} Suggestion;

typedef struct Suggestions {
        Suggestion *items;
        size_t n, capacity;
        Processes processes;     /* those that were examined */
        PassedOvers passed_over; /* what looked like a database, and is none or cannot be used */
} Suggestions;

/* Returns everything that was found, each database once, by engine. */
Suggestions suggest(const SuggestInput *input);
