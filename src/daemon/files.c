/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/files.h"

#include "host/config_load.h"

const Config *files_config(Files *files, const Config *in_force) {
        if (config_is_current(files->root, in_force))
                return in_force;
        if (files->config && config_is_current(files->root, files->config))
                return files->config;
        Arena *arena = arena_new();

        arena_free(files->before);
        files->before = files->arena;
        files->arena = arena;
        files->config = config_load(files->root, arena, NULL);
        return files->config;
}

void files_free(Files *files) {
        arena_free(files->before);
        arena_free(files->arena);
        *files = (Files){};
}
