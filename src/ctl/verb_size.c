/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `size`: the pages that a database needs with these settings; or the largest value of its main setting that fits into
 * a number of pages. `explain`: how an instance's size comes about, from its files and, with Memory=auto, from the
 * database's. */
#include "base/json.h"
#include "base/table.h"
#include "base/text.h"
#include "ctl/learn/learn.h"
#include "ctl/verbs.h"
#include "demand/learned.h"
#include "host/probe.h"
#include "host/unit_facts.h"
#include "inspect/gather.h"
#include "model/exit_code.h"
#include "model/names.h"
#include "plan/fit.h"
#include "render/status_json.h"
#include "render/views.h"
#include "runtime/log.h"
#include "status/json_value.h"
#include "units/dropin.h"
#include "units/hugetlb_limit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static json_t *sizing_to_json(const Sizing *sizing) {
        json_t *steps = VEC_TO_JSON(step, &sizing->steps,
                                    json_pack("{ss ss? so}", "what", step->what, "formula",
                                              step->formula, "bytes", count_to_json(step->bytes)));

        return json_pack("{so so so sb ss ss? so}", "pageSizeBytes",
                         count_to_json(sizing->page_size_bytes), "pages",
                         count_to_json(sizing->pages), "bytes", count_to_json(sizing->bytes),
                         "exact", sizing->is_exact, "source", sizing_source_name(sizing->source),
                         "caveat", sizing->caveat, "steps", steps);
}

/* The effective SETTINGS: of each name the last. */
static json_t *settings_to_json(Arena *arena, const Settings *settings) {
        json_t *list = json_array();

        VEC_FOREACH(setting, settings)
                if (settings_find(settings, setting->name) == setting)
                        json_array_append_new(list, setting_to_json(arena, setting));
        return list;
}

static const Gathered *gather(Command *command, const Engine *engine, const EngineTarget *target,
                              const SourceText *input) {
        OwnerGatherer owner = gather_as_owner(command->root);

        owner.input = input;
        return owner.gatherer.gather(&owner.gatherer, command->arena, engine, target);
}

/* Reads the settings of the file that --from= names, as the owner of the file; standard input is parsed like a file. */
static int read_from(Command *command, const Engine *engine, Settings *ret) {
        bool is_input = TEXT_IS_ANY(command->from, "-", PATH_STANDARD_INPUT);
        SourceText input = {};
        const EngineTarget target = {
                .config_file = is_input ? PATH_STANDARD_INPUT
                                        : absolute_path(command, command->from),
                .is_alone = true,
        };

        if (is_input) {
                char *text = arena_alloc(command->arena, SOURCE_BYTES_MAX + 2);
                size_t size = fread(text, 1, SOURCE_BYTES_MAX + 1, stdin);
                int error = ferror(stdin) ? -EIO : size > SOURCE_BYTES_MAX ? -EFBIG : 0;

                input = error < 0 ? (SourceText){.error = error}
                                  : (SourceText){.text = text, .size = size};
        }
        const Gathered *found = gather(command, engine, &target, is_input ? &input : NULL);

        VEC_FOREACH(problem, &found->problems.list)
                log_line(LOG_WARNING, "%s", diag_format(command->arena, problem));
        if (found->incomplete)
                log_line(LOG_ERR, "%s%s%s", found->incomplete, found->remedy ? "; " : "",
                         !found->remedy   ? ""
                         : geteuid() == 0 ? "pass it by --from=- <FILE"
                                          : found->remedy);
        vec_push_all(command->arena, ret, &found->settings);
        return found->incomplete ? -EINVAL : 0;
}

/* ---- limits of containers ---- */

typedef struct Limits {
        const char *resource,
                *quantity; /* of a pod's container: kubernetes.io, "Manage HugePages" */
        const char *file; /* of a control group: Documentation/admin-guide/cgroup-v2.rst, HugeTLB */
} Limits;

static Limits limits_of(Arena *arena, const Sizing *sizing) {
        uint64_t page = sizing->page_size_bytes, unit = sizing->bytes % MIB == 0 ? MIB : KIB;

        return (Limits){
                arena_printf(arena, "hugepages-%si", format_page_size(arena, page)),
                arena_printf(arena, "%" PRIu64 "%ci", sizing->bytes / unit,
                             unit == MIB ? 'M' : 'K'),
                arena_printf(arena, "hugetlb.%s.max", hugetlb_limit_size_name(arena, page)),
        };
}

static json_t *size_to_json(Arena *arena, const Engine *engine, const Sizing *sizing,
                            const Settings *settings) {
        const Limits limits = limits_of(arena, sizing);
        json_t *json = sizing_to_json(sizing);

        json_object_update_new(json,
                               json_pack("{ss so s{ss} s{so}}", "engine", engine->name, "settings",
                                         settings_to_json(arena, settings), "kubernetes",
                                         limits.resource, limits.quantity, "controlGroup",
                                         limits.file, count_to_json(sizing->bytes)));
        return json;
}

/* For an engine that reserves nothing: prints its preference for transparent huge pages. */
static int size_of_nothing(Command *command, const Engine *engine, uint64_t page_size_bytes) {
        const char *version = command->engine_version;
        ThpPolicy preference;

        if (command->settings.n > 0 || command->from)
                return log_failure(
                        EXIT_FAILED,
                        "%s uses no reserved huge pages, whatever its settings; remove %s",
                        engine->title, command->from ? "--from" : "-c");
        engine_thp_preference(engine, version, &preference);
        if (command->json != JSON_OFF) {
                json_t *json = size_to_json(
                        command->arena, engine,
                        &(Sizing){.page_size_bytes = page_size_bytes, .is_exact = true},
                        &(Settings){});

                json_object_update_new(
                        json,
                        json_pack("{ss?}", "transparentHugePages",
                                  preference == THP_AUTO ? NULL : thp_policy_name(preference)));
                print_json(command, json);
                return EXIT_DONE;
        }
        printf("%s%s%s takes no reserved huge pages, and ", engine->title, version ? " " : "",
               version ? version : "");
        if (preference == THP_AUTO)
                puts("manages transparent huge pages itself");
        else
                printf("prefers transparent huge pages '%s'%s\n", thp_policy_name(preference),
                       engine->thp_changed_in.n_known > 0 && !version
                               ? ", which depends on its version (--engine-version=)"
                               : "");
        return EXIT_DONE;
}

static int print_engines(Command *command) {
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
                return EXIT_DONE;
        }
        table_print(table, &text, "", command->render.is_colored);
        fputs(text.string, stdout);
        json_decref(json);
        return EXIT_DONE;
}

/* ---- from pages to a setting ---- */

/* The database whose setting is searched, with its other settings. */
typedef struct Goal {
        Command *command;
        const Engine *engine;
        const InstanceConfig *instance; /* NULL: no instance */
        Settings settings;
        uint64_t page_size_bytes;
} Goal;

/* A number of pages, and the value that fits into them. */
typedef struct Room {
        const char *what;
        const char *id; /* for JSON */
        uint64_t pages;
        Fit fit;
        const char *wrong;
} Room;

/* Gets the pages of --pages= or --memory=; *RET is 0 without both. */
static int asked_pages(const Command *command, uint64_t page_size_bytes, uint64_t *ret) {
        const char *pages = command->pages, *memory = command->memory;
        uint64_t bytes = 0;

        *ret = 0;
        if (!pages && !memory)
                return 0;
        if (pages && !memory && parse_u64(pages, ret) == 0 && *ret > 0)
                return 0;
        if (memory && !pages && parse_size_bytes(memory, &bytes) == 0 && bytes >= page_size_bytes) {
                *ret = bytes / page_size_bytes;
                return 0;
        }
        return log_failure(
                -EINVAL,
                "write either --pages=NUMBER or --memory=SIZE, such as --memory=64G, of at least one page");
}

/* Returns the database's own settings, if its files can be read. */
static Settings read_settings(Command *command, const InstanceConfig *config,
                              const char **ret_why_not) {
        const EngineTarget target = figures_target(config, NULL);

        if (!config->engine->has_auto) {
                *ret_why_not = arena_printf(command->arena, "%s's files are not read",
                                            config->engine->title);
                return (Settings){};
        }
        const Gathered *found = gather(command, config->engine, &target, NULL);

        *ret_why_not = found->incomplete;
        return found->incomplete ? (Settings){} : found->settings;
}

static void print_rooms(const Goal *goal, const Room *rooms, size_t n) {
        Command *command = goal->command;
        Arena *arena = command->arena;
        const char *setting = goal->engine->memory_setting;
        Table *table = table_new(arena, arena_printf(arena, ">PAGES|OF|>%s|WITH", setting));
        Text text = text_in(arena);

        if (command->json != JSON_OFF) {
                json_t *list = ARRAY_TO_JSON(
                        room, rooms, n,
                        json_pack("{ss so ss? so ss?}", "room", room->id, "pages",
                                  count_to_json(room->pages), "value", room->fit.value, "bytes",
                                  count_to_json(room->fit.value_bytes), "reason", room->wrong));

                print_json(command,
                           json_pack("{ss? ss ss? so so}", "name",
                                     goal->instance ? goal->instance->name : NULL, "engine",
                                     goal->engine->name, "setting", setting, "pageSizeBytes",
                                     count_to_json(goal->page_size_bytes), "fits", list));
                return;
        }
        ARRAY_FOREACH(room, rooms, n) {
                table_add(table, format_count(arena, room->pages));
                table_add(table, format_page_size(arena, goal->page_size_bytes));
                table_add(table, room->wrong ? "-" : room->fit.value);
                table_add(table, room->what);
        }
        table_print(table, &text, "", command->render.is_colored);
        fputs(text.string, stdout);
}

/* WHY_NOT is why the other settings are not the database's own; NULL: they are, or they were given. */
static int solve(const Goal *goal, Room *rooms, size_t n, const char *why_not) {
        enum { PART = 1 << 20 };
        Arena *arena = goal->command->arena;
        const Engine *engine = goal->engine;
        const InstanceConfig *instance = goal->instance;
        uint64_t size_bytes = goal->page_size_bytes;

        ARRAY_FOREACH(room, rooms, n) {
                /* The pages by the rule that are these in truth, by the server's own figure or by its past use. */
                uint64_t pages = instance ? learned_by_rule(instance, size_bytes, room->pages)
                                          : room->pages;

                room->wrong = fit_setting(arena, engine, engine_formula(engine), &goal->settings,
                                          size_bytes, pages, &room->fit);
        }
        const Room *fitting = ARRAY_FIND(room, rooms, n, !room->wrong);

        if (goal->command->json != JSON_OFF || fitting)
                print_rooms(goal, rooms, n);
        if (!fitting)
                return log_failure(EXIT_FAILED, "%s: %s", goal->command->arguments[0],
                                   rooms[n - 1].wrong);
        if (why_not)
                log_line(LOG_NOTICE, "all other settings are assumed to have their defaults: %s",
                         why_not);
        if (!fitting->fit.sizing.is_exact && fitting->fit.sizing.caveat)
                log_line(LOG_NOTICE, "by the rule: %s", fitting->fit.sizing.caveat);
        uint64_t part = instance ? learned_by_rule(instance, size_bytes, PART) : PART;

        if (part < PART)
                log_line(
                        LOG_NOTICE,
                        "%s was measured to take %s for each 100 pages of the rule, which is taken into account",
                        instance->name,
                        format_count(arena, div_round_up((uint64_t) PART * 100, part)));
        return EXIT_DONE;
}

/* For the pages that the instance has and could have, or for a given number. */
static int size_of_instance(Command *command) {
        const char *name = command->arguments[0], *why_not;
        const Look *look = local_load(command, true, NULL);
        const PlanInstance *planned = plan_find(look->plan, name);

        /* Its file may have gone since the name was looked up. */
        if (!planned)
                return fail_no_instance(command, name, look->config);
        const InstanceConfig *config = planned->demand->config;
        Goal goal = {.command = command, .engine = config->engine, .instance = config};
        uint64_t asked;

        if (config->refusal)
                return log_failure(EXIT_FAILED, "%s: %s", name,
                                   diag_format(command->arena, config->refusal));
        goal.page_size_bytes = planned->page_size_bytes > 0 ? planned->page_size_bytes
                               : config->page_sizes[0] > 0
                                       ? config->page_sizes[0]
                                       : look->topology->default_page_size_bytes;
        if (look->topology->n_page_sizes == 0)
                return log_failure(EXIT_FAILED, "%s: this kernel has no huge pages", name);
        if (asked_pages(command, goal.page_size_bytes, &asked) < 0)
                return EXIT_USAGE;
        goal.settings = read_settings(command, config, &why_not);
        settings_add_host(command->arena, &goal.settings, look->topology->n_cpus,
                          look->topology->base_page_bytes);
        demand_add_version(command->arena, config, &goal.settings);
        if (asked > 0)
                return solve(&goal, &(Room){"the pages asked for", "asked", asked}, 1, why_not);
        const PlanInput input = {
                .host = &look->config->host,
                .demand = demand_compute(command->arena, look->config, look->topology,
                                         &look->figures),
                .topology = look->topology,
                .ledger = look->ledger,
                .use = look->use,
        };
        Room rooms[] = {
                {"the pages it has", "granted", planned->pages_granted},
                {"the most that this host could give it now", "possible",
                 fit_pages(command->arena, &input, name, goal.page_size_bytes)},
        };

        return solve(&goal, rooms, ARRAY_LEN(rooms), why_not);
}

/* ---- by engine ---- */

static int size_of_settings(Command *command, const Engine *engine, const Settings *settings,
                            uint64_t page_size_bytes) {
        Sizing sizing;
        const char *wrong = engine_size(engine, command->arena, settings, page_size_bytes, &sizing);

        if (wrong)
                return log_failure(EXIT_FAILED, "%s", wrong);
        if (command->json != JSON_OFF) {
                print_json(command, size_to_json(command->arena, engine, &sizing, settings));
        } else {
                const Limits limits = limits_of(command->arena, &sizing);

                printf("%s  pod: %s: %s; control group: %s: %" PRIu64 "\n",
                       render_sizing(command->arena, &sizing, &command->render), limits.resource,
                       limits.quantity, limits.file, sizing.bytes);
        }
        return EXIT_DONE;
}

static int size_of_engine(Command *command, const Engine *engine) {
        Arena *arena = command->arena;
        const Topology *topology = probe_topology(command->root, arena, NULL);
        Goal goal = {.command = command,
                     .engine = engine,
                     .page_size_bytes = topology_usual_page_size(topology)};
        uint64_t asked;
        Version version;

        settings_add_host(arena, &goal.settings, topology->n_cpus, topology->base_page_bytes);
        if (command->from && engine->reserves && read_from(command, engine, &goal.settings) < 0)
                return EXIT_FAILED;
        if (!command->page_size && goal.page_size_bytes == 0)
                return log_failure(
                        EXIT_USAGE,
                        "the page size of this host is not known; name one with --page-size");
        if (command->page_size && page_size_parse(command->page_size, &goal.page_size_bytes) < 0)
                return log_failure(
                        EXIT_USAGE,
                        "--page-size: '%s' is not a page size; write a size such as 2M or 1G",
                        command->page_size);
        VEC_FOREACH(item, &command->settings) {
                const char *equals = strchr(*item, '=');

                if (!equals || equals == *item)
                        return log_failure(EXIT_USAGE,
                                           "-c: '%s' is not a setting; write -c NAME=VALUE", *item);
                settings_add(arena, &goal.settings, arena_strdup_to(arena, *item, equals),
                             equals + 1, NULL);
        }
        if (command->engine_version && parse_version(command->engine_version, &version) < 0)
                return log_failure(EXIT_USAGE,
                                   "--engine-version: '%s' is not a version; write one such as 8.0",
                                   command->engine_version);
        if (command->engine_version)
                settings_add(arena, &goal.settings, "server_version", command->engine_version,
                             NULL);
        if (asked_pages(command, goal.page_size_bytes, &asked) < 0)
                return EXIT_USAGE;
        const char *unknown = settings_refuse_unknown(arena, engine, &goal.settings);

        if (unknown)
                return log_failure(EXIT_FAILED, "%s", unknown);
        Room room = {"the pages asked for", "asked", asked};

        return asked > 0 ? solve(&goal, &room, 1, NULL)
               : !engine->reserves
                       ? size_of_nothing(command, engine, goal.page_size_bytes)
                       : size_of_settings(command, engine, &goal.settings, goal.page_size_bytes);
}

int verb_size(Command *command) {
        const char *name = command->n_arguments > 0 ? command->arguments[0] : NULL;
        const Engine *engine = name ? engine_find(name) : NULL;
        /* Many instances have the name of their engine. If options give settings, the name means the engine. */
        bool has_settings = command->settings.n > 0 || command->from || command->engine_version ||
                            command->page_size;

        if (!name && !has_settings)
                return print_engines(command);
        if (!name)
                return log_failure(EXIT_USAGE,
                                   "these options need an engine; 'hugeplanctl size' lists them");
        const InstanceConfig *instance = has_settings ? NULL
                                                      : config_find(read_config(command), name);

        if (instance && (!engine || (!instance->refusal && instance->engine->memory_setting)))
                return size_of_instance(command);
        if (engine)
                return size_of_engine(command, engine);
        return log_failure(EXIT_USAGE, "%s%s; 'hugeplanctl size' lists the engines",
                           engine_refuse(command->arena, name),
                           has_settings ? ", and these options need one"
                                        : ", and no instance of that name");
}

/* ---- explain ---- */

static json_t *sizings_to_json(const Figures *figures) {
        json_t *list = json_array();

        VEC_FOREACH(figure, figures)
                if (!figure->wrong)
                        json_array_append_new(list, sizing_to_json(&figure->sizing));
        return list;
}

static json_t *lesson_to_json(Arena *arena, const Lesson *lesson) {
        const Figures next = lesson_figures(arena, lesson);
        const Gathered none = {}, *gathered = lesson->gathered ? lesson->gathered : &none;

        return json_pack(
                "{so so so so so sb so so so}", "version", text_to_json(arena, lesson->version),
                "settings", settings_to_json(arena, &gathered->settings), "problems",
                problems_to_json(&gathered->problems), "byRule", sizings_to_json(&lesson->by_rule),
                "sizes", sizings_to_json(&lesson->figures), "exact", lesson->is_exact, "next",
                sizings_to_json(&next), "unasked", text_to_json(arena, lesson->unasked), "wrong",
                text_to_json(arena, lesson->wrong));
}

static json_t *explain_to_json(Arena *arena, const PlanInstance *planned, const Lesson *lesson,
                               const Seen *now, const GeneratedFiles *files) {
        const DemandInstance *demand = planned->demand;
        const InstanceConfig *config = demand->config;
        const Learned *learned = &config->learned;
        const Seen *seen = &learned->seen;
        const char *file = learned_path(arena, config);
        ThpPolicy preference = thp_preference_of(config);
        json_t *found = json_null(), *known = json_null(), *seen_json = json_null();

        if (lesson)
                found = lesson_to_json(arena, lesson);
        if (lesson && learned->pages.n > 0)
                known = json_pack("{ss so sb so sb}", "file", file, "pages",
                                  page_counts_to_json(&learned->pages), "exact", learned->is_exact,
                                  "version", text_to_json(arena, learned->version), "holds",
                                  lesson_use(lesson) != LESSON_LEARN);
        if (lesson && (seen->pages.n > 0 || now->pages.n > 0))
                seen_json = json_pack("{ss so sb sb so so}", "file", file, "pages",
                                      page_counts_to_json(&seen->pages), "exact", seen->is_exact,
                                      "holds", seen_is_known(config), "unit",
                                      text_to_json(arena, seen->unit), "now",
                                      page_counts_to_json(&now->pages));
        json_t *inputs =
                VEC_TO_JSON(origin, &config->origins,
                            json_pack("{ss ss ss si}", "key", origin->key, "value", origin->value,
                                      "file", origin->file, "line", (int) origin->line));
        json_t *sizes = ARRAY_TO_JSON(option, demand->options, demand->n_options,
                                      sizing_to_json(&option->sizing));
        json_t *generated = VEC_TO_JSON(
                each, files, json_pack("{ss ss}", "name", each->name, "text", each->text));

        return json_pack("{ss ss ss so so ss? ss? ss? so so so so}", "name", config->name, "engine",
                         config->engine->name, "file", config->file, "inputs", inputs, "sizes",
                         sizes, "transparentHugePages",
                         preference == THP_AUTO ? NULL : thp_policy_name(preference), "reason",
                         planned->reason.text, "remedy", planned->reason.remedy, "found", found,
                         "learned", known, "seen", seen_json, "generated", generated);
}

int verb_explain(Command *command) {
        Arena *arena = command->arena;
        const Look *look = local_load(command, true, NULL);
        const PlanInstance *planned = plan_find(look->plan, command->arguments[0]);

        if (!planned)
                return fail_no_instance(command, command->arguments[0], look->config);
        const InstanceConfig *config = planned->demand->config;
        bool is_automatic = !config->refusal && config->memory_kind == MEMORY_AUTO;
        Lesson lesson = is_automatic ? learn_find(command, config, look->topology) : (Lesson){};
        const Lesson *found = is_automatic ? &lesson : NULL;
        const char *why;
        const Seen now = is_automatic
                                 ? look_at_unit(command, look->config, config, look->topology, &why)
                                 : (Seen){};
        const DropinInput input = dropin_input(command->root, arena, look->config, HUGEPLANCTL);
        const Dropins dropins = dropins_make(arena, &input);
        const MountUnits mounts = mounts_of(command->root, arena, look->config, look->topology);
        Diags withheld = diags_in(arena);
        GeneratedFiles files = {};

        /* The drop-in of its unit, which other instances may share, and its mount unit. */
        VEC_FOREACH(dropin, &dropins)
                if (text_equals(dropin->unit, config->unit))
                        *vec_push(arena, &files) = (GeneratedFile){
                                arena_printf(arena, "%s.d/" NAME_DROPIN, dropin->unit),
                                dropin->text};
        VEC_FOREACH(mount, &mounts)
                if (mount->instance == config)
                        *vec_push(arena, &files) = (GeneratedFile){mount->name, mount->text};
        /* Why it, or the whole host, is not planned before a reload. */
        VEC_FOREACH(problem, &look->guard_problems.list)
                if (!problem->file || text_equals(problem->file, config->file))
                        diags_add(&withheld, problem);
        if (command->json != JSON_OFF) {
                print_json(command, explain_to_json(arena, planned, found, &now, &files));
        } else {
                fputs(render_explain(arena, planned, look->topology, found, &now, &files,
                                     &command->render),
                      stdout);
                if (withheld.list.n > 0)
                        printf("\n%s", render_problems(arena, &withheld, false, &command->render));
        }
        return config->refusal ? EXIT_FAILED : EXIT_DONE;
}
