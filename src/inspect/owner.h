/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The owner of a database: the user as whom hugeplan reads its files and asks its program. */

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

/* Sets *RET to the user of this process. */
void owner_ourselves(Arena *arena, Person *ret);

/* Finds a user by name or number. Returns NULL, or an error message. */
const char *owner_find_user(Arena *arena, const char *name, Person *ret);

/* Finds the owner of PATH. Returns false if there is none, or if the file system does not answer in time. */
bool owner_of_path(Arena *arena, const char *path, Person *ret);

/* Finds the user who reads PATH: its owner, or the unprivileged user nobody instead of root. If this process is not
 * root: the user of this process. */
void owner_to_read(Arena *arena, const char *path, Person *ret);

/* Finds the user who reads TARGET's files: User= of the instance, else of its unit, else the owner of the configured
 * path, else the engine's default user; nobody instead of root. If this process is not root: its own user.
 * *RET_IS_GUESS: nothing configured names the owner, but the files found may. Returns NULL, or an error message. */
const char *owner_of_target(const Root *root, Arena *arena, const Engine *engine,
                            const EngineTarget *target, Person *ret, bool *ret_is_guess);

/* For a process that is not root: returns why its user is not the one that owner_of_target() would find as root, as a
 * sentence; NULL: the users are the same, or both are unprivileged placeholders (nobody, DynamicUser=). */
const char *owner_why_not_us(const Root *root, Arena *arena, const Engine *engine,
                             const EngineTarget *target, bool *ret_is_guess);

/* Returns a sentence on what to do about files of OWNER that this process reads as another user. */
const char *owner_say_other(Arena *arena, const Person *owner);

/* Returns why a file or directory with the ids and mode in ST can be written by users other than root and PERSON; NULL:
 * it cannot. */
const char *owner_why_open(Arena *arena, const struct stat *st, const Person *person);
