/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Accounts and their limits: passwd, group, nsswitch.conf, limits.conf, logind.conf; packed as in support/sources.h.
 *
 * Conditions: the first account with a name or an id is found by it, no account is found by a name of NIS, and a limit
 * has all of its words. */

#include "base/size.h"
#include "check/host_facts.h"
#include "fuzz/fuzz.h"
#include "read/accounts.h"
#include "support/sources.h"
#include "support/testing.h"

typedef const Account *Find(Arena *arena, const Accounts *accounts, const char *name);

static void check_account(Arena *arena, const Accounts *accounts, const Account *account,
                          Find *find) {
        const char *id = arena_printf(arena, "%" PRIu64, account->id);
        const Account *by_name = find(arena, accounts, account->name);
        uint64_t number;

        require(*account->name && !strchr("+-", *account->name) && !strchr(account->name, ':'));
        require(!account->home || *account->home == '/');
        require(find(arena, accounts, id)->id == account->id && by_name);
        if (parse_u64(account->name, &number) == 0)
                require(by_name->id == number); /* a name that consists of digits is an id */
        else
                require(by_name <= account && text_equals(by_name->name, account->name));
}

static void check_limits(Arena *arena, const Sources *sources) {
        const Config *config = config_line(arena, "pg Pages=10 Unit=pg.service");
        const HostFacts *facts = host_facts_read(
                arena, sources, config, host_make(arena, "sizes 2M\nnode 0 total=4G free=3G\n"),
                &(Figures){});

        VEC_FOREACH(limit, &facts->login_limits)
                require(*limit->domain && *limit->type && *limit->value && limit->line > 0);
        require(!facts->remove_ipc || facts->remove_ipc->line > 0);
}

FUZZ(arena, data, size) {
        const Sources *sources = test_sources_unpack(arena, data, size);
        const Accounts accounts = accounts_read(arena, sources);

        for (size_t i = 0; i < MIN(accounts.users.n, (size_t) 16); i++)
                check_account(arena, &accounts, &accounts.users.items[i], account_find_user);
        for (size_t i = 0; i < MIN(accounts.groups.n, (size_t) 16); i++) {
                check_account(arena, &accounts, &accounts.groups.items[i], account_find_group);
                const Account *group = &accounts.groups.items[i];
                const char *rest = group->members, *member;
                size_t n = 0;

                while (n++ < 8 && (member = text_next_word(arena, &rest, ",")))
                        require(account_has_member(arena, group, member));
                require(!account_has_member(arena, group, ""));
        }
        check_limits(arena, sources);
}
