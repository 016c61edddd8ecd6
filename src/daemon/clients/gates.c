/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Gates: the method Wait. systemd is queried whether the unit is starting; the keeper decides on the answer. */
#include "daemon/clients/client.h"

#include "base/text.h"
#include "host/unit_cgroup.h"
#include "ipc/manager_interface.h"
#include "model/reason.h"
#include "render/status_json.h"
#include "runtime/clock.h"
#include "runtime/log.h"
#include "systemd/unit_manager.h"

#include <string.h>

/* A gate may begin a round on a settled host, but not one after the other, because every user may call the method. */
static const uint64_t gate_round_pause_usec = 10 * USEC_PER_SEC;
/* systemd never waits for hugepland, so that a query cannot deadlock; but it does not answer while it reads units. */
static const uint64_t ask_limit_usec = 5 * USEC_PER_SEC;
static const uint64_t last_usec = USEC_PER_SEC; /* after the time-out, for a part of the pages */

/* ---- answers ---- */

/* Whether a query, a daemon-reload or a reload for the database's preference is pending. */
static bool is_asking(const Client *client) {
        return client->asking.query || client->asking.is_queued || client->size.stored > 0 ||
               (client->wait.gate.is_starting && client->manager->units.reread);
}

void gate_begin(Client *client) {
        if (!is_asking(client))
                keeper_begin_gate(client->manager->keeper, &client->wait.gate);
}

static bool starts(const Client *client) {
        return client->wait.gate.is_starting || client->wait.gate.is_restarting;
}

bool gate_try(Client *client, GateView *view) {
        Manager *manager = client->manager;
        StatusInstance instance;
        Reason reason;

        if (is_asking(client))
                return false;
        client->wait.gate.is_due = manager_is_retrying(manager);
        switch (keeper_try_gate(manager->keeper, view, &client->wait.gate, client->wait.may_try,
                                &instance, &reason)) {
        case GATE_PASS:
                if (starts(client))
                        watch_forget_unit(&manager->watch, client->wait.gate.unit);
                client->wait.answer = (ClientAnswer){
                        true, NULL,
                        json_pack("{so}", "instance", status_instance_to_json(&instance))};
                return false;
        case GATE_REFUSE:
                client->wait.answer = (ClientAnswer){
                        true, MANAGER_ERROR_REFUSED,
                        json_pack("{ss ss? ss? ss?}", "instance", instance.name, "reason",
                                  reason.text, "remedy", reason.remedy, "reasonId",
                                  reason.kind != REASON_NONE ? reason_id(reason.kind) : NULL)};
                return false;
        case GATE_PENDING:
                if (reason.kind == REASON_POOL_SHRANK)
                        watch_expect_repair(&manager->watch);
                return false;
        case GATE_GONE: /* a reload has removed the instance */
                client_end_gone(client);
                return false;
        default:
                return !keeper_is_working(manager->keeper) && !loop_is_set(&manager->rounds.retry);
        }
}

bool gate_answer(Client *client) {
        bool is_start = !client->wait.answer.error && starts(client);
        json_t *answer = TAKE_PTR(client->wait.answer.parameters);
        const char *error = client->wait.answer.error;
        VarlinkCall *call = client->call;

        client_end(client);
        if (error)
                varlink_call_error(call, error, answer);
        else
                varlink_call_reply(call, answer);
        return is_start;
}

/* An instance that may start with a part is tried once more, for at most a second. */
static void on_gate_timeout(void *userdata) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Client *client = userdata;
        const InstanceConfig *config =
                config_find(keeper_config(client->manager->keeper), client->instance);

        if (!client->wait.gate.is_last && config && config->shortage == SHORTAGE_DEGRADE) {
                client->wait.gate.is_last = true;
                loop_set(client->manager->loop, &client->wait.timer, clock_now_usec() + last_usec,
                         on_gate_timeout, client);
                client_make_due(client);
                return;
        }
        const Status *status = manager_judge(client->manager, arena);
        const StatusInstance *instance = status_find(status, client->instance);
        const Reason reason = instance && instance->reason.text
                                      ? instance->reason
                                      : (Reason){.text = "it was not decided in time"};
        VarlinkCall *call = client->call;

        keeper_time_out_gate(client->manager->keeper, &client->wait.gate, &reason);
        json_t *parameters = json_pack("{ss ss ss?}", "instance", client->instance, "reason",
                                       reason.text, "remedy", reason.remedy);

        client_end(client);
        varlink_call_error(call, MANAGER_ERROR_TIMED_OUT, parameters);
}

/* ---- who starts ---- */

/* Treats the call as a gate only if systemd says that the unit is starting, with this very process. Otherwise it is a
 * query, which neither books pages nor ends a hold. */

static void believe(Client *client) {
        Gate *gate = &client->wait.gate;

        gate->is_starting = true;
        client->wait.may_try =
                client->wait.may_try ||
                !keeper_was_refused(client->manager->keeper, gate->instance, gate->run);
}

static void take_run(Client *client, const LoadedUnit *unit) {
        const char *hierarchy = unit_cgroup_hierarchy(client->manager->root);
        Gate *gate = &client->wait.gate;

        gate->run = arena_strdup(client->arena, unit->run);
        gate->policy = unit->policy;
        if (hierarchy && *unit->control_group)
                gate->group = arena_printf(client->arena, "%s%s", hierarchy, unit->control_group);
        if (loaded_unit_starts_by(unit, (uint64_t) varlink_call_peer_pid(client->call)))
                believe(client);
        else
                gate->is_restarting =
                        client->wait.is_restart &&
                        TEXT_IS_ANY(unit->active_state, "active", "reloading", "activating");
        if (starts(client))
                belief_take(client, unit);
        else
                belief_ignore(client, "its unit does not start");
}

static void begin_query(Client *client);

static bool is_queued_for(const Client *client, const char *unit) {
        return client->asking.is_queued && text_equals(client->wait.gate.unit, unit);
}

/* Sends one query for all clients that wait for the same unit. If systemd did not answer, it is not queried again for
 * them. */
static void go_on_asking(Manager *manager, const char *unit, int error) {
        Client *first = NULL;

        for (Client *client = manager->clients.first; client; client = client->next) {
                if (!is_queued_for(client, unit))
                        continue;
                if (error < 0 || !first)
                        client->asking.is_queued = client->asking.is_riding = false;
                else
                        client->asking.is_riding = true;
                if (error < 0)
                        client_make_due(client);
                first = first ? first : client;
        }
        if (first && error == 0)
                begin_query(first);
}

/* The client has ended: the query is sent for the next one. */
static void on_end(Client *client) {
        if (client->wait.gate.has_begun && !client->wait.answer.is_ready) {
                keeper_abandon_gate(client->manager->keeper, &client->wait.gate);
                watch_note_start(&client->manager->watch);
        }
        if (!client->asking.query)
                return;
        client->asking.query = unit_query_free(client->asking.query);
        go_on_asking(client->manager, client->wait.gate.unit, 0);
}

static void on_run(void *userdata, int error, const LoadedUnits *units) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Client *client = userdata;
        Manager *manager = client->manager;
        const char *unit = arena_strdup(arena, client->wait.gate.unit);

        if (error < 0)
                log_line(LOG_INFO,
                         "%s: systemd cannot be asked whether %s starts, so the gate only "
                         "checks whether its pages are reserved: %s",
                         client->instance, unit, strerror(-error));
        else
                take_run(client, &units->items[0]);
        /* The answer is valid for all clients that had called before the query. */
        for (Client *other = manager->clients.first; error == 0 && other; other = other->next)
                if (other->asking.is_riding && is_queued_for(other, units->items[0].name)) {
                        other->asking.is_queued = other->asking.is_riding = false;
                        client_make_due(other);
                        take_run(other, &units->items[0]);
                }
        client->asking.query = unit_query_free(client->asking.query);
        client_make_due(client);
        go_on_asking(manager, unit, error);
}

static void begin_query(Client *client) {
        Manager *manager = client->manager;
        SourceNames names = {};

        *vec_push(client->arena, &names) = client->wait.gate.unit;
        int r = unit_query_new(manager->root, client->arena, &names, UNIT_QUERY_RUN,
                               &client->asking.query);

        if (r >= 0)
                r = unit_query_attach(client->asking.query, manager->loop, ask_limit_usec, on_run,
                                      client);
        if (r < 0)
                on_run(client, r, NULL);
}

/* One query for each unit at a time, because its processes may call the method as often as they like. */
static void ask_who_starts(Client *client) {
        Manager *manager = client->manager;
        const Client *other = manager->clients.first;
        const char *unit = client->wait.gate.unit;

        while (other && !(other->asking.query && text_equals(other->wait.gate.unit, unit)))
                other = other->next;
        varlink_call_keep_place(client->call); /* a client that may be starting keeps its place */
        if (!unit_manager_exists(manager->root)) {
                Gate *gate = &client->wait.gate;

                /* Without systemd, each start has a control group of its own. */
                gate->group = unit_cgroup_find(manager->root, client->arena, unit);
                if (gate->group) {
                        gate->run = root_identity(manager->root, client->arena, gate->group);
                        believe(client);
                        belief_take(client, NULL);
                }
                client_make_due(client);
        } else if (other) {
                client->asking.is_queued = true;
        } else {
                begin_query(client);
        }
}

void gates_ask_again(Manager *manager) {
        for (Client *client = manager->clients.first; client; client = client->next)
                if (client->kind == CLIENT_GATE && client->wait.gate.is_starting &&
                    !client->wait.answer.is_ready && !client->asking.query &&
                    !client->asking.is_queued) {
                        client->wait.gate.has_begun = false;
                        ask_who_starts(client);
                }
}

void gate_wait(VarlinkCall *call, json_t *parameters, void *userdata) {
        Manager *manager = userdata;
        const char *name = json_string_value(json_object_get(parameters, "instance"));
        json_t *timeout = json_object_get(parameters, "timeoutUSec");
        const InstanceConfig *config = config_find(keeper_config(manager->keeper), name);

        if (!config) {
                client_refuse_name(call, name);
                return;
        }
        if (json_is_integer(timeout) && json_integer_value(timeout) < 0) {
                varlink_call_error_invalid_parameter(call, "timeoutUSec");
                return;
        }
        boot_note_caller(&manager->lasting.boot_guard, varlink_call_peer_pid(call));
        Client *client = client_new(manager, call, name);

        uint64_t usec = json_is_integer(timeout) ? (uint64_t) json_integer_value(timeout)
                                                 : config->wait_timeout_usec;

        client->kind = CLIENT_GATE;
        client->asking.on_end = on_end;
        client->wait.gate = (Gate){.instance = client->instance,
                                   .unit = arena_strdup(client->arena, config->unit),
                                   .run = ""};
        client->wait.is_restart = json_is_true(json_object_get(parameters, "restart"));
        client->size.reported = json_incref(json_object_get(parameters, "learned"));
        /* No round is run if it cannot help, or was run just now. */
        client->wait.may_try =
                !keeper_is_held_back(manager->keeper) &&
                (keeper_is_working(manager->keeper) ||
                 clock_now_usec() - manager->rounds.ended_usec >= gate_round_pause_usec);
        if (usec != UINT64_MAX)
                loop_set(manager->loop, &client->wait.timer, add_saturated(clock_now_usec(), usec),
                         on_gate_timeout, client);
        if (config->unit &&
            unit_cgroup_has_process(manager->root, config->unit, varlink_call_peer_pid(call))) {
                ask_who_starts(client);
                return;
        }
        belief_ignore(client, "it does not belong to its unit");
        client_make_due(client);
}
