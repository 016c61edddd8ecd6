/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* For the files that the entries are made of: setting_source.c and setting_source_mention.c find them,
 * setting_source_match.c says which is effective and which is to be named. */

#include "read/setting_source.h"

/* A file of the kernel that hugeplan manages on this host. */
typedef struct Target {
        const char *path;
        SettingSourceKind what;
} Target;

struct SettingSources {
        Arena *arena;
        const Topology *topology;
        VEC(Target) targets;
        SettingSourceList list;
};

bool setting_source_is_pattern(const char *string);

/* Whether SETTING, a path or a pattern, sets the file PATH. */
bool setting_source_sets_path(const char *setting, const char *path);

/* The search of one file; ARENA lives as long as that. */
typedef struct SettingSearch {
        Arena *arena;
        SettingSources *entries;
        const SettingSourceFile *file;
        unsigned line;
        size_t n_before;     /* entries of earlier files */
        const char *section; /* of a tuned profile */
        const char *plugin;  /* what the section is for */
        bool is_off;         /* the section says enabled=no */
        bool is_appending;   /* the line says w+ */
} SettingSearch;

void setting_source_add_entry(const SettingSearch *search, SettingSourceKind what, const char *key,
                              const char *value, const char *path);

/* One entry for each kind of thing that PATH, which may be a pattern, sets on this host. */
void setting_source_add(const SettingSearch *search, const char *key, const char *value,
                        const char *path);

/* KEY as sysctl(8) takes it. */
void setting_source_add_sysctl(const SettingSearch *search, const char *key, const char *value);

/* KEY as part of a path. */
char *setting_source_normalize_key(Arena *arena, const char *key);

/* Takes what LINE, a kernel command line or a part of one, sets. */
void setting_source_take_kernel_line(const SettingSearch *search, const char *line);

/* Adds the lines of the file that mention huge pages, and of which nothing was read. */
void setting_source_search_mentions(SettingSearch *search);
