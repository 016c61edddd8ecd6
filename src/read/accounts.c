/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "read/accounts.h"

#include "base/size.h"
#include "base/text.h"
#include "model/names.h"

#include <string.h>

/* passwd(5): "name:password:uid:gid:comment:home:shell"; group(5): "name:password:gid:members". Lines
 * may end early, but not before the fourth field. */
enum { FIELD_NAME, FIELD_ID = 2, FIELD_PRIMARY, FIELD_HOME = 5, FIELD_MEMBERS = 3, N_FIELDS = 6 };

static void add_file(Arena *arena, const Sources *sources, const char *path, bool is_user,
                     AccountList *accounts) {
        SourceText text = source_read(sources, arena, path);
        SourceLines lines = source_lines(&text);
        char *line;

        while ((line = source_line(arena, &lines))) {
                const char *fields[N_FIELDS];

                for (size_t i = 0; i < N_FIELDS; i++)
                        fields[i] = strsep(&line, ":");
                Account account = {.name = fields[FIELD_NAME]};

                /* NIS lines ("+...") are no accounts. */
                if (!fields[FIELD_MEMBERS] || !*account.name || strchr("+-", *account.name) ||
                    parse_u64(fields[FIELD_ID], &account.id) < 0 ||
                    (is_user && parse_u64(fields[FIELD_PRIMARY], &account.group_id) < 0))
                        continue;
                if (!is_user)
                        account.members = fields[FIELD_MEMBERS];
                else if (fields[FIELD_HOME] && *fields[FIELD_HOME] == '/')
                        account.home = fields[FIELD_HOME];
                *vec_push(arena, accounts) = account;
        }
}

/* Returns whether DATABASE ("passwd") has a source other than files of this host. */
static bool is_elsewhere(Arena *arena, const SourceText *nsswitch, const char *database) {
        SourceLines lines = source_lines(nsswitch);
        char *line;

        while ((line = source_line(arena, &lines))) {
                const char *rest = line;

                line[strcspn(line, "#")] = '\0';
                if (!text_equals(text_next_word(arena, &rest, " \t:"), database))
                        continue;
                TEXT_FOREACH(word, arena, rest, " \t:")
                        if (*word != '[' &&
                            !TEXT_IS_ANY(word, "files", "compat", "systemd", "altfiles"))
                                return true;
        }
        return false;
}

Accounts accounts_read_groups(Arena *arena, const Sources *sources) {
        Accounts accounts = {};

        add_file(arena, sources, PATH_GROUP, false, &accounts.groups);
        add_file(arena, sources, PATH_USR_GROUP, false, &accounts.groups);
        return accounts;
}

Accounts accounts_read(Arena *arena, const Sources *sources) {
        SourceText nsswitch = source_read(sources, arena, PATH_NSSWITCH);
        Accounts accounts = accounts_read_groups(arena, sources);

        accounts.users_elsewhere = is_elsewhere(arena, &nsswitch, "passwd");
        accounts.groups_elsewhere = is_elsewhere(arena, &nsswitch, "group");
        /* The administrator's file overrides the vendor's. */
        add_file(arena, sources, PATH_PASSWD, true, &accounts.users);
        add_file(arena, sources, PATH_USR_PASSWD, true, &accounts.users);
        return accounts;
}

static const Account *find(Arena *arena, const AccountList *accounts, const char *name) {
        uint64_t id;
        bool is_id = parse_u64(name, &id) == 0;

        const Account *found = VEC_FIND(
                account, accounts, is_id ? account->id == id : text_equals(account->name, name));

        if (found || !is_id)
                return found;
        return arena_memdup(arena, &(Account){.name = name, .id = id, .group_id = UINT64_MAX},
                            sizeof(Account));
}

const Account *account_find_user(Arena *arena, const Accounts *accounts, const char *name) {
        return find(arena, &accounts->users, name);
}

const Account *account_find_group(Arena *arena, const Accounts *accounts, const char *name) {
        return find(arena, &accounts->groups, name);
}

bool account_has_member(Arena *arena, const Account *group, const char *user) {
        TEXT_FOREACH(member, arena, group->members, ",")
                if (text_equals(member, user))
                        return true;
        return false;
}
