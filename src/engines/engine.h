/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Engines: the database products. All that is known of one is in a folder of its own, in parts, so that a
 * program takes along only what it uses:
 *
 *   traits   what a configuration and systemd's units depend on; here
 *   formula  how many pages its settings take (engines/formula.h)
 *   units    which of its servers exist, and who starts them (engines/units.h)
 *   reader   where its own files and its server say so (engines/reader.h)
 *   rules    what may be wrong with it (check/rule_run.h)
 *
 * The folder's meson.build names them, and the one in this folder lists the folders. */

#include "base/arena.h"
#include "model/thp.h"

/* A version as far as it is known: "17.5" has two numbers, "8.0.36-2ubuntu3" three. */
typedef struct Version {
        uint64_t numbers[3]; /* 0 where they are not known */
        unsigned n_known;
} Version;

typedef struct Engine {
        const char *name;         /* as in Engine= */
        const char *title;        /* "PostgreSQL" */
        const char *default_unit; /* where it is the same everywhere, else NULL */
        const char *default_user; /* who runs it, where nearly everybody has it so; else NULL */
        bool uses_sysv;           /* System V segments (SHM_HUGETLB) rather than mmap(2) */
        Version sysv_before;      /* it did so before this version; nothing known: in none */
        ThpPolicy thp_preference; /* THP_AUTO: none */
        bool is_thp_dense;        /* with "always", khugepaged must not fill up sparse ranges */
        bool reserves;            /* false: it has a THP preference only */
        bool uses_default_size;   /* it maps pages of the host's default size only */
        bool has_auto;            /* Memory=auto: its own files tell how much it needs */
        /* Memory=auto: nothing tells beforehand, what it has mapped does. */
        bool has_auto_by_looking;
        bool can_be_asked; /* its server says itself how much it needs, before it starts */
        /* All that it will ever take is mapped once it has started, as shared memory: what is seen is exact also where
         * it is less than the rule says, and what it takes of small pages instead can be seen. */
        bool maps_all_at_start;
        /* The setting that Memory= stands for; NULL: plain bytes ("memory"). */
        const char *memory_setting;
        /* What stands behind a whole number of MiB in the product's configuration: "MB", "M". */
        const char *mebibyte_suffix;
        bool asks_version; /* the installed program is asked for its version, on which the preference depends */
        /* From this version on the vendor's advice is another; nothing known: thp_preference is for all. */
        Version thp_changed_in;
        ThpPolicy thp_since;
        /* Its unit. The programs that start the server, by their base names as patterns (fnmatch(3)),
         * separated by spaces; "!" before those that only look like it. NULL: any may. */
        const char *programs;
        /* A unit that starts a distribution's program which is none of these, nor a script, is another's;
         * false: who starts it is the administrator's business. */
        bool is_started_by_name;
        /* The units that its packages bring, as patterns: each is likely a database. NULL: none. */
        const char *services;
        /* What any other unit, and any process, is a database by: the base names of the server's programs, and those
         * of what starts it and may start it again. NULL: by none. */
        const char *servers;
        const char *supervisors;
        /* The server works in its data directory, and is told of that by this option; NULL: neither. */
        const char *data_option;
        /* What its container images are called, as patterns of a word between slashes; NULL: nothing. */
        const char *images;
        /* What its units are called, as patterns: where to look when one is misspelt; NULL: anything. */
        const char *units;
} Engine;

/* All engines, in the order they are listed to users. */
extern const Engine *const engines[];
extern const size_t n_engines;

/* NULL for a name that is none. */
const Engine *engine_find(const char *name);

/* "there is no engine 'postgres' (did you mean postgresql?)": why engine_find() has none. */
char *engine_refuse(Arena *arena, const char *name);

/* Whether it takes System V segments in this version; of one that is not known (NULL), what its newest do. */
bool engine_uses_sysv(const Engine *engine, const char *version);

/* What ENGINE wants in this version ("8.0.4"; NULL or empty: not known). -EINVAL, and *ret is its
 * general preference, where that is no version. */
int engine_thp_preference(const Engine *engine, const char *version, ThpPolicy *ret);

/* "19.3c" -> 19, "23ai" -> 23, "11.8.6-MariaDB" -> 11; -EINVAL, -ERANGE as in base/size.h. */
int parse_major_version(const char *value, uint64_t *ret);

/* -EINVAL, -ERANGE as in base/size.h. */
int parse_version(const char *value, Version *ret);

/* Below 0: VERSION is older than LIMIT, above 0: newer or the same; 0: not enough of VERSION is known to tell. Rules
 * that differ by version are reckoned by the one that takes more then: VERSION may precede and follow. */
int version_side(Version version, Version limit);

static inline bool version_may_precede(Version version, Version limit) {
        return version_side(version, limit) <= 0;
}

static inline bool version_may_follow(Version version, Version limit) {
        return version_side(version, limit) >= 0;
}

/* "17.0.10" as such a limit. */
#define VERSION(...) ((Version){{__VA_ARGS__}, 3})
