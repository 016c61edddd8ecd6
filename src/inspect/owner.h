/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Whose a database is: the user as whom its files are read and its program is asked. */

#include "engines/reader.h"
#include "host/root.h"

#include <sys/stat.h>
#include <sys/types.h>

enum { OWNER_GROUPS_MAX = 256 };

typedef struct Person {
        uid_t uid;
        gid_t gid;
        const char *name;
        const char *home;
        gid_t groups[OWNER_GROUPS_MAX];
        int n_groups;
} Person;

/* Who runs this process. */
void owner_ourselves(Arena *arena, Person *ret);

/* By name or number; NULL, or a sentence. */
const char *owner_find_user(Arena *arena, const char *name, Person *ret);

/* Who owns PATH, which is not opened. NULL, or a sentence. */
const char *owner_of_path(Arena *arena, const char *path, Person *ret);

/* Who reads what is at PATH: its owner, but never root, for whom somebody without rights stands in. Where we
 * are not root, ourselves. */
void owner_to_read(Arena *arena, const char *path, Person *ret);

/* Who reads TARGET's files: User= of the instance, of its unit, the owner of what the configuration names,
 * the engine's usual user; never root, for whom somebody without rights stands in. Where we are not root,
 * ourselves. *RET_IS_GUESS: nothing says so, and what he finds may. NULL, or a sentence. */
const char *owner_of_target(const Root *root, Arena *arena, const Engine *engine,
                            const EngineTarget *target, Person *ret, bool *ret_is_guess);

/* Why we, who are not root, are not whom owner_of_target() would find if we were, as a sentence; NULL: we are, or
 * neither is anybody in particular. */
const char *owner_why_not_us(const Root *root, Arena *arena, const Engine *engine,
                             const EngineTarget *target, bool *ret_is_guess);

/* What is to be done about files of OWNER, which we read as somebody else. A sentence. */
const char *owner_say_other(Arena *arena, const Person *owner);

/* Why a file or directory with these ids and this mode may be written by others than root and PERSON; NULL:
 * it may not. */
const char *owner_why_open(Arena *arena, const struct stat *st, const Person *person);
