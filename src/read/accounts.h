/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Users and groups, from the texts of /etc/passwd and /etc/group, and of those in /usr/lib that
 * image-based systems have besides: passwd(5), group(5).
 *
 * Files only: early in boot there is no network, and a name service that needs one must not be
 * asked. Whether other services know more names is said by nsswitch.conf(5); then a name that is
 * missing here may well exist. */

#include "read/source.h"

/* The user and the group who have no rights. */
enum { ACCOUNT_NOBODY = 65534 };

typedef struct Account {
        const char *name;
        uint64_t id;         /* uid or gid */
        uint64_t group_id;   /* of a user: the primary group; UINT64_MAX: not known */
        const char *home;    /* of a user; NULL: none is said */
        const char *members; /* of a group: names of users, with commas between */
} Account;

typedef VEC(Account) AccountList;

typedef struct Accounts {
        AccountList users;
        AccountList groups;
        bool users_elsewhere; /* nsswitch.conf names a source that is not a file */
        bool groups_elsewhere;
} Accounts;

Accounts accounts_read(Arena *arena, const Sources *sources);
/* The groups of the files alone. */
Accounts accounts_read_groups(Arena *arena, const Sources *sources);

/* NULL where the files have no such name. A name of digits is an id, whether or not somebody has it, as
 * systemd takes User= and Group=. */
const Account *account_find_user(Arena *arena, const Accounts *accounts, const char *name);
const Account *account_find_group(Arena *arena, const Accounts *accounts, const char *name);

/* Whether a group lists that user. Whose primary group it is need not be listed. */
bool account_has_member(Arena *arena, const Account *group, const char *user);
