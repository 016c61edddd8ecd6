/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `fit NAME`: how large the database's main setting may be made for the pages at hand. */
#include "plan/fit.h"

#include "base/json.h"
#include "base/table.h"
#include "base/text.h"
#include "ctl/verbs.h"
#include "demand/learned.h"
#include "inspect/gather.h"
#include "model/exit_code.h"
#include "runtime/log.h"

#include <stdio.h>

/* What the settings are looked up for: pages as they are now, or as they could be. */
typedef struct Room {
        const char *what;
        const char *id; /* in JSON */
        uint64_t pages;
        Fit fit;
        const char *wrong;
} Room;

/* The database's own settings as far as its files can be read. */
static Settings read_settings(Command *command, const InstanceConfig *config,
                              const char **ret_why_not) {
        OwnerGatherer owner = gather_as_owner(command->root);
        EngineTarget target = figures_target(config, NULL);
        Figures figures = {};

        if (!config->engine->has_auto) {
                *ret_why_not = arena_printf(command->arena, "%s's files are not read",
                                            config->engine->title);
                return (Settings){};
        }
        owner.gatherer.gather(&owner.gatherer, command->arena, config->engine, &target, NULL, 0,
                              &figures);
        *ret_why_not = figures.items[0].wrong;
        return *ret_why_not ? (Settings){} : figures.items[0].gathered->settings;
}

static uint64_t pages_possible(Command *command, const Look *look, uint64_t page_size_bytes) {
        const PlanInput input = {
                .host = &look->config->host,
                .demand = demand_compute(command->arena, look->config, look->topology,
                                         &look->figures),
                .topology = look->topology,
                .ledger = look->ledger,
                .use = look->use,
        };

        return fit_pages(command->arena, &input, command->arguments[0], page_size_bytes);
}

static void print_rooms(Command *command, const Engine *engine, uint64_t page_size_bytes,
                        const Room *rooms, size_t n) {
        Arena *arena = command->arena;
        Table *table =
                table_new(arena, arena_printf(arena, ">PAGES|OF|>%s|WITH", engine->memory_setting));
        Text text = text_in(arena);

        if (command->json != JSON_OFF) {
                json_t *list = ARRAY_TO_JSON(
                        room, rooms, n,
                        json_pack("{ss so ss? so ss?}", "room", room->id, "pages",
                                  count_to_json(room->pages), "value", room->fit.value, "bytes",
                                  count_to_json(room->fit.value_bytes), "reason", room->wrong));

                print_json(command, json_pack("{ss ss ss? so so}", "name", command->arguments[0],
                                              "engine", engine->name, "setting",
                                              engine->memory_setting, "pageSizeBytes",
                                              count_to_json(page_size_bytes), "fits", list));
                return;
        }
        ARRAY_FOREACH(room, rooms, n) {
                table_add(table, format_count(arena, room->pages));
                table_add(table, format_page_size(arena, page_size_bytes));
                table_add(table, room->wrong ? "-" : room->fit.value);
                table_add(table, room->what);
        }
        table_print(table, &text, "", command->render.is_colored);
        fputs(text.string, stdout);
}

/* Whose figures they are. */
static void say_how_exact(Command *command, const InstanceConfig *config, uint64_t page_size_bytes,
                          const Room *rooms, size_t n) {
        enum { PART = 1 << 20 };
        const Room *room = ARRAY_FIND(each, rooms, n, !each->wrong);
        uint64_t part = learned_by_rule(config, page_size_bytes, PART);
        const Sizing *sizing = &room->fit.sizing;

        if (!sizing->is_exact && sizing->caveat)
                log_line(LOG_NOTICE, "by the rule: %s", sizing->caveat);
        if (part < PART)
                log_line(
                        LOG_NOTICE,
                        "%s was found to take %s for each 100 pages of the rule, which is allowed for",
                        config->name,
                        format_count(command->arena, div_round_up((uint64_t) PART * 100, part)));
}

int verb_fit(Command *command) {
        const char *name = command->arguments[0], *why_not;
        const Look *look = local_load(command);
        const PlanInstance *planned = plan_find(look->plan, name);

        if (!planned)
                return fail_no_instance(command, name, look->config);
        const InstanceConfig *config = planned->demand->config;

        if (config->refusal || !config->engine->memory_setting) {
                log_line(LOG_ERR, "%s: %s", name,
                         config->refusal
                                 ? diag_format(command->arena, config->refusal)
                                 : arena_printf(command->arena,
                                                "%s has no setting that could be made to fit",
                                                config->engine->title));
                return EXIT_FAILED;
        }
        uint64_t page_size_bytes = planned->page_size_bytes > 0 ? planned->page_size_bytes
                                   : config->page_sizes[0] > 0
                                           ? config->page_sizes[0]
                                           : look->topology->default_page_size_bytes;

        if (page_size_bytes == 0) {
                log_line(LOG_ERR, "%s: this kernel has no huge pages", name);
                return EXIT_FAILED;
        }
        Settings settings = read_settings(command, config, &why_not);

        settings_add_cpus(command->arena, &settings, look->topology->n_cpus);
        settings_add_base_page(command->arena, &settings, look->topology->base_page_bytes);
        demand_add_version(command->arena, config, &settings);
        Room rooms[] = {
                {"the pages it has", "granted", planned->pages_granted},
                {"the most that this host could give it now", "possible",
                 pages_possible(command, look, page_size_bytes)},
        };
        size_t n_fitting = 0;

        ARRAY_FOREACH(room, rooms, ARRAY_LEN(rooms)) {
                room->wrong = fit_setting(
                        command->arena, config->engine, engine_formula(config->engine), &settings,
                        page_size_bytes, learned_by_rule(config, page_size_bytes, room->pages),
                        &room->fit);
                n_fitting += !room->wrong;
        }
        if (command->json != JSON_OFF || n_fitting > 0)
                print_rooms(command, config->engine, page_size_bytes, rooms, ARRAY_LEN(rooms));
        if (n_fitting == 0)
                log_line(LOG_ERR, "%s: %s", name, rooms[ARRAY_LEN(rooms) - 1].wrong);
        else if (why_not)
                log_line(LOG_NOTICE, "all other settings are taken at their defaults: %s", why_not);
        if (n_fitting > 0)
                say_how_exact(command, config, page_size_bytes, rooms, ARRAY_LEN(rooms));
        return n_fitting > 0 ? EXIT_DONE : EXIT_FAILED;
}
