/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The keys of configuration: one row each. */

#include "config/config_file.h"

typedef enum Section { SECTION_HOST, SECTION_INSTANCE } Section;

/* What a key is set in; the one that is not concerned is NULL. */
typedef struct KeyTarget {
        Arena *arena;
        HostConfig *host;
        InstanceConfig *instance;
        bool is_learned;  /* the file at hand is our own record of what the last start found */
        const char *file; /* where the assignment at hand stands */
        unsigned line;
} KeyTarget;

typedef struct ConfigKey ConfigKey;

struct ConfigKey {
        Section section;
        const char *name;
        /* Sets VALUE; returns NULL, or a sentence on what is wrong with it. */
        const char *(*set)(KeyTarget *target, const ConfigKey *key, const char *value);
        const char *default_value; /* also what an empty value resets to; NULL: nothing is set */
        const char *expects;       /* the remedy: what may be written */
        size_t offset,
                size; /* of the member that it sets; without a default it is zero where nothing is set */
        const char *const *words;               /* of an enumeration; NULL at their end */
        const char *(*check)(const char *name); /* of a name: what is wrong with it */
        const char *(*add)(KeyTarget *target,
                           const char *word); /* of a list of words: one of them */
        bool is_list;                         /* may be repeated: values add up */
        void (*reset)(KeyTarget *target);     /* where more than that member is to be taken off */
};

extern const ConfigKey config_keys[];
extern const size_t n_config_keys;

/* Where KEY's value is in TARGET. */
void *config_key_member(const KeyTarget *target, const ConfigKey *key);

/* Keys of the user's own mean nothing, but those in our own record are ours. */
void config_keys_note_learned(KeyTarget *target, const Assignment *assignment);

/* Sets every key of SECTION to its default. */
void config_keys_set_defaults(KeyTarget *target, Section section);

/* Sets the assignments of one section of PARSED. Every mistake goes to PROBLEMS and refuses the
 * file. Keys that begin with X- are the user's own. */
void config_keys_apply(KeyTarget *target, Section section, ParsedFile *parsed, Diags *problems);
