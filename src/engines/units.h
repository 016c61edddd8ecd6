/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* An engine's units: which of its servers exist, and which units start them. Reads units, and of the product's own
 * files no more than tells that a server is there: no setting, no size. */

#include "engines/engine.h"
#include "read/source.h"

/* Whose size is to be found: what an [Instance] says of where its database is. */
typedef struct EngineTarget {
        const char *instance;    /* its name; NULL where there is none yet */
        const char *unit;        /* NULL: not known */
        const char *config_file; /* ConfigFile=; NULL: where the engine has it by default */
        bool is_alone; /* only that file counts, for it need not be of a server of this host */
        const char *data_directory; /* DataDirectory=; likewise */
        const char *user;         /* User=; NULL: the owner of the data directory, or of the unit */
        unsigned n_cpus;          /* of the host; 0: not known */
        uint64_t base_page_bytes; /* likewise */
        /* What its server runs with now, which counts for what the unit and its files say; NULL: not known. */
        const SourceNames *arguments;
} EngineTarget;

/* All members may be NULL. */
typedef struct EngineUnits {
        /* The units of servers that exist, also where only their template has a file. */
        void (*add)(const Engine *engine, Arena *arena, const Sources *sources, SourceNames *units);
        /* Why the server that TARGET's unit starts does not exist, as a sentence; NULL: it does, or that
         * is not known. HAS_DISKS: its data's file systems are mounted by now. */
        const char *(*find_absent)(const Engine *engine, Arena *arena, const EngineTarget *target,
                                   const Sources *sources, bool has_disks);
} EngineUnits;

/* Never NULL. */
const EngineUnits *engine_units(const Engine *engine);
