/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "host/config_load.h"

#include "config/config.h"
#include "host/unit_facts.h"
#include "model/name_check.h"
#include "model/names.h"
#include "model/problem.h"
#include "runtime/clock.h"

#include <string.h>

static void trace_accounts(const Root *root, Arena *arena, ConfigTrace *trace) {
        static const char *const paths[] = {
                PATH_PASSWD, PATH_GROUP, PATH_USR_PASSWD, PATH_USR_GROUP, PATH_NSSWITCH,
        };

        ARRAY_FOREACH(path, paths, ARRAY_LEN(paths)) {
                *vec_push(arena, &trace->paths) = *path;
                root_stamp(root, *path, &trace->stamp);
        }
}

/* A unit's control group has the unit's own name, not that of an alias, which `systemctl enable` makes (Alias=). */
static void resolve_aliases(const Root *root, Arena *arena, Config *config) {
        bool is_any = false;
        Names links = {};

        if (ARRAY_ANY(instance, config->instances, config->n_instances, instance->unit))
                root_list(root, arena, PATH_UNITS_ETC, &links);
        ARRAY_FOREACH(instance, config->instances, config->n_instances) {
                const char *unit = instance->unit ?: "", *name;
                char *target;

                if (VEC_SEEK(link, &links, strcmp(unit, *link)) &&
                    root_read_link(root, arena, arena_printf(arena, PATH_UNITS_ETC "/%s", unit),
                                   &target) >= 0 &&
                    (name = name_of_alias(arena, target)) && !name_check_unit(name))
                        instance->unit = name, is_any = true;
        }
        if (is_any)
                config_index(arena, config);
}

static Config *load_once(const Root *root, Arena *arena, const char *draft) {
        CLEANUP(arena_freep) Arena *scratch = arena_new();
        Diags unreadable = diags_in(arena);
        ConfigTrace trace = {};
        uint64_t now_usec = clock_read_usec(CLOCK_REALTIME);

        root_forget_fault(root);
        const ConfigFiles *files =
                config_dirs_read(root, arena, scratch, draft, NULL, &unreadable, &trace);
        Config *config = config_parse(arena, files);

        resolve_aliases(root, arena, config);
        config->n_files = files->n;
        config->is_unlisted = diags_count(&unreadable, SEVERITY_ERROR) > 0;
        config->is_incomplete = config->is_unlisted || VEC_FIND(file, files, file->error < 0);
        diags_add_all(&config->problems, &unreadable);
        if (mount_is_wanted(config) || ARRAY_FIND(instance, config->instances, config->n_instances,
                                                  instance->user || instance->group)) {
                trace_accounts(root, arena, &trace);
                const Accounts accounts = accounts_of(root, scratch);

                config_check_accounts(arena, config, &accounts);
                mount_check_owners(arena, config, &accounts);
        }
        config->fault = root_fault(root, arena);
        config->paths = trace.paths;
        if (!config->is_incomplete && config->fault.error == 0 &&
            trace.stamp.settled_usec <= now_usec)
                config->stamp = trace.stamp.hash;
        /* If the configuration is incomplete, its directories and files have problems already. */
        if (config->fault.error < 0 && !config->is_incomplete)
                diags_report(
                        &config->problems,
                        problem_of(
                                PROBLEM_CONFIG_UNREADABLE, config->fault.path,
                                "find out what is wrong with the file or the host; hugeplan tries again"),
                        "cannot be read: %s", strerror(-config->fault.error));
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

Config *config_load_called(const Root *root, Arena *arena, const char *draft, const char *name) {
        Diags unreadable = diags_in(arena);

        return config_parse(arena,
                            config_dirs_read(root, arena, arena, draft, name, &unreadable, NULL));
}

bool config_is_current(const Root *root, const Config *config) {
        RootStamp stamp = {};

        if (config->stamp == 0)
                return false;
        VEC_FOREACH(path, &config->paths)
                root_stamp(root, *path, &stamp);
        return config->stamp == stamp.hash;
}
