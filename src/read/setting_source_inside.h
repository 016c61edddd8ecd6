/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* For the two files that the entries are made of: setting_source.c finds them, setting_source_match.c says which
 * is effective and which is to be named. */

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
        VEC(SettingSource) list;
};

bool setting_source_is_pattern(const char *string);

/* Whether SETTING, a path or a pattern, sets the file PATH. */
bool setting_source_sets_path(const char *setting, const char *path);
