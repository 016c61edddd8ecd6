/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `size`: what if a database had these settings? */
#include "base/json.h"
#include "base/table.h"
#include "base/text.h"
#include "ctl/verbs.h"
#include "host/probe.h"
#include "model/exit_code.h"
#include "render/render_explain.h"
#include "runtime/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The page size to reckon with: as asked, else the host's. */
static int size_page_size(const Command *command, const Topology *topology, uint64_t *ret) {
        *ret = topology_usual_page_size(topology);
        if (!command->page_size && *ret == 0) {
                log_line(LOG_ERR, "this host does not tell a page size; name one with --page-size");
                return -EINVAL;
        }
        if (command->page_size && page_size_parse(command->page_size, ret) < 0) {
                log_line(LOG_ERR,
                         "--page-size: '%s' is no page size; write a size such as 2M or 1G",
                         command->page_size);
                return -EINVAL;
        }
        return 0;
}

static int size_settings(Command *command, Settings *ret) {
        VEC_FOREACH(item, &command->settings) {
                const char *equals = strchr(*item, '=');

                if (!equals || equals == *item) {
                        log_line(LOG_ERR, "-c: '%s' is no setting; write -c NAME=VALUE", *item);
                        return -EINVAL;
                }
                settings_add(command->arena, ret, arena_strdup_to(command->arena, *item, equals),
                             equals + 1, NULL);
        }
        if (command->engine_version)
                settings_add(command->arena, ret, "server_version", command->engine_version, NULL);
        return 0;
}

/* Of an engine that reserves nothing: what it wants of transparent huge pages. */
static int size_of_nothing(Command *command, const Engine *engine, uint64_t page_size_bytes) {
        const char *version = command->engine_version;
        ThpPolicy preference;

        if (command->settings.n > 0) {
                log_line(LOG_ERR,
                         "%s uses no reserved huge pages, whatever its settings; leave -c out",
                         engine->title);
                return EXIT_FAILED;
        }
        if (engine_thp_preference(engine, version, &preference) < 0) {
                log_line(LOG_ERR, "--engine-version: '%s' is no version; write one such as 8.0",
                         version);
                return EXIT_USAGE;
        }
        if (command->json != JSON_OFF) {
                json_t *json = sizing_to_json(
                        &(Sizing){.page_size_bytes = page_size_bytes, .is_exact = true});

                json_object_update_new(
                        json,
                        json_pack("{ss ss?}", "engine", engine->name, "transparentHugePages",
                                  preference == THP_AUTO ? NULL : thp_policy_name(preference)));
                print_json(command, json);
        } else {
                fputs(render_thp_preference(command->arena, engine, version, preference), stdout);
        }
        return EXIT_DONE;
}

static void print_engines(Command *command) {
        Table *table = table_new(command->arena, "ENGINE|DATABASE");
        Text text = text_in(command->arena);
        json_t *json = json_array();

        for (size_t i = 0; i < n_engines; i++) {
                table_add(table, engines[i]->name);
                table_add(table, engines[i]->title);
                const SettingNames names = engine_settings(engines[i], command->arena);

                json_array_append_new(
                        json, json_pack("{ss ss sb so}", "engine", engines[i]->name, "title",
                                        engines[i]->title, "reserves", engines[i]->reserves,
                                        "settings", VEC_TO_JSON(name, &names, json_string(*name))));
        }
        if (command->json != JSON_OFF) {
                print_json(command, json);
                return;
        }
        table_print(table, &text, "", command->render.is_colored);
        fputs(text.string, stdout);
        json_decref(json);
}

int verb_size(Command *command) {
        const char *name = command->n_arguments > 0 ? command->arguments[0] : NULL;
        const Engine *engine = name ? engine_find(name) : NULL;
        Settings settings = {};
        Sizing sizing;
        uint64_t page_size_bytes;

        if (!name) {
                print_engines(command);
                return EXIT_DONE;
        }
        if (!engine) {
                log_line(LOG_ERR, "%s; 'hugeplanctl size' lists those there are",
                         engine_refuse(command->arena, name));
                return EXIT_USAGE;
        }
        const Topology *topology = probe_topology(command->root, command->arena);

        settings_add_cpus(command->arena, &settings, topology->n_cpus);
        settings_add_base_page(command->arena, &settings, topology->base_page_bytes);
        if (size_page_size(command, topology, &page_size_bytes) < 0 ||
            size_settings(command, &settings) < 0)
                return EXIT_USAGE;
        if (!engine->reserves)
                return size_of_nothing(command, engine, page_size_bytes);
        const char *wrong =
                engine_size(engine, command->arena, &settings, page_size_bytes, &sizing);

        if (wrong) {
                log_line(LOG_ERR, "%s", wrong);
                return EXIT_FAILED;
        }
        if (command->json != JSON_OFF) {
                json_t *json = sizing_to_json(&sizing);

                json_object_set_new(json, "engine", json_string(engine->name));
                print_json(command, json);
        } else {
                fputs(render_sizing(command->arena, &sizing, &command->render), stdout);
        }
        return EXIT_DONE;
}
