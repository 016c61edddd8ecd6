/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/clients.h"

#include "base/memory.h"
#include "base/text.h"
#include "host/clock.h"
#include "host/log.h"
#include "host/unit_cgroup.h"
#include "ipc/manager_interface.h"
#include "model/names.h"
#include "render/status_json.h"

#include <stdlib.h>
#include <string.h>

/* A gate may start a round on a host that has settled, but not one after the other: the method is
 * everyone's to call. */
static const uint64_t gate_round_pause_usec = 10 * USEC_PER_SEC;
/* systemd never waits for us, so that asking it cannot end in a deadlock; while it reads its units it
 * does not answer. */
static const uint64_t ask_limit_usec = 5 * USEC_PER_SEC;

/* A client that waits for an answer: a gate, a reload, or one that wants every change. */
struct Client {
        Client *next;
        Manager *manager;
        Arena *arena;
        VarlinkCall *call;
        enum { CLIENT_GATE, CLIENT_RELOAD, CLIENT_RELEASE, CLIENT_GROW, CLIENT_SUBSCRIBER } kind;
        const char *instance; /* of a gate, a release or a growth */
        Gate gate;
        bool may_try;     /* a round may be run for this gate */
        const char *unit; /* of which systemd is asked; NULL: who calls is not in it */
        UnitQuery *query; /* under way */
        bool is_queued;   /* it follows when the one for the same unit is answered */
        sd_event_source *timer;
};

/* ---- clients ---- */

static void client_unlink(Client *client) {
        Client **at = &client->manager->clients;

        while (*at && *at != client)
                at = &(*at)->next;
        if (*at)
                *at = client->next;
}

static void go_on_asking(Manager *manager, const char *unit, int error);

/* Forgets the client; its call must have been answered or be gone. */
static void client_end(Client *client) {
        client_unlink(client);
        if (client->query) {
                client->query = unit_query_free(client->query);
                go_on_asking(client->manager, client->unit, 0);
        }
        sd_event_source_disable_unref(client->timer);
        arena_free(client->arena);
        memory_free(client);
}

static void on_closed(VarlinkCall *call, void *userdata) {
        (void) call;
        client_end(userdata);
}

static Client *client_new(Manager *manager, VarlinkCall *call, const char *instance) {
        Client *client = memory_new(sizeof(Client));

        client->arena = arena_new();
        client->instance = arena_strdup(client->arena, instance);
        client->manager = manager;
        client->call = call;
        client->next = manager->clients;
        manager->clients = client;
        varlink_call_set_closed_handler(call, on_closed, client);
        return client;
}

/* It is called again, by who has more memory perhaps. */
static void hang_up(Client *client) {
        VarlinkCall *call = client->call;

        client_end(client);
        varlink_call_reply(call, NULL);
}

void clients_drop(Manager *manager) {
        for (Client *client = manager->clients; client; client = client->next)
                client->is_queued = false;
        while (manager->clients) {
                Client *client = manager->clients;

                varlink_call_set_closed_handler(client->call, NULL, NULL);
                client_end(client);
        }
}

/* ---- Describe ---- */

static json_t *describe(Manager *manager) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        units_refresh(manager);
        return status_to_json(manager_judge(manager, arena));
}

static void on_drained(VarlinkCall *call, void *userdata) {
        const Client *client = userdata;

        varlink_call_reply_continues(call, describe(client->manager));
}

static void method_describe(VarlinkCall *call, json_t *parameters, void *userdata) {
        Manager *manager = userdata;

        (void) parameters;
        if (!varlink_call_wants_more(call)) {
                varlink_call_reply(call, describe(manager));
                return;
        }
        Client *client = client_new(manager, call, NULL);

        client->kind = CLIENT_SUBSCRIBER;
        varlink_call_reply_continues(call, describe(manager));
}

/* REPLY is made for the first and lent to all. */
static void notify_subscriber(Client *client, json_t **reply) {
        if (varlink_call_is_congested(client->call)) {
                varlink_call_set_drained_handler(client->call, on_drained, client);
                return;
        }
        if (!*reply)
                *reply = describe(client->manager);
        varlink_call_reply_continues(client->call, json_incref(*reply));
}

/* ---- Wait ---- */

static void answer_gone(Client *client) {
        VarlinkCall *call = client->call;
        json_t *parameters = json_pack("{ss}", "instance", client->instance);

        client_end(client);
        varlink_call_error(call, MANAGER_ERROR_NO_SUCH_INSTANCE, parameters);
}

static void answer_pass(Client *client, const StatusInstance *instance) {
        VarlinkCall *call = client->call;
        Manager *manager = client->manager;
        bool is_starting = client->gate.is_starting;

        if (is_starting)
                watch_unit_anew(manager, instance->unit);
        client_end(client);
        varlink_call_reply(call, json_pack("{so}", "instance", status_instance_to_json(instance)));
        if (is_starting)
                clients_notify_subscribers(manager);
}

static void answer_refused(Client *client, const StatusInstance *instance, const Reason *reason) {
        VarlinkCall *call = client->call;

        client_end(client);
        varlink_call_error(call, MANAGER_ERROR_REFUSED,
                           json_pack("{ss ss? ss? ss?}", "instance", instance->name, "reason",
                                     reason->text, "remedy", reason->remedy, "reasonId",
                                     reason->kind != REASON_NONE ? reason_id(reason->kind) : NULL));
}

/* Looks whether the gate can be answered. While it has to wait the client lives on; true: a round is
 * wanted for it. */
static bool try_gate(Client *client) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        StatusInstance instance;
        Reason reason;

        if (client->query || client->is_queued) /* systemd is being asked */
                return false;
        switch (keeper_try_gate(client->manager->keeper, arena, &client->gate, client->may_try,
                                &instance, &reason)) {
        case GATE_PASS:
                answer_pass(client, &instance);
                return false;
        case GATE_REFUSE:
                answer_refused(client, &instance, &reason);
                return false;
        case GATE_GONE: /* a reload has removed it */
                answer_gone(client);
                return false;
        default:
                return !keeper_is_working(client->manager->keeper) && !client->manager->retry_timer;
        }
}

static void begin_gate(Client *client) {
        Manager *manager = client->manager;

        if (try_gate(client))
                manager_begin_round(manager);
}

static int on_gate_timeout(sd_event_source *source, uint64_t usec, void *userdata) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Client *client = userdata;
        const Status *status = manager_judge(client->manager, arena);
        const StatusInstance *instance = status_find(status, client->instance);
        VarlinkCall *call = client->call;
        json_t *parameters = json_pack("{ss ss?}", "instance", client->instance, "reason",
                                       instance ? instance->reason.text : NULL);

        (void) source;
        (void) usec;
        client_end(client);
        varlink_call_error(call, MANAGER_ERROR_TIMED_OUT, parameters);
        return 0;
}

/* ---- who starts ---- */

/* Who starts is what systemd says: its unit is, and by this very process. What cannot be known books no
 * pages and ends nothing: then somebody asks. */

static void believe(Client *client) {
        Gate *gate = &client->gate;

        gate->is_starting = true;
        client->may_try = client->may_try ||
                          !keeper_was_refused(client->manager->keeper, gate->instance, gate->run);
}

/* Where there is no systemd at all, a group is made for each start. */
static void take_group_for_start(Client *client, const char *unit) {
        const Manager *manager = client->manager;
        Gate *gate = &client->gate;

        gate->group = unit_cgroup_find(manager->root, client->arena, unit);
        if (!gate->group)
                return;
        gate->run = root_identity(manager->root, client->arena, gate->group);
        believe(client);
}

static void take_run(Client *client, const LoadedUnit *unit) {
        const char *hierarchy = unit_cgroup_hierarchy(client->manager->root);
        Gate *gate = &client->gate;

        gate->run = arena_strdup(client->arena, unit->run);
        gate->policy = unit->policy;
        if (hierarchy && *unit->control_group)
                gate->group = arena_printf(client->arena, "%s%s", hierarchy, unit->control_group);
        if (loaded_unit_starts_by(unit, (uint64_t) varlink_call_peer_pid(client->call)))
                believe(client);
}

static void begin_query(Client *client);

/* The next whose unit is the same. Where systemd did not answer, it is not asked again for each. */
static void go_on_asking(Manager *manager, const char *unit, int error) {
        for (Client *client = manager->clients, *next; client; client = next) {
                next = client->next;
                if (!client->is_queued || !text_equals(client->unit, unit))
                        continue;
                client->is_queued = false;
                if (error == 0) {
                        begin_query(client);
                        return;
                }
        }
        if (error < 0)
                clients_notify_gates(manager);
}

static void on_run(void *userdata, int error, const LoadedUnits *units) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Client *client = userdata;
        Manager *manager = client->manager;
        const char *unit = arena_strdup(arena, client->unit);

        if (error < 0)
                log_line(LOG_INFO,
                         "%s: systemd cannot be asked whether %s starts, so that it is only told "
                         "whether its pages stand: %s",
                         client->instance, unit, strerror(-error));
        else
                take_run(client, &units->items[0]);
        client->query = unit_query_free(client->query);
        begin_gate(client);
        go_on_asking(manager, unit, error);
}

static void begin_query(Client *client) {
        Manager *manager = client->manager;
        SourceNames names = {};

        *vec_push(client->arena, &names) = client->unit;
        int r = unit_query_new(manager->root, client->arena, &names, UNIT_QUERY_RUN,
                               &client->query);

        if (r >= 0)
                r = unit_query_attach(client->query, manager->event, ask_limit_usec, on_run,
                                      client);
        if (r < 0)
                on_run(client, r, NULL);
}

static bool is_asking(const Manager *manager, const char *unit) {
        for (const Client *client = manager->clients; client; client = client->next)
                if (client->query && text_equals(client->unit, unit))
                        return true;
        return false;
}

/* Of each unit once at a time: its processes may call the method as often as they like, and systemd has
 * other things to do. */
static void ask_who_starts(Client *client, const char *unit) {
        Manager *manager = client->manager;

        client->unit = arena_strdup(client->arena, unit);
        varlink_call_keep_place(
                client->call); /* who starts, or may, does not make room for others */
        if (!unit_manager_exists(manager->root)) {
                take_group_for_start(client, unit);
                begin_gate(client);
        } else if (is_asking(manager, unit)) {
                client->is_queued = true;
        } else {
                begin_query(client);
        }
}

static bool may_begin_round(const Manager *manager) {
        return !keeper_is_held_back(manager->keeper) &&
               (keeper_is_working(manager->keeper) ||
                clock_now_usec() - manager->round_ended_usec >= gate_round_pause_usec);
}

static void method_wait(VarlinkCall *call, json_t *parameters, void *userdata) {
        Manager *manager = userdata;
        const char *name = json_string_value(json_object_get(parameters, "instance"));
        json_t *timeout = json_object_get(parameters, "timeoutUSec");
        const InstanceConfig *config = config_find(keeper_config(manager->keeper), name);

        if (!config) {
                varlink_call_error(call, MANAGER_ERROR_NO_SUCH_INSTANCE,
                                   json_pack("{ss}", "instance", name));
                return;
        }
        if (json_is_integer(timeout) && json_integer_value(timeout) < 0) {
                varlink_call_error_invalid_parameter(call, "timeoutUSec");
                return;
        }
        Client *client = client_new(manager, call, name);

        uint64_t usec = json_is_integer(timeout) ? (uint64_t) json_integer_value(timeout)
                                                 : config->wait_timeout_usec;

        client->kind = CLIENT_GATE;
        client->gate = (Gate){.instance = client->instance, .run = ""};
        /* What a round cannot change, or was tried just now, is answered without one. */
        client->may_try = may_begin_round(manager);
        if (usec != UINT64_MAX &&
            sd_event_add_time_relative(manager->event, &client->timer, CLOCK_BOOTTIME, usec, 0,
                                       on_gate_timeout, client) < 0) {
                hang_up(client);
                return;
        }
        if (config->unit &&
            unit_cgroup_has_process(manager->root, config->unit, varlink_call_peer_pid(call)))
                ask_who_starts(client, config->unit);
        else
                begin_gate(client);
}

/* ---- Plan ---- */

static void method_plan(VarlinkCall *call, json_t *parameters, void *userdata) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const Manager *manager = userdata;
        const Look *look = keeper_look_now(manager->keeper, arena);

        (void) parameters;
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
                answer_gone(client);
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
                varlink_call_error(call, MANAGER_ERROR_NO_SUCH_INSTANCE,
                                   json_pack("{ss}", "instance", name));
                return;
        }
        Client *client = client_new(manager, call, name);

        client->kind = CLIENT_RELEASE;
        keeper_release(manager->keeper, client->instance, clock_now_usec());
        manager_work(manager);
}

static bool takes_page_size(const InstanceConfig *config, const Topology *topology,
                            uint64_t page_size_bytes) {
        for (size_t i = 0; i < config->n_page_sizes; i++)
                if (page_size_bytes == (config->page_sizes[i] ? config->page_sizes[i]
                                                              : topology->default_page_size_bytes))
                        return true;
        return false;
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
                    !takes_page_size(config, topology, (uint64_t) size) ||
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
                varlink_call_error(call, MANAGER_ERROR_NO_SUCH_INSTANCE,
                                   json_pack("{ss}", "instance", name));
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

/* Whether a round is wanted. */
static bool notify_client(Client *client, json_t **reply) {
        switch (client->kind) {
        case CLIENT_GATE:
                return try_gate(client);
        case CLIENT_RELOAD:
                answer_reload(client);
                return false;
        case CLIENT_RELEASE:
        case CLIENT_GROW:
                answer_instance(client);
                return false;
        default:
                notify_subscriber(client, reply);
                return false;
        }
}

typedef enum Notified { NOTIFY_ALL, NOTIFY_GATES, NOTIFY_SUBSCRIBERS } Notified;

static bool is_notified(const Client *client, Notified who) {
        return who == NOTIFY_ALL || (who == NOTIFY_GATES && client->kind == CLIENT_GATE) ||
               (who == NOTIFY_SUBSCRIBERS && client->kind == CLIENT_SUBSCRIBER);
}

static void notify(Manager *manager, Notified who) {
        bool wants_round = false;
        json_t *reply = NULL;

        for (Client *client = manager->clients, *next; client; client = next) {
                next = client->next;
                if (is_notified(client, who))
                        wants_round |= notify_client(client, &reply);
        }
        json_decref(reply);
        if (wants_round)
                manager_begin_round(manager);
}

void clients_notify(Manager *manager) {
        notify(manager, NOTIFY_ALL);
}

void clients_notify_subscribers(Manager *manager) {
        notify(manager, NOTIFY_SUBSCRIBERS);
}

void clients_notify_gates(Manager *manager) {
        notify(manager, NOTIFY_GATES);
}

const VarlinkInterface manager_interface = {
        .name = MANAGER_INTERFACE,
        .description = manager_interface_description,
        .methods =
                (const VarlinkMethod[]){
                        {"Describe", method_describe, 0, varlink_no_parameters},
                        {"Wait", method_wait, VARLINK_FIRST, manager_wait_parameters},
                        {"Plan", method_plan, VARLINK_LAST, varlink_no_parameters},
                        {"Reload", method_reload, VARLINK_ROOT_ONLY, manager_reload_parameters},
                        {"Release", method_release, VARLINK_ROOT_ONLY, manager_release_parameters},
                        {"Grow", method_grow, VARLINK_ROOT_ONLY, manager_grow_parameters},
                },
        .n_methods = 6,
};
