/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Engines: the database products. Everything about one product is in its own folder, in parts, so that each program
 * links only what it uses:
 *
 *   traits   what a configuration and systemd's units depend on; here
 *   formula  how many pages its settings take (engines/formula.h)
 *   reader   which of its servers exist, and the size as its files and its server give it (engines/reader.h)
 *   rules    what can be wrong with it (check/rule_run.h)
 *
 * The folder's meson.build names its parts, and the one in this folder lists the folders. */

#include "base/arena.h"
#include "model/thp.h"

/* As much of a version as is known: "17.5" has two numbers, "8.0.36-2ubuntu3" three. */
typedef struct Version {
        uint64_t numbers[3]; /* 0 if not known */
        unsigned n_known;
} Version;

typedef struct Engine {
        const char *name;         /* as in Engine= */
        const char *title;        /* "PostgreSQL" */
        const char *default_unit; /* if the same on every distribution, else NULL */
        const char *default_user; /* the usual user that runs it; NULL: there is none */
        bool uses_sysv;           /* System V segments (SHM_HUGETLB) rather than mmap(2) */
        Version sysv_before;      /* older versions use System V segments; n_known 0: none do */
        ThpPolicy thp_preference; /* THP_AUTO: none */
        bool is_thp_dense;        /* with "always", khugepaged must not fill up sparse ranges */
        bool reserves;            /* false: it only has a THP preference */
        bool uses_default_size;   /* it maps pages of the host's default size only */
        bool has_auto;            /* Memory=auto: its files give the size */
        /* Memory=auto: nothing gives the size before a start; the running server's mappings do. */
        bool has_auto_by_looking;
        bool can_be_asked; /* its server reports the size before a start */
        /* The server maps all its shared memory at start: the observed size is exact even if it is below the formula's,
         * and small pages used instead of huge ones can be seen. */
        bool maps_all_at_start;
        /* The setting that Memory= stands for; NULL: plain bytes ("memory"). */
        const char *memory_setting;
        /* The suffix of a whole number of MiB in the product's configuration: "MB", "M". */
        const char *mebibyte_suffix;
        bool asks_version; /* the installed program is asked for its version, which decides the preference */
        /* The vendor's advice changes with this version; n_known 0: thp_preference holds for all versions. */
        Version thp_changed_in;
        ThpPolicy thp_since;
        /* The programs that its unit may start: patterns of base names (fnmatch(3)), separated by spaces; "!" precedes
         * those of programs that only resemble the server. NULL: any program. */
        const char *programs;
        /* A unit that starts a distribution's program outside `programs`, other than a script, belongs to another
         * product; false: any such program is accepted. */
        bool is_started_by_name;
        /* Base names that identify a database in any unit and in any process: the server's programs, and those
         * that start and may restart the server. NULL: none. */
        const char *servers;
        const char *supervisors;
        /* The option that names the data directory, which is also the server's working directory; NULL: none. */
        const char *data_option;
        /* Patterns of a component of its container images' names; NULL: none. */
        const char *images;
        /* Patterns of its units' names, among which a misspelt name is searched; NULL: all units. */
        const char *units;
} Engine;

/* All engines, in the order in which users see them. */
extern const Engine *const engines[];
extern const size_t n_engines;

/* Returns NULL if no engine has this name. */
const Engine *engine_find(const char *name);

/* Returns why engine_find() found nothing: "there is no engine 'postgres' (did you mean postgresql?)". */
char *engine_refuse(Arena *arena, const char *name);

/* Returns whether VERSION uses System V segments; NULL (not known) counts as the newest version. */
bool engine_uses_sysv(const Engine *engine, const char *version);

/* Sets *ret to ENGINE's preference in VERSION ("8.0.4"; NULL or empty: not known). Returns -EINVAL, with *ret its
 * general preference, if VERSION is not a version. */
int engine_thp_preference(const Engine *engine, const char *version, ThpPolicy *ret);

/* "19.3c" -> 19, "23ai" -> 23, "11.8.6-MariaDB" -> 11. Returns -EINVAL or -ERANGE as in base/size.h. */
int parse_major_version(const char *value, uint64_t *ret);

/* Returns -EINVAL or -ERANGE as in base/size.h. */
int parse_version(const char *value, Version *ret);

/* Returns a negative number if VERSION is older than LIMIT, a positive one if it is newer or equal, 0 if too little of
 * VERSION is known. In that case VERSION may precede and follow, and formulas assume the larger size. */
int version_side(Version version, Version limit);

static inline bool version_may_precede(Version version, Version limit) {
        return version_side(version, limit) <= 0;
}

static inline bool version_may_follow(Version version, Version limit) {
        return version_side(version, limit) >= 0;
}

/* VERSION(17, 0, 10): such a limit. */
#define VERSION(...) ((Version){{__VA_ARGS__}, 3})
