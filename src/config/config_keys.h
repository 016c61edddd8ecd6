/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The keys of configuration: one row each. */

#include "config/config.h"

/* ---- one configuration file, split into assignments ---- */

/* The first half of reading configuration: the parser knows lines, sections and equals signs, but no keys. */

typedef struct Assignment {
        const char *section;
        const char *key;
        const char *value; /* "" resets */
        unsigned line;
} Assignment;

typedef struct ParsedFile {
        const ConfigFile *file;
        VEC(Assignment) assignments; /* also those after a mistake, so that Unit= can be found */
        bool has_host;               /* a [Host] section was seen */
        bool has_instance;           /* an [Instance] section was seen */
        bool is_empty;               /* no section and no assignment: the file masks another */
        const Diag *refusal;         /* the first mistake; NULL: none so far */
} ParsedFile;

/* Splits FILE into assignments; every mistake is added to PROBLEMS, and the first one is also kept in `refusal`. */
ParsedFile *config_file_parse(Arena *arena, const ConfigFile *file, Diags *problems);

/* Adds an error to PROBLEMS and keeps it as the file's refusal if it is the first. LINE may be 0, KEY NULL. */
void config_file_refuse(ParsedFile *parsed, Diags *problems, ProblemKind kind, unsigned line,
                        const char *key, const char *text, const char *remedy);

typedef enum Section { SECTION_HOST, SECTION_INSTANCE } Section;

/* What a key sets: `host` or `instance`, by its section; the other one is NULL. */
typedef struct KeyTarget {
        Arena *arena;
        HostConfig *host;
        InstanceConfig *instance;
        bool is_learned;  /* the current file is hugeplan's own record of the last start */
        const char *file; /* file and line of the current assignment */
        unsigned line;
} KeyTarget;

typedef struct ConfigKey ConfigKey;

struct ConfigKey {
        Section section;
        const char *name;
        /* Sets VALUE. Returns NULL, or an error message if VALUE is invalid. */
        const char *(*set)(KeyTarget *target, const ConfigKey *key, const char *value);
        const char *default_value; /* an empty value resets the key to it; NULL: none */
        const char *expects;       /* the remedy: what values are valid */
        size_t offset,
                size; /* of the member that the key sets; the member is zero if there is no default */
        const char *const *words;               /* of an enumeration; NULL at the end */
        const char *(*check)(const char *name); /* of a name: returns what is wrong */
        const char *(*add)(KeyTarget *target, const char *word); /* for a list: adds one word */
        bool is_list;                     /* may be repeated: values accumulate */
        void (*reset)(KeyTarget *target); /* if more than that member is reset */
};

extern const ConfigKey config_keys[];
extern const size_t n_config_keys;

/* Sets every key of SECTION to its default. */
void config_keys_set_defaults(KeyTarget *target, Section section);

/* Applies the assignments of one section of PARSED. Every mistake is added to PROBLEMS and refuses the file. Keys that
 * begin with X- are the administrator's own. */
void config_keys_apply(KeyTarget *target, Section section, ParsedFile *parsed, Diags *problems);
