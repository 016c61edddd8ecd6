/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/accounts.h"

#include "base/size.h"
#include "base/text.h"
#include "core/names.h"

/* The fields of a line; empty ones count, unlike words. */
static char *next_field(Arena *arena, const char **rest) {
        if (!*rest)
                return NULL;
        size_t length = strcspn(*rest, ":");
        char *field = arena_strndup(arena, *rest, length);

        *rest = (*rest)[length] ? *rest + length + 1 : NULL;
        return field;
}

/* "name:password:id:gid-or-members:..."; lines of NIS ("+...") are none. */
static bool parse_line(Arena *arena, const char *line, bool is_user, Account *ret) {
        const char *rest = line;
        char *fields[4];

        for (size_t i = 0; i < ARRAY_LEN(fields); i++)
                if (!(fields[i] = next_field(arena, &rest)))
                        return false;
        *ret = (Account){.name = fields[0]};
        if (!*ret->name || *ret->name == '+' || *ret->name == '-' ||
            parse_u64(fields[2], &ret->id) < 0)
                return false;
        return !is_user || parse_u64(fields[3], &ret->group_id) == 0;
}

static AccountList read_list(Arena *arena, const Sources *sources, const char *path, bool is_user) {
        SourceText text = source_read(sources, arena, path);
        SourceLines lines = source_lines(&text);
        AccountList accounts = {};
        Account account;
        char *line;

        while ((line = source_line(arena, &lines)))
                if (parse_line(arena, line, is_user, &account))
                        *vec_push(arena, &accounts) = account;
        return accounts;
}

/* Whether DATABASE ("passwd") has a source besides what is in files of this host. */
static bool is_elsewhere(Arena *arena, const SourceText *nsswitch, const char *database) {
        static const char *const local[] = {"files", "compat", "systemd", "altfiles"};
        SourceLines lines = source_lines(nsswitch);
        char *line, *word;

        while ((line = source_line(arena, &lines))) {
                const char *rest = line;

                line[strcspn(line, "#")] = '\0';
                word = text_next_word(arena, &rest, " \t:");
                if (!text_equals(word, database))
                        continue;
                while ((word = text_next_word(arena, &rest, " \t:"))) {
                        bool is_local = *word == '[';

                        for (size_t i = 0; i < ARRAY_LEN(local); i++)
                                is_local = is_local || text_equals(word, local[i]);
                        if (!is_local)
                                return true;
                }
        }
        return false;
}

Accounts accounts_read(Arena *arena, const Sources *sources) {
        SourceText nsswitch = source_read(sources, arena, PATH_NSSWITCH);

        return (Accounts){
                .users = read_list(arena, sources, PATH_PASSWD, true),
                .groups = read_list(arena, sources, PATH_GROUP, false),
                .users_elsewhere = is_elsewhere(arena, &nsswitch, "passwd"),
                .groups_elsewhere = is_elsewhere(arena, &nsswitch, "group"),
        };
}

static const Account *find(Arena *arena, const AccountList *accounts, const char *name) {
        uint64_t id;

        if (parse_u64(name, &id) == 0) {
                Account *account = ARENA_NEW(arena, Account);

                *account = (Account){.name = name, .id = id, .group_id = id};
                return account;
        }
        VEC_FOREACH(account, accounts)
                if (text_equals(account->name, name))
                        return account;
        return NULL;
}

const Account *account_find_user(Arena *arena, const Accounts *accounts, const char *name) {
        return find(arena, &accounts->users, name);
}

const Account *account_find_group(Arena *arena, const Accounts *accounts, const char *name) {
        return find(arena, &accounts->groups, name);
}
