/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The methods of org.hugeplan.Manager, and the clients that wait for their answers. */
#include "base/text.h"
#include "daemon/manager.h"
#include "host/boot_guard_file.h"
#include "host/clock.h"
#include "host/log.h"
#include "host/mounts.h"
#include "host/probe.h"
#include "host/unit_cgroup.h"
#include "ipc/manager_interface.h"
#include "plan/changes.h"
#include "render/status_json.h"

#include <stdlib.h>
#include <string.h>

/* A gate may start a round on a host that has settled, but not one after the other: the method is
 * everyone's to call. */
static const uint64_t gate_round_pause_usec = 10 * USEC_PER_SEC;

/* ---- clients ---- */

static void client_unlink(Client *client) {
        Client **at = &client->manager->clients;

        while (*at && *at != client)
                at = &(*at)->next;
        if (*at)
                *at = client->next;
}

/* Forgets the client; its call must have been answered or be gone. */
static void client_end(Client *client) {
        client_unlink(client);
        sd_event_source_disable_unref(client->timer);
        free(client->instance);
        free(client);
}

static void on_closed(VarlinkCall *call, void *userdata) {
        (void) call;
        client_end(userdata);
}

/* NULL, and the call is answered, when there is no memory for it. */
static Client *client_new(Manager *manager, VarlinkCall *call) {
        Client *client = calloc(1, sizeof(Client));

        if (!client) {
                varlink_call_reply(call, NULL);
                return NULL;
        }
        client->manager = manager;
        client->call = call;
        client->next = manager->clients;
        manager->clients = client;
        varlink_call_set_closed_handler(call, on_closed, client);
        return client;
}

void manager_drop_clients(Manager *manager) {
        while (manager->clients) {
                Client *client = manager->clients;

                varlink_call_set_closed_handler(client->call, NULL, NULL);
                client_end(client);
        }
}

/* ---- Describe ---- */

static json_t *describe(Manager *manager) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        manager_units_refresh(manager);
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
        Client *client = client_new(manager, call);

        if (!client)
                return;
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

static void answer_gate(Client *client, const StatusInstance *instance, const Reason *reason) {
        VarlinkCall *call = client->call;
        const Reason *why = reason->kind != REASON_NONE ? reason : &instance->reason;
        LedgerInstance *held = ledger_instance(client->manager->ledger, instance->name);
        bool lets_start = verdict_lets_start(instance->verdict) &&
                          (reason->kind == REASON_NONE || instance->shortage == SHORTAGE_DEGRADE);

        if (lets_start && client->is_starting && held)
                held->is_held = true;
        client_end(client);
        if (lets_start)
                varlink_call_reply(
                        call, json_pack("{so}", "instance", status_instance_to_json(instance)));
        else
                varlink_call_error(
                        call, MANAGER_ERROR_REFUSED,
                        json_pack("{ss ss? ss? ss?}", "instance", instance->name, "reason",
                                  why->text, "remedy", why->remedy, "reasonId",
                                  why->kind != REASON_NONE ? reason_id(why->kind) : NULL));
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

/* The unit is about to start, so nobody but others can hold its pages: what is missing is noted in
 * the ledger as theirs, so that the next round makes up for it. */
static void note_taken(Manager *manager, const PlanInstance *planned, uint64_t missing) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const Topology *now = probe_topology(manager->root, arena);
        MountUse mount = mounts_use(manager->root, planned->demand->config);
        const Topology others = status_without_mount(arena, now, &mount);

        for (size_t i = 0; i < planned->n_grants && missing > 0; i++) {
                const NodePages *grant = &planned->grants[i];
                const Pool *pool = topology_pool(now, grant->node, planned->page_size_bytes);
                const PlanPool *plan =
                        plan_pool(manager->plan, grant->node, planned->page_size_bytes);
                LedgerPool *known =
                        ledger_pool(manager->ledger, grant->node, planned->page_size_bytes);
                uint64_t promised =
                        topology_promised_pages(&others, grant->node, planned->page_size_bytes);

                if (!pool || !plan || !known)
                        continue;
                uint64_t lacking =
                        MIN(missing,
                            sub_floored(grant->pages, sub_floored(pool->free_pages, promised)));

                known->foreign_pages =
                        sub_floored(pool_persistent_pages(pool) + lacking, plan->granted_pages);
                missing -= lacking;
        }
}

static uint64_t missing_for_start(const Manager *manager, const PlanInstance *planned) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        MountUse mount = mounts_use(manager->root, planned->demand->config);

        return status_missing_for_start(probe_topology(manager->root, arena), planned, &mount);
}

static Reason taken_reason(Arena *arena, const PlanInstance *planned, uint64_t missing) {
        return (Reason){
                REASON_TAKEN,
                arena_printf(
                        arena, "others hold %s of its %s pages of %s, and no more can be reserved",
                        format_count(arena, missing), format_count(arena, planned->pages_granted),
                        format_page_size(arena, planned->page_size_bytes)),
                "see who holds huge pages in 'hugeplanctl status', and describe that program in /etc/hugeplan.d too"};
}

static bool may_begin_round(const Manager *manager) {
        return clock_now_usec() - manager->round_ended_usec >= gate_round_pause_usec;
}

/* Looks whether the gate can be answered. False while it has to wait; the client lives on then. */
static bool try_gate(Client *client) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Manager *manager = client->manager;
        const Status *status = manager_judge(manager, arena);
        const StatusInstance *instance = status_find(status, client->instance);
        const PlanInstance *planned = plan_find(manager->plan, client->instance);
        Reason reason = {};

        if (!instance || !planned) { /* a reload has removed it */
                VarlinkCall *call = client->call;
                json_t *parameters = json_pack("{ss}", "instance", client->instance);

                client_end(client);
                varlink_call_error(call, MANAGER_ERROR_NO_SUCH_INSTANCE, parameters);
                return true;
        }
        if (instance->verdict == VERDICT_PENDING)
                return false;

        uint64_t missing = client->is_starting && verdict_lets_start(instance->verdict)
                                   ? missing_for_start(manager, planned)
                                   : 0;

        if (missing > 0 || !verdict_lets_start(instance->verdict)) {
                if (missing > 0)
                        note_taken(manager, planned, missing);
                if (!client->has_tried && instance->verdict != VERDICT_INVALID &&
                    manager->config->host.on_drift == DRIFT_REPAIR)
                        return false;
                if (missing > 0)
                        reason = taken_reason(arena, planned, missing);
        }
        answer_gate(client, instance, &reason);
        return true;
}

static void method_wait(VarlinkCall *call, json_t *parameters, void *userdata) {
        Manager *manager = userdata;
        const char *name = json_string_value(json_object_get(parameters, "instance"));
        json_t *timeout = json_object_get(parameters, "timeoutUSec");
        const InstanceConfig *config = config_find(manager->config, name);

        if (!config) {
                varlink_call_error(call, MANAGER_ERROR_NO_SUCH_INSTANCE,
                                   json_pack("{ss}", "instance", name));
                return;
        }
        if (json_is_integer(timeout) && json_integer_value(timeout) < 0) {
                varlink_call_error_invalid_parameter(call, "timeoutUSec");
                return;
        }
        Client *client = client_new(manager, call);

        if (!client)
                return;
        client->kind = CLIENT_GATE;
        client->instance = strdup(name);
        client->is_starting = config->unit && unit_cgroup_has_process(manager->root, config->unit,
                                                                      varlink_call_peer_pid(call));
        if (client->is_starting) /* released by hand, but wanted after all */
                ledger_want_again(manager->ledger, name);
        uint64_t usec = json_is_integer(timeout) ? (uint64_t) json_integer_value(timeout)
                                                 : config->wait_timeout_usec;

        /* What a round cannot change, or was tried just now, is answered without one. */
        client->has_tried = !client->is_starting &&
                            (manager->is_held_back ||
                             (manager->phase != PHASE_RESERVING && !may_begin_round(manager)));
        if (try_gate(client))
                return;
        if (usec != UINT64_MAX)
                sd_event_add_time_relative(manager->event, &client->timer, CLOCK_BOOTTIME, usec, 0,
                                           on_gate_timeout, client);
        manager_begin_round(manager);
}

/* ---- Plan ---- */

static void method_plan(VarlinkCall *call, json_t *parameters, void *userdata) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Manager *manager = userdata;
        const Topology *topology = probe_topology(manager->root, arena);
        Ledger *ledger = ledger_copy(arena, manager->ledger);
        Diags problems = diags_in(arena);

        (void) parameters;
        ledger_observe(arena, ledger, topology);
        const GuardedPlanInput input = {
                .guard = boot_guard_load(manager->root, arena),
                .config = manager->config,
                .topology = topology,
                .figures = manager_figures(manager, arena, topology),
                .ledger = ledger,
        };
        GuardedPlan guarded = boot_guard_plan(arena, &input, &problems);

        HostPlan host = host_plan_read(manager->root, arena, manager->config, guarded.plan,
                                       topology, &problems);

        varlink_call_reply(call, plan_to_json(guarded.plan, guarded.after_reload, &host));
}

/* ---- Reload ---- */

static void answer_reload(Client *client) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const Status *status = manager_judge(client->manager, arena);
        const Diags *rejected = client->manager->rejected;
        VarlinkCall *call = client->call;
        json_t *json = status_to_json(status), *reply;
        const Changes changes =
                changes_between(arena, client->manager->before, client->manager->ledger);

        client_end(client);
        if (rejected) {
                varlink_call_error(call, MANAGER_ERROR_CONFIG_INVALID,
                                   json_pack("{so}", "problems", problems_to_json(rejected)));
        } else {
                reply = json_pack("{sO sO so}", "instances", json_object_get(json, "instances"),
                                  "problems", json_object_get(json, "problems"), "changes",
                                  changes_to_json(&changes));
                varlink_call_reply(call, reply);
        }
        json_decref(json);
}

static void method_reload(VarlinkCall *call, json_t *parameters, void *userdata) {
        Manager *manager = userdata;
        Client *client = client_new(manager, call);

        (void) parameters;
        if (!client)
                return;
        client->kind = CLIENT_RELOAD;
        manager_reload(manager);
}

/* ---- Release, Grow ---- */

/* The instance as it is now, when the round has ended. */
static void answer_instance(Client *client) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const Status *status = manager_judge(client->manager, arena);
        const StatusInstance *instance = status_find(status, client->instance);
        VarlinkCall *call = client->call;
        json_t *parameters = instance ? NULL : json_pack("{ss}", "instance", client->instance);

        client_end(client);
        if (instance)
                varlink_call_reply(
                        call, json_pack("{so}", "instance", status_instance_to_json(instance)));
        else
                varlink_call_error(call, MANAGER_ERROR_NO_SUCH_INSTANCE, parameters);
}

static void method_release(VarlinkCall *call, json_t *parameters, void *userdata) {
        Manager *manager = userdata;
        const char *name = json_string_value(json_object_get(parameters, "instance"));

        if (!config_find(manager->config, name)) {
                varlink_call_error(call, MANAGER_ERROR_NO_SUCH_INSTANCE,
                                   json_pack("{ss}", "instance", name));
                return;
        }
        Client *client = client_new(manager, call);

        if (!client)
                return;
        client->kind = CLIENT_RELEASE;
        client->instance = strdup(name);
        ledger_release(manager->round_arena, manager->ledger, name);
        manager_begin_round_after(manager);
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
        const InstanceConfig *config = config_find(manager->config, name);
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
                              manager->topology, &pages) < 0) {
                varlink_call_error_invalid_parameter(call, "pages");
                return;
        }
        Client *client = client_new(manager, call);

        if (!client)
                return;
        client->kind = CLIENT_GROW;
        client->instance = strdup(name);
        if (!manager_grow(manager, config, &pages))
                answer_instance(client);
}

/* ---- when something has changed ---- */

/* A round has ended: every gate that waited for it has had its try. */
static void notify_client(Client *client, json_t **reply) {
        switch (client->kind) {
        case CLIENT_GATE:
                client->has_tried = true;
                try_gate(client);
                break;
        case CLIENT_RELOAD:
                answer_reload(client);
                break;
        case CLIENT_RELEASE:
        case CLIENT_GROW:
                answer_instance(client);
                break;
        case CLIENT_SUBSCRIBER:
                notify_subscriber(client, reply);
                break;
        }
}

void manager_notify_clients(Manager *manager) {
        json_t *reply = NULL;

        for (Client *client = manager->clients, *next; client; client = next) {
                next = client->next;
                notify_client(client, &reply);
        }
        json_decref(reply);
}

void manager_notify_subscribers(Manager *manager) {
        json_t *reply = NULL;

        for (Client *client = manager->clients; client; client = client->next)
                if (client->kind == CLIENT_SUBSCRIBER)
                        notify_subscriber(client, &reply);
        json_decref(reply);
}

void manager_notify_gates(Manager *manager) {
        for (Client *client = manager->clients, *next; client; client = next) {
                next = client->next;
                if (client->kind == CLIENT_GATE)
                        try_gate(client);
        }
}

const VarlinkInterface manager_interface = {
        .name = MANAGER_INTERFACE,
        .description = manager_interface_description,
        .methods =
                (const VarlinkMethod[]){
                        {"Describe", method_describe, 0, varlink_no_parameters},
                        {"Wait", method_wait, 0, manager_wait_parameters},
                        {"Plan", method_plan, 0, varlink_no_parameters},
                        {"Reload", method_reload, VARLINK_ROOT_ONLY, varlink_no_parameters},
                        {"Release", method_release, VARLINK_ROOT_ONLY, manager_release_parameters},
                        {"Grow", method_grow, VARLINK_ROOT_ONLY, manager_grow_parameters},
                },
        .n_methods = 6,
};
