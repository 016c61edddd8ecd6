/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The JSON that scripts rely on: the documented names (status_json.stories), and reading it back.
 *
 *     types instances.*              the keys of objects, with the types of their values
 *     value instances.0.verdict      values at a path; "*": of each element
 *     again PATH                     the same after the status was read from JSON and written again
 *     set PATH JSON, without PATH    changes the JSON, which is that of some_status() at first
 *     json TEXT                      other JSON
 *     plan CONFIG                    the JSON of a plan, for config_line(), beside the units of `running`
 */

#include "base/size.h"
#include "render/status_json.h"
#include "render/views.h"
#include "support/story.h"

static Status *some_status(Arena *arena) {
        const Config *config =
                config_line(arena, "a Pages=10 Unit=a.service Engine=postgresql; b Pages=99999 "
                                   "Shortage=degrade Priority=7; c Pages=99999; d Pages=x");
        Topology *topology = host_make(arena, "sizes 2M\n"
                                              "node 0 total=20G free=4048M 2M=10/4/2\n"
                                              "node 2 total=20G free=4048M 2M=30\n"
                                              "reserved 2M=9\n"
                                              "thp madvise\n");
        const Running running = running_make(arena, "hold a.service a 2M=0:5 counted\n"
                                                    "unit a.service 2M=5/0:3\n"
                                                    "hold old.service old 2M=2:4 bind=2 counted\n"
                                                    "unit old.service 2M=4\n");
        Ledger *ledger = ledger_new(arena, "boot");
        Plan *plan = plan_beside(arena, config, topology, ledger, &running);

        plan_record(arena, plan, ledger);
        host_apply(topology, plan);
        return status_judge(arena, &(StatusInput){.config = config,
                                                  .plan = plan,
                                                  .topology = topology,
                                                  .use = &running.use,
                                                  .ledger = ledger,
                                                  .phase = "idle"});
}

TEST(round_trip) {
        Status *status = some_status(arena);

        *vec_push((Arena *) arena, &status->covers) = (Exposure){
                .unit = "b.service", .page_size_bytes = 2 * MIB, .pages = 7, .taker_pages = 9};
        id_set_add(&status->covers.items[0].nodes, 1);
        status->pools[0].cover_pages = 7;
        json_t *json = status_to_json(status, false);
        Status *read = status_from_json(arena, json);

        assert_non_null(read);
        json_t *again = status_to_json(read, false);

        assert_int_equal(read->reserved.n, 3);
        assert_int_equal(read->left.n, 1);
        assert_int_equal(read->covers.n, 1);
        assert_non_null(read->instances[0].until_restart);
        assert_true(json_equal(json, again));
        json_decref(json);
        json_decref(again);
}

/* The brief form has all of the table of instances, and of the outcomes in it. */
TEST(brief) {
        const RenderOptions options = {.width = 200};
        Status *status = some_status(arena);
        json_t *json = status_to_json(status, true);
        const Status *read = status_from_json(arena, json);

        assert_non_null(read);
        assert_text(render_status(arena, read, &options), render_status(arena, status, &options));
        for (size_t i = 0; i < status->n_instances; i++) {
                const StatusInstance *instance = &read->instances[i],
                                     *whole = &status->instances[i];

                assert_text(instance->unit, whole->unit);
                assert_text(instance->engine, whole->unit ? whole->engine : NULL);
                assert_text(instance->file, whole->unit ? whole->file : NULL);
                assert_int_equal(instance->was_let_start, whole->was_let_start);
                assert_int_equal(instance->is_counted, whole->is_counted);
                assert_int_equal(!instance->until_restart, !whole->until_restart);
                if (whole->until_restart)
                        assert_int_equal(instance->until_restart->pages,
                                         whole->until_restart->pages);
        }
        json_decref(json);
}

/* ---- stories ---- */

typedef struct Story {
        Arena *arena;
        json_t *json;
        Running running;
} Story;

#define VERB(name, words) STORY_VERB(name, words, Story, story)

static void begin_story(void *context) {
        Story *story = context;

        story->json = status_to_json(some_status(story->arena), false);
}

static void end_story(void *context) {
        json_decref(((Story *) context)->json);
}

static void replace(Story *story, json_t *json) {
        json_decref(story->json);
        story->json = json;
}

typedef VEC(json_t *) Values;

static void find(Arena *arena, json_t *json, const char *path, Values *ret) {
        const char *rest = path, *key = text_next_word(arena, &rest, ".");
        json_t *item;
        uint64_t at;
        size_t i;

        if (!key && json)
                *vec_push(arena, ret) = json;
        else if (text_equals(key, "*"))
                json_array_foreach(json, i, item)
                        find(arena, item, rest, ret);
        else if (key)
                find(arena,
                     parse_u64(key, &at) == 0 ? json_array_get(json, at)
                                              : json_object_get(json, key),
                     rest, ret);
}

static const char *values_text(Arena *arena, json_t *json, const char *path) {
        Values values = {};
        Text text = text_in(arena);

        find(arena, json, path, &values);
        VEC_FOREACH(value, &values) {
                char *dump = json_dumps(*value, JSON_COMPACT | JSON_ENCODE_ANY);

                text_add_word(&text, dump);
                free(dump);
        }
        return text_string(&text);
}

VERB(do_value, "value") {
        return values_text(line->arena, story->json, line->words[1]);
}

VERB(do_again, "again") {
        Status *status = status_from_json(line->arena, story->json);

        if (!status)
                return "no status";
        json_t *json = status_to_json(status, false);
        const char *text = values_text(line->arena, json, line->words[1]);

        json_decref(json);
        return text;
}

VERB(do_types, "types") {
        static const char *const names[] = {
                [JSON_OBJECT] = "object",   [JSON_ARRAY] = "array", [JSON_STRING] = "string",
                [JSON_INTEGER] = "integer", [JSON_REAL] = "real",   [JSON_TRUE] = "boolean",
                [JSON_FALSE] = "boolean",   [JSON_NULL] = "null"};
        Values objects = {};
        Text text = text_in(line->arena);
        json_t *keys = json_object(), *value;
        const char *key;

        find(line->arena, story->json, line->words[1], &objects);
        VEC_FOREACH(object, &objects)
                json_object_foreach(*object, key, value) {
                        const char *name = names[json_typeof(value)];
                        json_t *types = json_object_get(keys, key);

                        if (!types)
                                json_object_set_new(keys, key, types = json_object());
                        json_object_set_new(types, name, json_true());
                }
        json_object_foreach(keys, key, value) {
                const char *separator = ":", *type;
                json_t *is_so;

                text_add_word(&text, key);
                json_object_foreach(value, type, is_so) {
                        text_printf(&text, "%s%s", separator, type);
                        separator = "|";
                }
        }
        json_decref(keys);
        return text_string(&text);
}

VERB(do_set, "set without") {
        const char *path = line->words[1], *dot = strrchr(path, '.');
        Values parents = {};

        find(line->arena, story->json,
             arena_strndup(line->arena, path, dot ? (size_t) (dot - path) : 0), &parents);
        VEC_FOREACH(parent, &parents)
                if (text_equals(line->words[0], "set"))
                        json_object_set_new(*parent, dot ? dot + 1 : path,
                                            json_loads(story_text(line, 1), JSON_DECODE_ANY, NULL));
                else
                        json_object_del(*parent, dot ? dot + 1 : path);
        return NULL;
}

VERB(do_json, "json") {
        replace(story, json_loads(story_text(line, 0), JSON_DECODE_ANY, NULL));
        assert_non_null(story->json);
        return NULL;
}

VERB(do_running, "running") {
        story->running = running_make(line->arena, story_text(line, 0));
        return NULL;
}

VERB(do_plan, "plan") {
        const Config *config = config_line(line->arena, "%s", line->rest);
        const Topology *topology =
                host_make(line->arena, "sizes 2M\nnode 1 total=20G free=4G 2M=1\n");
        const Plan *plan = plan_beside(line->arena, config, topology, NULL, &story->running);
        HostPlan host = {};

        *vec_push(line->arena, &host.writes) = (HostWrite){"/sys/a", "never"};
        replace(story, plan_to_json(plan, &host, &config->problems));
        return NULL;
}

STORY_TEST(stories, "unit/render/status_json", .size = sizeof(Story), .begin = begin_story,
           .end = end_story)
