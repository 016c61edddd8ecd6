/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/clients/client.h"

#include "base/memory.h"
#include "ipc/interface_texts.h"
#include "ipc/manager_interface.h"
#include "render/status_json.h"
#include "runtime/clock.h"

#include <malloc.h>

/* ---- Describe, Plan ---- */

/* The texts shared by all clients of one look. */
typedef struct Description {
        Arena *arena;
        const Status *status; /* NULL: not judged yet */
        /* For subscribers and for the others, in full and brief; NULL: not built yet. */
        char *texts[2][2];
        char *plan; /* likewise */
} Description;

static char *plan_text(const Manager *manager) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Diags problems = diags_in(arena);
        const Look *look = keeper_look_ahead(manager->keeper, arena, &problems);

        look_add_problems(look, &problems);
        return varlink_text_new(plan_to_json(look->plan, &look->host, &problems), true);
}

static const char *describe(Description *description, const Client *client) {
        bool is_last = client->kind == CLIENT_DESCRIBED;

        if (client->kind == CLIENT_PLANNED) {
                if (!description->plan)
                        description->plan = plan_text(client->manager);
                return description->plan;
        }
        char **text = &description->texts[is_last][client->is_brief];

        if (!description->status) {
                description->arena = arena_new();
                description->status = manager_describe(client->manager, description->arena);
        }
        if (!*text)
                *text = varlink_text_new(status_to_json(description->status, client->is_brief),
                                         is_last);
        return *text;
}

static void description_done(Description *description) {
        ARRAY_FOREACH(pair, description->texts, ARRAY_LEN(description->texts))
                ARRAY_FOREACH(text, *pair, ARRAY_LEN(*pair))
                        memory_free(*text);
        memory_free(description->plan);
        arena_free(description->arena);
}

static void on_drained(VarlinkCall *call, void *userdata) {
        varlink_call_set_drained_handler(call, NULL, NULL);
        client_make_due(userdata);
}

static void method_describe(VarlinkCall *call, json_t *parameters, void *userdata) {
        Client *client = client_new(userdata, call, NULL);

        client->is_brief = json_is_true(json_object_get(parameters, "brief"));
        client->kind = varlink_call_wants_more(call) ? CLIENT_SUBSCRIBER : CLIENT_DESCRIBED;
        client_make_due(client);
}

static void method_plan(VarlinkCall *call, json_t *parameters UNUSED, void *userdata) {
        Client *client = client_new(userdata, call, NULL);

        client->kind = CLIENT_PLANNED;
        client_make_due(client);
}

static void tell(Client *client, Description *description) {
        VarlinkCall *call = client->call;

        if (client->kind != CLIENT_SUBSCRIBER) {
                const char *text = describe(description, client);

                client_end(client);
                varlink_call_reply_text(call, text);
        } else if (varlink_call_is_congested(call)) {
                varlink_call_set_drained_handler(call, on_drained, client);
        } else {
                varlink_call_reply_text_continues(call, describe(description, client));
        }
}

/* ---- Reload ---- */

static void answer_reload(Client *client) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const Status *status = manager_judge(client->manager, arena);
        KeeperReloadResult result = keeper_reload_result(client->manager->keeper);
        VarlinkCall *call = client->call;
        json_t *json;

        client_end(client);
        if (result.state == KEEPER_RELOAD_REJECTED || result.state == KEEPER_RELOAD_REFUSED) {
                varlink_call_error(
                        call,
                        result.state == KEEPER_RELOAD_REJECTED ? MANAGER_ERROR_CONFIG_INVALID
                                                               : MANAGER_ERROR_RELOAD_REFUSED,
                        json_pack("{so}", "problems", problems_to_json(&result.problems)));
                return;
        }
        json = status_to_json(status, false);
        varlink_call_reply(call, json_pack("{sO sO so so so}", "instances",
                                           json_object_get(json, "instances"), "problems",
                                           json_object_get(json, "problems"), "changes",
                                           changes_to_json(&result.changes), "pools",
                                           pool_changes_to_json(&result.pools), "writes",
                                           host_writes_to_json(&result.writes)));
        json_decref(json);
}

static void method_reload(VarlinkCall *call, json_t *parameters, void *userdata) {
        Manager *manager = userdata;
        Client *client = client_new(manager, call, NULL);

        client->kind = CLIENT_RELOAD;
        manager_reload(manager, json_is_true(json_object_get(parameters, "force")));
}

/* ---- Release, Learn ---- */

/* Answers with the instance's status after the round, and the changes of the pools. */
static void answer_instance(Client *client) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const Keeper *keeper = client->manager->keeper;
        const Status *status = manager_judge(client->manager, arena);
        const StatusInstance *instance = status_find(status, client->instance);
        VarlinkCall *call = client->call;

        /* The size of an instance that the next reload adds is stored all the same. */
        if (!instance && client->kind == CLIENT_RELEASE) {
                client_end_gone(client);
                return;
        }
        json_t *reply = json_pack("{so}", "instance",
                                  instance ? status_instance_to_json(instance) : json_null());

        if (client->kind == CLIENT_RELEASE) {
                PoolChanges changes = keeper_pool_changes(keeper, arena);

                json_object_set_new(reply, "pools", pool_changes_to_json(&changes));
        } else {
                json_object_set_new(reply, "unkept",
                                    client->size.unkept ? json_string(client->size.unkept)
                                                        : json_null());
        }
        client_end(client);
        varlink_call_reply(call, reply);
}

static void method_release(VarlinkCall *call, json_t *parameters, void *userdata) {
        Manager *manager = userdata;
        const char *name = json_string_value(json_object_get(parameters, "instance"));

        if (!config_find(keeper_config(manager->keeper), name)) {
                client_refuse_name(call, name);
                return;
        }
        Client *client = client_new(manager, call, name);

        client->kind = CLIENT_RELEASE;
        keeper_release(manager->keeper, client->instance, clock_now_usec());
        manager_work(manager);
}

/* ---- when something has changed ---- */

enum {
        STARTING = 1 << 0,
        ASKING = 1 << 1,
        GATES = STARTING | ASKING,
        SUBSCRIBERS = 1 << 2,
        DESCRIBED = 1 << 3,
        OTHERS = 1 << 4,
        ALL = (1 << 5) - 1,
};

static unsigned kind_of(const Client *client) {
        switch (client->kind) {
        case CLIENT_GATE:
                return client->wait.gate.is_starting ? STARTING : ASKING;
        case CLIENT_SUBSCRIBER:
                return SUBSCRIBERS;
        case CLIENT_DESCRIBED:
        case CLIENT_PLANNED:
                return DESCRIBED;
        default:
                return OTHERS;
        }
}

static bool is_meant(const Client *client, ManagerNews news, unsigned kinds) {
        static const unsigned whom[] = {
                [MANAGER_WRITTEN] = GATES,
                [MANAGER_LOST] = SUBSCRIBERS,
                [MANAGER_LOOKED] = GATES | SUBSCRIBERS,
                [MANAGER_SETTLED] = GATES | SUBSCRIBERS | OTHERS,
                [MANAGER_REREAD] = GATES,
                [MANAGER_DUE] = 0,
        };
        unsigned kind = kind_of(client);

        return kind & kinds && (kind & whom[news] || (news == MANAGER_DUE && client->is_due));
}

/* Returns whether a round is wanted. */
static bool try_gates(Manager *manager, ManagerNews news, unsigned kinds, GateView *view) {
        bool wants_round = false;

        for (Client *client = manager->clients.first, *next; client; client = next) {
                next = client->next;
                if (client->wait.answer.is_ready || !is_meant(client, news, kinds))
                        continue;
                client->is_due = false;
                wants_round |= gate_try(client, view);
        }
        return wants_round;
}

/* Tries starting units before queries. One look serves all of them, and one status until a unit is let start, because
 * there may be a thousand gates after each write. Sets *RET_WANTS_ROUND if a round is wanted; returns whether a unit
 * starts. */
static bool notify_gates(Manager *manager, ManagerNews news, bool *ret_wants_round) {
        GateView view = {};
        bool is_any_starting = false, is_any_answered = false;

        beliefs_adopt(manager);
        if (news != MANAGER_DUE)
                units_follow_host(&manager->units);
        if (news == MANAGER_REREAD)
                gates_ask_again(manager);
        for (Client *client = manager->clients.first; client; client = client->next)
                if (is_meant(client, news, GATES))
                        gate_begin(client);
        *ret_wants_round = try_gates(manager, news, STARTING, &view);
        *ret_wants_round |= try_gates(manager, news, ASKING, &view);
        keeper_end_gates(manager->keeper, &view);
        for (Client *client = manager->clients.first, *next; client; client = next) {
                next = client->next;
                if (!client->wait.answer.is_ready)
                        continue;
                is_any_answered |= client->wait.gate.is_starting;
                is_any_starting |= gate_answer(client);
        }
        if (is_any_starting)
                watch_refresh_units(&manager->watch);
        if (is_any_starting || is_any_answered)
                watch_note_start(&manager->watch);
        return is_any_starting;
}

/* Rounds and answers leave holes in the heap, and usually nothing follows for a long time. */
static void on_rest(void *userdata UNUSED) {
        malloc_trim(0);
}

void clients_notify(Manager *manager, ManagerNews news) {
        static const uint64_t rest_usec = USEC_PER_SEC;
        CLEANUP(description_done) Description description = {};
        bool wants_round;
        bool is_any_starting = notify_gates(manager, news, &wants_round);

        for (Client *client = manager->clients.first, *next; client; client = next) {
                next = client->next;
                if (!is_meant(client, news, ALL & ~(unsigned) GATES) &&
                    !(is_any_starting && client->kind == CLIENT_SUBSCRIBER))
                        continue;
                client->is_due = false;
                if (client->kind == CLIENT_RELOAD)
                        answer_reload(client);
                else if (kind_of(client) != OTHERS)
                        tell(client, &description);
                else if (client->size.stored == 0 && !keeper_is_working(manager->keeper))
                        answer_instance(client);
        }
        if (wants_round)
                manager_begin_round(manager, KEEPER_FRESH);
        if (!loop_is_set(&manager->clients.rest))
                loop_set(manager->loop, &manager->clients.rest, clock_now_usec() + rest_usec,
                         on_rest, NULL);
}

const VarlinkInterface manager_interface = {
        .name = MANAGER_INTERFACE,
        .description = MANAGER_DESCRIPTION,
        .methods =
                (const VarlinkMethod[]){
                        {"Describe", method_describe, 0,
                         (const VarlinkParameter[]){{"brief", VARLINK_BOOL, true}, {}}},
                        {"Wait", gate_wait, 0,
                         (const VarlinkParameter[]){{"instance", VARLINK_STRING},
                                                    {"timeoutUSec", VARLINK_INT, true},
                                                    {"restart", VARLINK_BOOL, true},
                                                    {"learned", VARLINK_OBJECT, true},
                                                    {}}},
                        {"Plan", method_plan, 0, varlink_no_parameters},
                        {"Reload", method_reload, VARLINK_ROOT_ONLY,
                         (const VarlinkParameter[]){{"force", VARLINK_BOOL, true}, {}}},
                        {"Release", method_release, VARLINK_ROOT_ONLY,
                         (const VarlinkParameter[]){{"instance", VARLINK_STRING}, {}}},
                        {"Learn", belief_learn, VARLINK_ROOT_ONLY,
                         (const VarlinkParameter[]){
                                 {"instance", VARLINK_STRING}, {"learned", VARLINK_OBJECT}, {}}},
                },
        .n_methods = 6,
};
