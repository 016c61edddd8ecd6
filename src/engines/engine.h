/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Engines: what each database product needs, one file and one row each.
 *
 * An engine turns the product's own settings into the number of huge pages its shared memory
 * takes, and says how it got there. Pure: the settings come in as values. Sources of the formulas
 * stand beside each of them. */

#include "base/diag.h"
#include "model/thp.h"
#include "read/source.h"

/* One setting under the product's own name, as it would stand in its configuration. */
typedef struct Setting {
        const char *name;   /* "shared_buffers" */
        const char *value;  /* "128GB" */
        const char *origin; /* "FILE:LINE", or what else it comes from; NULL: the caller's wish */
} Setting;

typedef VEC(Setting) Settings;

/* One line of a derivation, top to bottom. */
typedef struct SizingStep {
        const char *what;    /* "buffer descriptors and hash" */
        const char *formula; /* "2.8 % of shared_buffers"; NULL where a value is taken as it is */
        uint64_t bytes;      /* what the step adds */
} SizingStep;

typedef struct Sizing {
        uint64_t page_size_bytes;
        uint64_t pages;
        uint64_t bytes; /* pages x page_size_bytes, UINT64_MAX where that overflows */
        bool is_exact;  /* false: an upper bound or estimate; `caveat` says which */
        const char *caveat;
        VEC(SizingStep) steps;
} Sizing;

/* Whose size is to be found: what an [Instance] says of where its database is. */
typedef struct EngineTarget {
        const char *instance;       /* its name; NULL where there is none yet */
        const char *unit;           /* NULL: not known */
        const char *config_file;    /* ConfigFile=; NULL: where the engine has it by default */
        const char *data_directory; /* DataDirectory=; likewise */
        const char *user; /* User=; NULL: the owner of the data directory, or of the unit */
} EngineTarget;

/* What a product's own configuration says. */
typedef struct Gathered {
        Settings settings; /* with origins, in the order in which the product takes them */
        /* Worth knowing, and no reason to stop: an included file that is missing, a unit that passes
         * options. Errors are returned by the function instead. */
        Diags problems;
        const char *version;        /* "15.18", or as much of it as the files tell; NULL: nothing */
        const char *data_directory; /* as found; NULL: not found */
        const char *config_file;    /* the main file; NULL: there is none */
        const char *user;           /* who runs the server; NULL: not known */
        /* Those of the settings that a command line gives: a program that is asked must be told. */
        Settings options;
        const char *program;   /* the server's, where the unit names it; NULL: not known */
        const char *untrusted; /* why no program is to be asked with these options; NULL: it may be */
} Gathered;

/* Asked as whom it does not matter: it needs no rights. */
#define QUESTION_ANYBODY "nobody"

/* A program that knows the size exactly: run by our own unit before a start and by the administrator's
 * programs, never by the daemon, as QUESTION.user, without a shell. */
typedef struct Question {
        SourceNames program;        /* absolute paths, the first that exists counts */
        SourceNames arguments;      /* without the program's own name */
        const char *user;           /* NULL: the owner of data_directory */
        const char *data_directory; /* NULL: none is needed; user is set then */
        const char *untrusted;      /* why it is not to be asked at all; NULL: it may be */
} Question;

typedef struct Engine {
        const char *name;         /* as in Engine= */
        const char *title;        /* "PostgreSQL" */
        const char *default_unit; /* where it is the same everywhere, else NULL */
        const char *default_user; /* who runs it, where nearly everybody has it so; else NULL */
        bool uses_sysv;           /* System V segments (SHM_HUGETLB) rather than mmap(2) */
        ThpPolicy thp_wish;       /* THP_AUTO: none */
        bool is_thp_dense;        /* with "always", khugepaged must not fill up sparse ranges */
        bool reserves;            /* false: it has a THP wish only */
        bool uses_default_size;   /* it maps pages of the host's default size only */
        /* The setting that Memory= stands for; NULL: plain bytes ("memory"). */
        const char *memory_setting;
        /* What stands behind a whole number of MiB in the product's configuration: "MB", "M". */
        const char *mebibyte_suffix;
        /* The pages of PAGE_SIZE_BYTES (not 0) that SETTINGS need; what they leave out is the
         * product's default. Fills *ret (allocated in ARENA) and returns NULL, or leaves it and
         * returns a sentence that says which setting is wrong and what to write. A name the engine
         * does not know is wrong where it is the caller's wish, and skipped where it has an
         * origin, for a product's own file holds much that does not matter here. */
        const char *(*size)(Arena *arena, const Settings *settings, uint64_t page_size_bytes,
                            Sizing *ret);
        /* Memory=auto: finds and reads the product's own configuration. NULL: this engine cannot be
         * asked. Returns NULL, or a sentence (with file and line) on what keeps it from knowing. The
         * text of a file is never quoted beyond the values of known settings: this runs as root on
         * files that strangers wrote. */
        const char *(*gather)(Arena *arena, const EngineTarget *target, const Sources *sources,
                              Gathered *ret);
        /* The question whose answer is exact; false: there is none, and `size` is all that is to be
         * had. NULL likewise. */
        bool (*ask)(Arena *arena, const Gathered *gathered, uint64_t page_size_bytes,
                    Question *ret);
        /* What the program has printed, as a figure. NULL, or a sentence on why it is none. */
        const char *(*answer)(Arena *arena, const Gathered *gathered, const char *output,
                              uint64_t page_size_bytes, Sizing *ret);
        /* The wish by version, where the vendor's advice has changed; NULL: thp_wish for all. */
        ThpPolicy (*thp_by_version)(uint64_t major, uint64_t minor);
        /* The question for the version, of engines that reserve nothing and whose wish it decides;
         * NULL: none. Works without a gather, since there are no settings to read. */
        void (*ask_version)(Arena *arena, const EngineTarget *target, const Sources *sources,
                            Question *ret);
        /* The version ("8.0.4", in ARENA) in what the program has printed. NULL, or a sentence. */
        const char *(*answer_version)(Arena *arena, const char *output, const char **ret_version);
        /* Its unit. The programs that start the server, by their base names as patterns (read/culprit.h),
         * with blanks between; "!" before those that only look like it. NULL: any may. */
        const char *programs;
        /* A unit that starts a distribution's program which is none of these, nor a script, is another's;
         * false: who starts it is the administrator's business. */
        bool is_started_by_name;
        /* What its units are called, as patterns: where to look when one is misspelt; NULL: anything. */
        const char *units;
        /* The units of servers that exist, also where only their template has a file; NULL: none such. */
        void (*add_units)(Arena *arena, const Sources *sources, SourceNames *units);
        /* Why the server that TARGET's unit starts does not exist, as a sentence; NULL: it does, or that
         * is not known. HAS_DISKS: its data's file systems are mounted by now. NULL likewise. */
        const char *(*find_absent)(Arena *arena, const EngineTarget *target, const Sources *sources,
                                   bool has_disks);
} Engine;

/* All engines, in the order they are listed to users. */
extern const Engine *const engines[];
extern const size_t n_engines;

/* NULL for a name that is none. */
const Engine *engine_find(const char *name);

/* "generic, postgresql, oracle, ...": for messages. */
char *engine_names(Arena *arena);

/* What ENGINE wants in this version ("8.0.4"; NULL or empty: not known). -EINVAL, and *ret is its
 * general wish, where that is no version. */
int engine_thp_wish(const Engine *engine, const char *version, ThpPolicy *ret);

/* The last setting of that name (later wins), NULL where there is none. As for the products, case
 * does not count and "-" is "_". */
const Setting *settings_find(const Settings *settings, const char *name);
void settings_add(Arena *arena, Settings *settings, const char *name, const char *value,
                  const char *origin);

/* Adds a step and its bytes to *SIZING->bytes, stopping at UINT64_MAX. */
void sizing_add(Arena *arena, Sizing *sizing, const char *what, const char *formula,
                uint64_t bytes);

/* Rounds SIZING->bytes up to pages of page_size_bytes and fills pages and bytes. */
void sizing_finish(Sizing *sizing);
