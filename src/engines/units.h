/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* An engine's units: which of its servers exist, and which units start them. Reads units, and only those of the
 * product's own files that show that a server exists: no setting, no size. */

#include "engines/engine.h"
#include "read/source.h"

/* The server whose size is wanted: where an [Instance] says that its database is. */
typedef struct EngineTarget {
        const char *instance;    /* its name; NULL: none yet */
        const char *unit;        /* NULL: not known */
        const char *config_file; /* ConfigFile=; NULL: the engine's default */
        bool is_alone; /* only that file is read: it may belong to a server of another host */
        const char *data_directory; /* DataDirectory=; NULL: the engine's default */
        const char *user;         /* User=; NULL: the owner of the data directory, or of the unit */
        unsigned n_cpus;          /* of the host; 0: not known */
        uint64_t base_page_bytes; /* of the host; 0: not known */
        /* The running server's arguments, used instead of the unit and its files; NULL: not known. */
        const SourceNames *arguments;
} EngineTarget;

/* All members may be NULL. */
typedef struct EngineUnits {
        /* Adds the units of existing servers, also if only their template has a file. */
        void (*add)(const Engine *engine, Arena *arena, const Sources *sources, SourceNames *units);
        /* Returns why the server that TARGET's unit starts does not exist, as a sentence; NULL: it exists, or that is
         * not known. HAS_DISKS: the file systems of its data are mounted. */
        const char *(*find_absent)(const Engine *engine, Arena *arena, const EngineTarget *target,
                                   const Sources *sources, bool has_disks);
} EngineUnits;

/* Never NULL. */
const EngineUnits *engine_units(const Engine *engine);
