/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "host/host_sources.h"

#include "base/text.h"
#include "model/names.h"

#include <string.h>
#include <unistd.h>

static const size_t bytes_in_all_max = 16 * SOURCE_BYTES_MAX;

/* The sources are the first member. */
static HostSources *host_of(const Sources *sources) {
        return (HostSources *) sources;
}

/* ---- owners ---- */

OpenTo file_open_to(const struct stat *st, uid_t owner, gid_t group) {
        bool is_shielded = S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX);

        if (st->st_uid != 0 && st->st_uid != owner)
                return OPEN_TO_OWNER;
        if ((st->st_mode & S_IWOTH) && !is_shielded)
                return OPEN_TO_EVERYONE;
        if ((st->st_mode & S_IWGRP) && !is_shielded && st->st_gid != 0 && st->st_gid != group)
                return OPEN_TO_GROUP;
        return OPEN_TO_NOBODY;
}

typedef struct Judged {
        HostSources *host;
        const char *path;
} Judged;

static int judge(void *userdata, const struct stat *st) {
        /* systemd trusts whoever can write to these directories as root. */
        static const char *const systemds[] = {
                "/etc/systemd/", "/run/systemd/",           "/usr/lib/systemd/",
                "/lib/systemd/", "/usr/local/lib/systemd/",
        };
        HostSources *host = ((const Judged *) userdata)->host;
        const char *path = ((const Judged *) userdata)->path;
        OpenTo open_to = file_open_to(st, host->owner, host->group); /* 0, 0 as root */

        if (open_to == OPEN_TO_NOBODY || host->kind == SOURCES_ANY)
                return 0;
        if (host->kind == SOURCES_OF_ROOT)
                return !strstr(path, "/../") && ARRAY_FIND(directory, systemds, ARRAY_LEN(systemds),
                                                           text_starts_with(path, *directory))
                               ? 0
                               : -EPERM;
        if (!host->foreign)
                host->foreign = arena_printf(
                        host->arena, "%s %s", text_excerpt(host->arena, path, 200),
                        open_to == OPEN_TO_OWNER
                                ? arena_printf(host->arena, "belongs to user %u", st->st_uid)
                                : "can be written by users other than its owner");
        return 0;
}

/* ---- reading ---- */

static SourceText count(HostSources *host, int error, char *string, size_t size) {
        if (error == 0 && size > host->bytes_left)
                error = -E2BIG;
        if (error < 0)
                return (SourceText){.error = error};
        host->bytes_left -= size;
        return (SourceText){.text = string, .size = size};
}

static SourceText read_file(const Sources *sources, Arena *arena, const char *path) {
        HostSources *host = host_of(sources);
        Judged judged = {host, path};
        char *string = NULL;
        size_t size = 0;

        if (host->input && text_equals(path, PATH_STANDARD_INPUT))
                return *host->input;
        int r = root_read_judged(host->root, arena, path, SOURCE_BYTES_MAX, judge, &judged, &string,
                                 &size);

        return count(host, r, string, size);
}

static SourceText read_kernel_file(const Sources *sources, Arena *arena, const char *path) {
        HostSources *host = host_of(sources);
        char *string = NULL;
        size_t size = 0;
        int r = root_read_kernel_file(host->root, arena, path, SOURCE_BYTES_MAX, &string, &size);

        return count(host, r, string, size);
}

static const SourceListed *list_once(HostSources *host, const char *path) {
        SourceListed *listed = ARENA_NEW(host->arena, SourceListed);
        Names names = {};
        size_t bytes = 0;

        listed->error = root_list(host->root, host->arena, path, &names);
        VEC_FOREACH(name, &names)
                bytes += strlen(*name) + 1;
        if (bytes > host->bytes_left)
                listed->error = -E2BIG;
        else
                vec_push_all(host->arena, &listed->names, &names);
        host->bytes_left -= MIN(bytes, host->bytes_left);
        index_add(host->listed, arena_strdup(host->arena, path), listed);
        return listed;
}

static int list_directory(const Sources *sources, Arena *arena UNUSED, const char *path,
                          SourceNames *ret) {
        HostSources *host = host_of(sources);
        const SourceListed *listed = index_find(host->listed, path) ?: list_once(host, path);

        if (listed->error == 0)
                *ret = listed->names;
        return listed->error;
}

static const char *read_link(const Sources *sources, Arena *arena, const char *path) {
        char *target = NULL;

        return root_read_link(host_of(sources)->root, arena, path, &target) < 0 ? NULL : target;
}

HostSources host_sources(const Root *root, Arena *arena) {
        return (HostSources){
                .sources = {.read = read_file,
                            .read_kernel = read_kernel_file,
                            .list = list_directory,
                            .link = read_link},
                .root = root,
                .arena = arena,
                .listed = index_new(arena),
                .bytes_left = bytes_in_all_max,
                .kind = root_is_host(root) && geteuid() == 0 ? SOURCES_OF_ROOT : SOURCES_ANY,
        };
}
