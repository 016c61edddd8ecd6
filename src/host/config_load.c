/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "host/config_load.h"

#include "config/config_parse.h"
#include "config/instance_limits.h"
#include "host/config_dirs.h"
#include "host/host_sources.h"
#include "model/problem.h"
#include "units/mount_unit.h"

#include <string.h>

static Config *load_once(const Root *root, Arena *arena, const char *draft) {
        Diags unreadable = diags_in(arena);

        root_forget_fault(root);
        const ConfigFiles *files = config_dirs_read(root, arena, draft, &unreadable);
        Config *config = config_parse(arena, files);

        config->is_unlisted = unreadable.list.n > 0;
        config->is_incomplete = config->is_unlisted || VEC_FIND(file, files, file->error < 0);
        diags_add_all(&config->problems, &unreadable);
        if (mount_is_wanted(config) || ARRAY_FIND(instance, config->instances, config->n_instances,
                                                  instance->user || instance->group)) {
                HostSources sources = host_sources(root);
                Accounts accounts = accounts_read(arena, &sources.sources);

                config_check_accounts(arena, config, &accounts);
                mount_check_owners(arena, config, &accounts);
        }
        config->fault = root_fault(root, arena);
        /* Directories and files have their problems already. */
        if (config->fault.error < 0 && !config->is_incomplete)
                problem_add(
                        &config->problems, SEVERITY_ERROR, PROBLEM_CONFIG_UNREADABLE,
                        config->fault.path,
                        arena_printf(arena, "cannot be read: %s", strerror(-config->fault.error)),
                        "find out what is wrong with the file or the host; it is tried again");
        return config;
}

Config *config_load(const Root *root, Arena *arena, const char *draft) {
        unsigned n_tries = 0;
        Config *config;

        do
                config = load_once(root, arena, draft);
        while (root_try_again(root, config->fault.error, &n_tries));
        return config;
}
