/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The JSON that scripts rely on: the documented names, and reading it back. */

#include "base/size.h"
#include "render/status_json.h"
#include "render/views.h"
#include "support/testing.h"

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

static void assert_type(const json_t *object, const char *key, json_type type) {
        const json_t *value = json_object_get(object, key);

        if (!value)
                fail_msg("there is no '%s'", key);
        if (json_typeof(value) != type)
                fail_msg("'%s' is of another type", key);
}

static void assert_string_or_null(const json_t *object, const char *key) {
        const json_t *value = json_object_get(object, key);

        assert_non_null(value);
        assert_true(json_is_string(value) || json_is_null(value));
}

static void assert_integers(const json_t *object, const char *const *keys) {
        for (; *keys; keys++)
                assert_type(object, *keys, JSON_INTEGER);
}

static void assert_pages_on_nodes(const json_t *nodes) {
        const json_t *item;
        size_t i;

        json_array_foreach(nodes, i, item)
                assert_integers(item, (const char *const[]){"node", "pages", NULL});
}

/* The hold of a running unit. */
static void assert_hold(const json_t *hold) {
        assert_type(hold, "instance", JSON_STRING);
        assert_type(hold, "unit", JSON_STRING);
        assert_integers(hold, (const char *const[]){"pageSizeBytes", "pages", NULL});
        assert_type(hold, "nodes", JSON_ARRAY);
        assert_pages_on_nodes(json_object_get(hold, "nodes"));
}

static void assert_instance(const json_t *instance) {
        static const char *const integers[] = {"pageSizeBytes", "pagesWanted", "pagesGranted",
                                               NULL};
        const json_t *until = json_object_get(instance, "untilRestart");

        assert_type(instance, "name", JSON_STRING);
        assert_type(instance, "engine", JSON_STRING);
        assert_type(instance, "verdict", JSON_STRING);
        assert_string_or_null(instance, "unit");
        assert_string_or_null(instance, "reason");
        assert_string_or_null(instance, "remedy");
        if (!text_equals(json_string_value(json_object_get(instance, "verdict")), "invalid"))
                assert_integers(instance, integers);
        assert_type(instance, "nodes", JSON_ARRAY);
        assert_pages_on_nodes(json_object_get(instance, "nodes"));
        assert_true(json_is_boolean(json_object_get(instance, "running")));
        assert_non_null(until);
        if (!json_is_null(until))
                assert_hold(until);
}

/* The smallest documented shape. */
TEST(contract) {
        static const char *const pool_keys[] = {"node",    "pageSizeBytes", "total", "free",
                                                "surplus", "foreign",       "owned", NULL};
        json_t *json = status_to_json(some_status(arena), false);
        const json_t *host = json_object_get(json, "host"), *item;
        size_t i;

        assert_text(json_string_value(json_object_get(host, "verdict")), "invalid");
        assert_text(json_string_value(json_object_get(host, "transparentHugePages")), "madvise");
        assert_int_equal(json_array_size(json_object_get(json, "pools")), 2);
        json_array_foreach(json_object_get(json, "pools"), i, item)
                assert_integers(item, pool_keys);
        assert_int_equal(json_array_size(json_object_get(json, "reserved")), 3);
        json_array_foreach(json_object_get(json, "reserved"), i, item) {
                assert_string_or_null(item, "unit");
                assert_integers(item, (const char *const[]){"pageSizeBytes", "pages", NULL});
                assert_non_null(json_object_get(item, "nodes"));
        }
        assert_int_equal(json_array_size(json_object_get(json, "kept")), 1);
        json_array_foreach(json_object_get(json, "kept"), i, item)
                assert_hold(item);
        assert_int_equal(json_array_size(json_object_get(json, "instances")), 4);
        json_array_foreach(json_object_get(json, "instances"), i, item)
                assert_instance(item);
        assert_true(json_array_size(json_object_get(json, "problems")) > 0);
        json_array_foreach(json_object_get(json, "problems"), i, item) {
                assert_type(item, "id", JSON_STRING);
                assert_type(item, "severity", JSON_STRING);
                assert_type(item, "text", JSON_STRING);
                assert_string_or_null(item, "file");
                assert_string_or_null(item, "key");
                assert_string_or_null(item, "remedy");
                assert_non_null(json_object_get(item, "line"));
        }
        json_decref(json);
}

TEST(values) {
        json_t *json = status_to_json(some_status(arena), false);
        const json_t *a = json_array_get(json_object_get(json, "instances"), 0);
        const json_t *d = json_array_get(json_object_get(json, "instances"), 3);
        const json_t *pool = json_array_get(json_object_get(json, "pools"), 0);

        assert_text(json_string_value(json_object_get(a, "name")), "a");
        assert_text(json_string_value(json_object_get(a, "engine")), "postgresql");
        assert_text(json_string_value(json_object_get(a, "unit")), "a.service");
        assert_text(json_string_value(json_object_get(a, "verdict")), "ready");
        assert_int_equal(json_integer_value(json_object_get(a, "pagesWanted")), 10);
        assert_true(json_is_null(json_object_get(a, "reason")));
        assert_text(json_string_value(json_object_get(d, "verdict")), "invalid");
        assert_true(json_is_null(json_object_get(d, "pageSizeBytes")));
        assert_int_equal(json_integer_value(json_object_get(pool, "node")), 0);
        assert_true(json_integer_value(json_object_get(pool, "pageSizeBytes")) == 2 * MIB);
        json_decref(json);
}

/* Reserved pages are listed by unit, because the node that will serve them is not always known. */
TEST(reserved) {
        json_t *json = status_to_json(some_status(arena), false);
        const json_t *reserved = json_object_get(json, "reserved");
        const json_t *a = json_array_get(reserved, 0), *old = json_array_get(reserved, 1),
                     *others = json_array_get(reserved, 2);

        assert_text(json_string_value(json_object_get(a, "unit")), "a.service");
        assert_int_equal(json_integer_value(json_object_get(a, "pages")), 2);
        assert_true(json_is_null(json_object_get(a, "nodes")));
        assert_text(json_string_value(json_object_get(old, "unit")), "old.service");
        assert_int_equal(json_integer_value(json_object_get(old, "pages")), 4);
        assert_int_equal(json_array_size(json_object_get(old, "nodes")), 1);
        assert_int_equal(json_integer_value(json_array_get(json_object_get(old, "nodes"), 0)), 2);
        assert_true(json_is_null(json_object_get(others, "unit")));
        assert_int_equal(json_integer_value(json_object_get(others, "pages")), 3);
        json_decref(json);
}

/* The hold of an instance's unit, and of the unit of a removed instance. */
TEST(holds) {
        json_t *json = status_to_json(some_status(arena), false);
        const json_t *a = json_array_get(json_object_get(json, "instances"), 0);
        const json_t *b = json_array_get(json_object_get(json, "instances"), 1);
        const json_t *until = json_object_get(a, "untilRestart");
        const json_t *kept = json_array_get(json_object_get(json, "kept"), 0);

        assert_true(json_is_true(json_object_get(a, "running")));
        assert_text(json_string_value(json_object_get(until, "unit")), "a.service");
        assert_int_equal(json_integer_value(json_object_get(until, "pages")), 5);
        assert_true(json_is_false(json_object_get(b, "running")));
        assert_true(json_is_null(json_object_get(b, "untilRestart")));
        assert_text(json_string_value(json_object_get(kept, "instance")), "old");
        assert_int_equal(json_integer_value(json_object_get(kept, "pages")), 4);
        json_decref(json);
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

/* Fields of a later daemon are ignored. */
TEST(unknown_fields) {
        json_t *json = status_to_json(some_status(arena), false);
        json_t *first = json_array_get(json_object_get(json, "instances"), 0);

        json_object_set_new(json, "future", json_true());
        json_object_set_new(first, "future", json_object());
        assert_non_null(status_from_json(arena, json));
        json_decref(json);
}

#define ROW(row)                                                                                         \
        "{\"host\":{\"verdict\":\"ready\"},\"pools\":[],\"instances\":[],\"problems\":[],\"rows\":[" row \
        "]}"

TEST(no_status) {
        static const char *const texts[] = {
                "{}",
                "[]",
                "null",
                "{\"host\":{\"verdict\":\"ready\"},\"pools\":[],\"instances\":[]}",
                "{\"host\":{\"verdict\":\"fine\"},\"pools\":[],\"instances\":[],\"problems\":[]}",
                "{\"host\":{},\"pools\":[],\"instances\":[],\"problems\":[]}",
                "{\"host\":{\"verdict\":\"ready\"},\"pools\":{},\"instances\":[],\"problems\":[]}",
                "{\"host\":{\"verdict\":\"ready\"},\"pools\":[],\"instances\":[{}],"
                "\"problems\":[]}",
                "{\"host\":{\"verdict\":\"ready\"},\"pools\":[],\"instances\":[7],"
                "\"problems\":[]}",
                ROW("7"),
                ROW("\"\""),
                ROW("\"db\\tready\\t2097152\\t3\\t3\""),
                ROW("\"db\\tfine\\t2097152\\t3\\t3\\tN0=3\""),
                ROW("\"db\\tready\\t2M\\t3\\t3\\tN0=3\""),
        };

        for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
                json_t *json = json_loads(texts[i], JSON_DECODE_ANY, NULL);

                assert_non_null(json);
                if (status_from_json(arena, json))
                        fail_msg("taken: %s", texts[i]);
                json_decref(json);
        }
}

/* An earlier daemon has none of these fields. */
TEST(missing_fields) {
        static const char *const keys[] = {"reserved", "kept", "attempts"};
        json_t *json = status_to_json(some_status(arena), false);
        json_t *first = json_array_get(json_object_get(json, "instances"), 0);

        for (size_t i = 0; i < ARRAY_LEN(keys); i++)
                json_object_del(json, keys[i]);
        json_object_del(first, "running");
        json_object_del(first, "untilRestart");
        const Status *status = status_from_json(arena, json);

        assert_non_null(status);
        assert_int_equal(status->reserved.n + status->left.n + status->attempts.n, 0);
        assert_false(status->instances[0].is_running);
        assert_null(status->instances[0].until_restart);
        json_decref(json);
}

/* Absurd numbers become harmless ones. */
TEST(odd_numbers) {
        json_t *json = json_loads("{\"host\":{\"verdict\":\"ready\"},\"pools\":[{\"node\":-1,"
                                  "\"total\":\"7\",\"free\":null}],\"instances\":[{\"name\":\"a\","
                                  "\"verdict\":\"ready\",\"pagesWanted\":-5,\"nodes\":[null]}],"
                                  "\"problems\":[{},7,{\"text\":\"x\"}],"
                                  "\"reserved\":[{\"pages\":-1,\"nodes\":[-1,1024,3,\"4\"]},7],"
                                  "\"kept\":[{\"unit\":\"x\"},7,null]}",
                                  0, NULL);
        const Status *status = status_from_json(arena, json);

        assert_non_null(status);
        assert_int_equal(status->pools[0].total_pages, 0);
        assert_int_equal(status->instances[0].pages_wanted, 0);
        assert_int_equal(status->instances[0].n_nodes, 1);
        assert_int_equal(status->problems.list.n, 1);
        assert_int_equal(status->reserved.n, 2);
        assert_int_equal(status->reserved.items[0].pages, 0);
        assert_text(id_set_format(arena, &status->reserved.items[0].nodes), "0,3");
        assert_int_equal(status->left.n, 0); /* no entry without a name */
        json_decref(json);
}

/* No text moves a terminal's cursor, even if another program answers in the daemon's place. */
TEST(odd_texts) {
        json_t *json =
                json_loads("{\"host\":{\"verdict\":\"ready\",\"phase\":\"a\\u001b[2J\"},"
                           "\"pools\":[],\"instances\":[],"
                           "\"problems\":[{\"text\":\"x\\n\\u001b[31m\",\"key\":\"\\u0007\"}]}",
                           0, NULL);
        const Status *status = status_from_json(arena, json);

        assert_non_null(status);
        assert_text(status->phase, "a?[2J");
        assert_text(status->problems.list.items[0].text, "x??[31m");
        assert_text(status->problems.list.items[0].key, "?");
        json_decref(json);
}

TEST(plan) {
        const Config *config = config_line(arena, "a Pages=3; b Pages=18446744073709551615");
        const Plan *plan = plan_simple(arena, config,
                                       host_make(arena, "sizes 2M\n"
                                                        "node 1 total=20G free=4G 2M=1\n"));
        HostPlan host = {};

        *vec_push(arena, &host.writes) = (HostWrite){"/sys/a", "never"};
        json_t *json = plan_to_json(plan, &host, &config->problems);
        const json_t *write = json_array_get(json_object_get(json, "writes"), 0);
        const json_t *step = json_array_get(json_object_get(json, "steps"), 0);
        const json_t *b = json_array_get(json_object_get(json, "instances"), 1);

        assert_int_equal(json_array_size(json_object_get(json, "steps")), 1);
        assert_int_equal(json_integer_value(json_object_get(step, "node")), 1);
        assert_true(json_integer_value(json_object_get(step, "pageSizeBytes")) == 2 * MIB);
        assert_int_equal(json_integer_value(json_object_get(step, "from")), 1);
        assert_int_equal(json_integer_value(json_object_get(step, "to")), 3);
        assert_instance(json_array_get(json_object_get(json, "instances"), 0));
        assert_text(json_string_value(json_object_get(write, "path")), "/sys/a");
        assert_text(json_string_value(json_object_get(write, "value")), "never");
        /* Beyond JSON's integers: the largest one, not a negative number. */
        assert_true(json_integer_value(json_object_get(b, "pagesWanted")) == INT64_MAX);
        json_decref(json);
}

/* A plan also shows whether a unit runs. Pages that a reload keeps temporarily belong to no unit. */
TEST(plan_running) {
        static const struct {
                const char *running;
                bool is_running;
        } cases[] = {
                {"", false},
                {"hold a.service a 2M=0:3\nunit a.service\n", true},
                {"hold x a 2M=0:3 tentative\n", false},
        };
        const Config *config = config_line(arena, "a Pages=3 Unit=a.service");
        const Topology *topology = host_make(arena, "sizes 2M\nnode 0 total=20G free=4G 2M=3\n");

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                const Running running = running_make(arena, cases[i].running);
                const Plan *plan = plan_beside(arena, config, topology, NULL, &running);
                json_t *json = plan_to_json(plan, &(HostPlan){}, &(Diags){});
                const json_t *a = json_array_get(json_object_get(json, "instances"), 0);

                assert_int_equal(json_is_true(json_object_get(a, "running")), cases[i].is_running);
                json_decref(json);
        }
}
