/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/clients/client.h"

#include "base/memory.h"
#include "ipc/manager_interface.h"
#include "runtime/clock.h"

/* How long due clients wait for others to join them, and how many clients are served together at most. */
static const uint64_t hearing_usec = 2 * USEC_PER_MSEC;
enum { DUE_MAX = 32 };

void client_end(Client *client) {
        *(client->previous ? &client->previous->next : &client->manager->clients.first) =
                client->next;
        if (client->next)
                client->next->previous = client->previous;
        if (client->asking.on_end)
                client->asking.on_end(client);
        json_decref(client->wait.answer.parameters);
        json_decref(client->size.reported);
        loop_unset(&client->wait.timer);
        loop_unset(&client->size.patience);
        arena_free(client->arena);
        memory_free(client);
}

static void on_due(void *userdata) {
        Manager *manager = userdata;

        manager->clients.n_due = 0;
        manager->listener(manager, MANAGER_DUE);
}

void client_make_due(Client *client) {
        Manager *manager = client->manager;

        client->is_due = true;
        manager->clients.n_due++;
        if (!loop_is_set(&manager->clients.due))
                loop_set_after_all(manager->loop, &manager->clients.due,
                                   clock_now_usec() + hearing_usec, on_due, manager);
        else if (manager->clients.n_due == DUE_MAX)
                loop_set(manager->loop, &manager->clients.due, 0, on_due, manager);
}

static void on_closed(VarlinkCall *call UNUSED, void *userdata) {
        client_end(userdata);
}

Client *client_new(Manager *manager, VarlinkCall *call, const char *instance) {
        Client *client = memory_new(sizeof(Client));

        client->arena = arena_new();
        client->instance = arena_strdup(client->arena, instance);
        client->manager = manager;
        client->call = call;
        client->next = manager->clients.first;
        if (client->next)
                client->next->previous = client;
        manager->clients.first = client;
        varlink_call_set_closed_handler(call, on_closed, client);
        return client;
}

void client_refuse_name(VarlinkCall *call, const char *instance) {
        varlink_call_error(call, MANAGER_ERROR_NO_SUCH_INSTANCE,
                           json_pack("{ss}", "instance", instance));
}

void clients_drop(Manager *manager) {
        for (Client *client = manager->clients.first; client; client = client->next)
                client->asking.is_queued = false;
        while (manager->clients.first) {
                Client *client = manager->clients.first;

                varlink_call_set_closed_handler(client->call, NULL, NULL);
                client_end(client);
        }
}

void client_end_gone(Client *client) {
        Arena *arena = TAKE_PTR(client->arena);
        VarlinkCall *call = client->call;
        const char *instance = client->instance;

        client_end(client);
        client_refuse_name(call, instance);
        arena_free(arena);
}
