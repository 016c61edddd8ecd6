/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/files.h"

#include "base/text.h"
#include "host/config_dirs.h"
#include "host/config_load.h"
#include "model/names.h"
#include "runtime/clock.h"

/* File systems note times by the tick of the kernel's clock, and some by the second or two: what was changed so
 * short a time ago may be changed again, and look the same. */
static const uint64_t tick_usec = 3 * USEC_PER_SEC;

static uint64_t stamp_of(const Root *root, uint64_t *ret_newest_usec) {
        static const char *const accounts[] = {
                PATH_PASSWD, PATH_GROUP, PATH_USR_PASSWD, PATH_USR_GROUP, PATH_NSSWITCH,
        };
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Names paths = config_dirs_list(root, arena);
        uint64_t stamp = TEXT_FOLD_START;

        ARRAY_FOREACH(path, accounts, ARRAY_LEN(accounts))
                *vec_push(arena, &paths) = (char *) *path;
        *ret_newest_usec = 0;
        VEC_FOREACH(path, &paths)
                stamp = root_fold_identity(root, *path, text_fold(stamp, *path), ret_newest_usec);
        return stamp;
}

const Config *files_config(Files *files) {
        uint64_t newest_usec, now_usec = clock_read_usec(CLOCK_REALTIME);
        uint64_t stamp = stamp_of(files->root, &newest_usec);

        if (files->stamp != 0 && files->stamp == stamp)
                return files->config;
        Arena *arena = arena_new();
        const Config *config = config_load(files->root, arena, NULL);

        arena_free(files->before);
        files->before = files->arena;
        files->arena = arena;
        files->config = config;
        files->stamp = config->is_incomplete || config->fault.error < 0 ||
                                       add_saturated(newest_usec, tick_usec) > now_usec
                               ? 0
                               : stamp;
        return config;
}

void files_free(Files *files) {
        arena_free(files->before);
        arena_free(files->arena);
        *files = (Files){};
}
