/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "host/config_load.h"

#include "config/config_parse.h"
#include "host/config_dirs.h"
#include "host/host_sources.h"
#include "plan/limits.h"
#include "units/mount_unit.h"

static bool names_accounts(const Config *config) {
        for (size_t i = 0; i < config->n_instances; i++)
                if (config->instances[i].user || config->instances[i].group)
                        return true;
        return false;
}

Config *config_load(const Root *root, Arena *arena, const char *draft) {
        Diags unreadable = diags_in(arena);
        Config *config = config_parse(arena, config_dirs_read(root, arena, draft, &unreadable));

        diags_add_all(&config->problems, &unreadable);
        if (names_accounts(config) || mount_is_wanted(config)) {
                HostSources sources = host_sources(root);
                Accounts accounts = accounts_read(arena, &sources.sources);

                limits_check_accounts(arena, config, &accounts);
                mount_check_owners(arena, config, &accounts);
        }
        return config;
}
