/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/clients/clients.h"

#include "daemon/clients/client.h"
#include "daemon/clients/gates.h"
#include "ipc/manager_interface.h"
#include "model/names.h"
#include "render/status_json.h"
#include "runtime/clock.h"

/* ---- Describe ---- */

static json_t *describe(Manager *manager) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        return status_to_json(manager_describe(manager, arena));
}

static void on_drained(VarlinkCall *call, void *userdata) {
        const Client *client = userdata;

        varlink_call_reply_continues(call, describe(client->manager));
}

static void method_describe(VarlinkCall *call, json_t *parameters UNUSED, void *userdata) {
        Manager *manager = userdata;
        if (!varlink_call_wants_more(call)) {
                varlink_call_reply(call, describe(manager));
                return;
        }
        Client *client = client_new(manager, call, NULL);

        client->kind = CLIENT_SUBSCRIBER;
        varlink_call_reply_continues(call, describe(manager));
}

/* ---- Plan ---- */

static void method_plan(VarlinkCall *call, json_t *parameters UNUSED, void *userdata) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const Manager *manager = userdata;
        const Look *look = keeper_look_now(manager->keeper, arena);

        varlink_call_reply(call, plan_to_json(look->plan, look->after_reload, &look->host));
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
        json = status_to_json(status);
        varlink_call_reply(call, json_pack("{sO sO so so}", "instances",
                                           json_object_get(json, "instances"), "problems",
                                           json_object_get(json, "problems"), "changes",
                                           changes_to_json(&result.changes), "pools",
                                           pool_changes_to_json(&result.pools)));
        json_decref(json);
}

static void method_reload(VarlinkCall *call, json_t *parameters, void *userdata) {
        Manager *manager = userdata;
        Client *client = client_new(manager, call, NULL);

        client->kind = CLIENT_RELOAD;
        manager_reload(manager, json_is_true(json_object_get(parameters, "force")));
}

/* ---- Release, Grow ---- */

/* The instance as it is now, when the round has ended, and what pools have given or got. */
static void answer_instance(Client *client) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const Keeper *keeper = client->manager->keeper;
        const Status *status = manager_judge(client->manager, arena);
        const StatusInstance *instance = status_find(status, client->instance);
        bool is_release = client->kind == CLIENT_RELEASE;
        VarlinkCall *call = client->call;

        if (!instance) {
                client_end_gone(client);
                return;
        }
        json_t *reply = json_pack("{so}", "instance", status_instance_to_json(instance));

        if (is_release) {
                PoolChanges changes = keeper_pool_changes(keeper, arena);

                json_object_set_new(reply, "pools", pool_changes_to_json(&changes));
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

/* [{"pageSizeBytes": 2097152, "pages": 1081}], each size once; -EINVAL for anything else. */
static int parse_page_counts(Arena *arena, const json_t *list, const InstanceConfig *config,
                             const Topology *topology, PageCounts *ret) {
        PageCounts counts = {};
        const json_t *item;
        size_t i;

        json_array_foreach(list, i, item) {
                json_int_t size = json_integer_value(json_object_get(item, "pageSizeBytes"));
                json_int_t pages = json_integer_value(json_object_get(item, "pages"));

                if (json_object_size(item) != 2 || size <= 0 || pages <= 0 ||
                    pages > INT64_MAX / size ||
                    !ARRAY_FIND(own, config->page_sizes, config->n_page_sizes,
                                (uint64_t) size ==
                                        (*own ? *own : topology->default_page_size_bytes)) ||
                    page_counts_find(&counts, (uint64_t) size) > 0)
                        return -EINVAL;
                *vec_push(arena, &counts) = (PageCount){(uint64_t) size, (uint64_t) pages};
        }
        *ret = counts;
        return counts.n > 0 ? 0 : -EINVAL;
}

static void method_grow(VarlinkCall *call, json_t *parameters, void *userdata) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Manager *manager = userdata;
        const char *name = json_string_value(json_object_get(parameters, "instance"));
        const InstanceConfig *config = config_find(keeper_config(manager->keeper), name);
        PageCounts pages;

        if (!config) {
                client_refuse_name(call, name);
                return;
        }
        if (config->refusal || config->memory_kind != MEMORY_AUTO) {
                varlink_call_error_invalid_parameter(call, "instance");
                return;
        }
        if (parse_page_counts(arena, json_object_get(parameters, "pages"), config,
                              keeper_look(manager->keeper)->topology, &pages) < 0) {
                varlink_call_error_invalid_parameter(call, "pages");
                return;
        }
        Client *client = client_new(manager, call, name);

        client->kind = CLIENT_GROW;
        if (keeper_grow(manager->keeper, config, &pages, clock_now_usec()))
                manager_work(manager);
        else
                answer_instance(client);
}

/* ---- when something has changed ---- */

/* Whether a round is wanted. REPLY is made for the first subscriber and lent to all. */
static bool notify_client(Client *client, GateView *view, json_t **reply) {
        client->is_told = false;
        if (client->kind == CLIENT_GATE)
                return gate_try(client, view);
        if (client->kind == CLIENT_RELOAD)
                answer_reload(client);
        else if (client->kind != CLIENT_SUBSCRIBER)
                answer_instance(client);
        else if (varlink_call_is_congested(client->call))
                varlink_call_set_drained_handler(client->call, on_drained, client);
        else {
                if (!*reply)
                        *reply = describe(client->manager);
                varlink_call_reply_continues(client->call, json_incref(*reply));
        }
        return false;
}

enum { STARTING = 1 << 0, ASKING = 1 << 1, TOLD = 1 << 2, SUBSCRIBERS = 1 << 3, OTHERS = 1 << 4 };

/* Whether a round is wanted. */
static bool notify_some(Manager *manager, unsigned who, GateView *view, json_t **reply) {
        bool wants_round = false;

        for (Client *client = manager->clients, *next; client; client = next) {
                next = client->next;
                unsigned kinds = client->kind == CLIENT_SUBSCRIBER ? SUBSCRIBERS
                                 : client->kind != CLIENT_GATE     ? OTHERS
                                 : client->gate.is_starting        ? STARTING
                                                                   : ASKING;

                if (client->is_told)
                        kinds |= TOLD;
                if (kinds & who)
                        wants_round |= notify_client(client, view, reply);
        }
        return wants_round;
}

/* Who starts goes before who asks. One judgement does for all gates of which none is let start: after each
 * write there may be a thousand. */
void clients_notify(Manager *manager, ManagerNews news) {
        static const unsigned whom[] = {
                [MANAGER_WRITTEN] = STARTING | ASKING,
                [MANAGER_CHANGED] = SUBSCRIBERS,
                [MANAGER_SETTLED] = STARTING | ASKING | SUBSCRIBERS | OTHERS,
                [MANAGER_ANSWERED] = TOLD,
        };
        unsigned who = whom[news];
        CLEANUP(gate_view_done) GateView view = {};
        json_t *reply = NULL;
        bool wants_round = notify_some(manager, who & STARTING, &view, &reply);

        wants_round |= notify_some(manager, who & ~(unsigned) STARTING, &view, &reply);
        json_decref(reply);
        if (wants_round)
                manager_begin_round(manager);
}

const VarlinkInterface manager_interface = {
        .name = MANAGER_INTERFACE,
        .description = manager_interface_description,
        .methods =
                (const VarlinkMethod[]){
                        {"Describe", method_describe, 0, varlink_no_parameters},
                        {"Wait", gate_wait, VARLINK_FIRST, manager_wait_parameters},
                        {"Plan", method_plan, VARLINK_LAST, varlink_no_parameters},
                        {"Reload", method_reload, VARLINK_ROOT_ONLY, manager_reload_parameters},
                        {"Release", method_release, VARLINK_ROOT_ONLY, manager_release_parameters},
                        {"Grow", method_grow, VARLINK_ROOT_ONLY, manager_grow_parameters},
                },
        .n_methods = 6,
};
