/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Users and groups, from the texts of /etc/passwd and /etc/group, and of the same files in /usr/lib, which image-based
 * systems have too: passwd(5), group(5).
 *
 * Only files are read, because early in boot there is no network and no name service that needs one may be asked.
 * nsswitch.conf(5) shows whether other services have more names; if so, a name that is missing here may still exist. */

#include "read/source.h"

/* The unprivileged user and group. */
enum { ACCOUNT_NOBODY = 65534 };

typedef struct Account {
        const char *name;
        uint64_t id;         /* uid or gid */
        uint64_t group_id;   /* of a user: the primary group; UINT64_MAX: not known */
        const char *home;    /* of a user; NULL: not given */
        const char *members; /* of a group: user names, separated by commas */
} Account;

typedef VEC(Account) AccountList;

typedef struct Accounts {
        AccountList users;
        AccountList groups;
        bool users_elsewhere; /* nsswitch.conf names a source that is not a file */
        bool groups_elsewhere;
} Accounts;

Accounts accounts_read(Arena *arena, const Sources *sources);
/* Reads only the groups. */
Accounts accounts_read_groups(Arena *arena, const Sources *sources);

/* Return NULL if the files have no such name. A name of digits is an id, even if no account has it, as systemd reads
 * User= and Group=. */
const Account *account_find_user(Arena *arena, const Accounts *accounts, const char *name);
const Account *account_find_group(Arena *arena, const Accounts *accounts, const char *name);

/* Returns whether GROUP lists USER. Users whose primary group it is need not be listed. */
bool account_has_member(Arena *arena, const Account *group, const char *user);
