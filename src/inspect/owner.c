/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inspect/owner.h"

#include "base/size.h"
#include "base/text.h"
#include "host/host_sources.h"
#include "read/accounts.h"
#include "read/unit_file.h"
#include "runtime/deadline.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
        /* Users that systemd allocates for a single run, and which own nothing: DynamicUser= in systemd.exec(5). */
        DYNAMIC_FIRST = 61184,
        DYNAMIC_LAST = 65519,
};

static void take_entry(Arena *arena, const struct passwd *entry, Person *ret) {
        ret->uid = entry->pw_uid;
        ret->gid = entry->pw_gid;
        ret->name = arena_strdup(arena, entry->pw_name);
        ret->home = arena_strdup(arena, entry->pw_dir);
        ret->n_groups = OWNER_GROUPS_MAX;
        if (getgrouplist(entry->pw_name, entry->pw_gid, ret->groups, &ret->n_groups) < 0)
                ret->n_groups = 0; /* more groups than answering a question needs */
}

static void take_ids(Arena *arena, uid_t uid, gid_t gid, Person *ret) {
        const struct passwd *entry = getpwuid(uid);

        if (entry) {
                take_entry(arena, entry, ret);
                return;
        }
        *ret = (Person){
                .uid = uid,
                .gid = gid,
                .name = arena_printf(arena, "%u", uid),
                .home = "/",
        };
}

void owner_ourselves(Arena *arena, Person *ret) {
        take_ids(arena, geteuid(), getegid(), ret);
}

const char *owner_find_user(Arena *arena, const char *name, Person *ret) {
        const struct passwd *entry = getpwnam(name);
        uint64_t number;

        if (!entry && parse_u64(name, &number) == 0 && number < UINT32_MAX) {
                take_ids(arena, (uid_t) number, ACCOUNT_NOBODY, ret);
                return NULL;
        }
        if (!entry)
                return arena_printf(arena, "there is no user '%s'", text_excerpt(arena, name, 64));
        take_entry(arena, entry, ret);
        return NULL;
}

/* Calls stat(2) in a child, which a network file system may hang, even when it is killed. Others answer within 3 s. */
bool owner_of_path(Arena *arena, const char *path, Person *ret) {
        struct stat st;
        ssize_t n = -1;
        int ends[2];

        if (pipe2(ends, O_CLOEXEC) < 0)
                return false;
        pid_t pid = fork();

        if (pid == 0)
                _exit(stat(path, &st) < 0 || write(ends[1], &st, sizeof(st)) < 0);
        close(ends[1]);
        if (pid > 0 && deadline_poll(ends[0], POLLIN, deadline_in(3 * USEC_PER_SEC)) == 0)
                n = read(ends[0], &st, sizeof(st));
        close(ends[0]);
        if (pid > 0 && kill(pid, SIGKILL) == 0)
                waitpid(pid, NULL, n < 0 ? WNOHANG : 0);
        if (n > 0)
                take_ids(arena, st.st_uid, st.st_gid, ret);
        return n > 0;
}

/* ---- the owner of a target ---- */

static const char *find_owner(const Root *root, Arena *arena, const Engine *engine,
                              const EngineTarget *target, Person *ret, bool *ret_is_guess) {
        const char *user = target->user, *wrong = NULL;
        HostSources sources = host_sources(root, arena);

        *ret_is_guess = false;
        if (!user && target->unit)
                user = unit_file_value(unit_file_read(arena, &sources.sources, target->unit),
                                       "Service", "User");
        if (user) {
                wrong = owner_find_user(arena, user, ret);
        } else if (!(target->config_file && owner_of_path(arena, target->config_file, ret) &&
                     ret->uid != 0) &&
                   !(target->data_directory && owner_of_path(arena, target->data_directory, ret))) {
                *ret_is_guess = true;
                if (!engine->default_user || owner_find_user(arena, engine->default_user, ret))
                        take_ids(arena, ACCOUNT_NOBODY, ACCOUNT_NOBODY, ret);
        }
        if (!wrong && (ret->uid == 0 || ret->gid == 0))
                take_ids(arena, ACCOUNT_NOBODY, ACCOUNT_NOBODY, ret);
        return wrong;
}

const char *owner_of_target(const Root *root, Arena *arena, const Engine *engine,
                            const EngineTarget *target, Person *ret, bool *ret_is_guess) {
        if (geteuid() == 0)
                return find_owner(root, arena, engine, target, ret, ret_is_guess);
        owner_ourselves(arena, ret);
        *ret_is_guess = false;
        return NULL;
}

static bool is_nobody(uid_t uid) {
        return uid == ACCOUNT_NOBODY || (uid >= DYNAMIC_FIRST && uid <= DYNAMIC_LAST);
}

const char *owner_say_other(Arena *arena, const Person *owner) {
        Person us = {};

        owner_ourselves(arena, &us);
        return arena_printf(
                arena,
                "it belongs to %s, and would be asked as %s; name the owner in User=, then "
                "run 'systemctl daemon-reload'",
                is_nobody(owner->uid) ? "root, as whom no database is asked" : owner->name,
                is_nobody(us.uid) ? "no particular user" : us.name);
}

const char *owner_why_not_us(const Root *root, Arena *arena, const Engine *engine,
                             const EngineTarget *target, bool *ret_is_guess) {
        Person owner = {};
        const char *wrong = find_owner(root, arena, engine, target, &owner, ret_is_guess);

        if (wrong || owner.uid == geteuid() || (is_nobody(owner.uid) && is_nobody(geteuid())))
                return wrong;
        return owner_say_other(arena, &owner);
}

void owner_to_read(Arena *arena, const char *path, Person *ret) {
        if (geteuid() != 0)
                owner_ourselves(arena, ret);
        else if (!owner_of_path(arena, path, ret) || ret->uid == 0 || ret->gid == 0)
                take_ids(arena, ACCOUNT_NOBODY, ACCOUNT_NOBODY, ret);
}

/* ---- access by third parties ---- */

const char *owner_why_open(Arena *arena, const struct stat *st, const Person *person) {
        switch (file_open_to(st, person->uid, person->gid)) {
        case OPEN_TO_OWNER:
                return arena_printf(arena, "belongs to user %u", st->st_uid);
        case OPEN_TO_EVERYONE:
                return "can be written by everyone";
        case OPEN_TO_GROUP:
                return arena_printf(arena, "can be written by group %u", st->st_gid);
        default:
                return NULL;
        }
}
