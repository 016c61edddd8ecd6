/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/clients/client.h"

#include "base/text.h"
#include "demand/learned.h"
#include "runtime/clock.h"
#include "runtime/log.h"

#include <string.h>

static const uint64_t restart_pause_usec = 10 * USEC_PER_SEC;
static const uint64_t patience_usec = 5 * USEC_PER_SEC; /* for the disk, which may hang */
static const uint64_t log_pause_usec = 60 * USEC_PER_SEC;

/* What was accepted for one instance. */
struct Belief {
        const char *instance;
        uint64_t run; /* fingerprint of the start for which a size was accepted; 0: none */
        uint64_t restarted_usec; /* the last size accepted for a restart within the unit; 0: never */
        uint64_t ignored_usec;   /* when a rejection was last logged */
};

static Belief *find_or_add(Manager *manager, const char *instance) {
        Belief *belief =
                VEC_FIND(each, &manager->clients.beliefs, text_equals(each->instance, instance));

        if (belief)
                return belief;
        if (!manager->clients.beliefs_arena)
                manager->clients.beliefs_arena = arena_new();
        belief = vec_push(manager->clients.beliefs_arena, &manager->clients.beliefs);
        belief->instance = arena_strdup(manager->clients.beliefs_arena, instance);
        return belief;
}

static bool is_within(uint64_t since_usec, uint64_t usec) {
        return since_usec > 0 && clock_now_usec() - since_usec < usec;
}

void belief_ignore(const Client *client, const char *why) {
        Belief *belief = find_or_add(client->manager, client->instance);

        if (!client->size.reported || is_within(belief->ignored_usec, log_pause_usec))
                return;
        belief->ignored_usec = clock_now_usec();
        log_line(LOG_NOTICE, "%s: the size reported by process %i of user %u is ignored: %s",
                 client->instance, (int) varlink_call_peer_pid(client->call),
                 varlink_call_peer_uid(client->call), why);
}

/* ---- what is believed ---- */

static void on_stored(void *userdata, uint64_t number, int error) {
        Manager *manager = userdata;

        for (Client *client = manager->clients.first; client; client = client->next)
                if (client->size.stored == number) {
                        client->size.stored = 0;
                        client->size.unkept =
                                error < 0 ? arena_strdup(client->arena, strerror(-error)) : NULL;
                        client_make_due(client);
                }
}

static void on_patience(void *userdata) {
        Client *client = userdata;

        client->size.stored = 0;
        client_make_due(client);
}

/* Uses LEARNED for the client's instance and stores it, or sets Client.unkept to the reason why not. A client waits for
 * the disk only if it is `hugeplanctl learn`, or if a reload for the database's preference is to follow. */
static void adopt(Client *client, const Config *files, const Learned *learned) {
        Manager *manager = client->manager;
        const char *name = client->instance;
        Arena *arena = client->arena;
        const InstanceConfig *described = config_find(files, name);
        const InstanceConfig *known = config_find(keeper_config(manager->keeper), name);
        Learned kept = *learned;
        Reason beyond = {};

        if (described)
                beyond = learned_beyond(arena, files, described,
                                        keeper_look(manager->keeper)->topology, &learned->pages);
        if (known && !known->refusal && known->memory_kind == MEMORY_AUTO && learned->pages.n > 0) {
                const PageCounts pages =
                        learned_pages(arena, described ? described : known, learned);

                keeper_grow(manager->keeper, described ? described : known, &pages,
                            clock_now_usec());
        }
        if (beyond.kind != REASON_NONE)
                client->size.unkept = arena_printf(arena, "%s; %s", beyond.text, beyond.remedy);
        else if (!described || !instance_is_learning(described))
                client->size.unkept = "the size is not determined for this instance";
        if (client->size.unkept)
                return;
        kept.seen = described->learned.seen;
        if (learned_is_kept(described, &kept))
                return;
        /* An instance that is not in effect yet needs a reload anyway. */
        bool is_preference = known && known->thp == THP_AUTO && kept.thp != known->learned.thp;
        uint64_t number = store_learned(&manager->lasting.store, described, &kept, is_preference,
                                        on_stored, manager);

        if (client->kind != CLIENT_LEARN && !is_preference)
                return;
        client->size.stored = number;
        if (client->kind == CLIENT_GATE)
                loop_set(manager->loop, &client->size.patience, clock_now_usec() + patience_usec,
                         on_patience, client);
}

/* Returns why the report is not accepted; NULL: it is, and that is recorded. */
static const char *why_not(const Client *client, Belief *belief, const LoadedUnit *unit) {
        const Gate *gate = &client->wait.gate;
        uint32_t pid = (uint32_t) varlink_call_peer_pid(client->call);
        uid_t uid = varlink_call_peer_uid(client->call);

        if (gate->is_starting) {
                if (unit && pid != unit->control_pid && pid != unit->main_pid)
                        return "it belongs to the starting unit, but is not its control or main process";
                uint64_t run = text_fold(TEXT_FOLD_START, gate->run);

                if (belief->run == run)
                        return "the size of this start was already reported";
                belief->run = run;
                return NULL;
        }
        if (uid != 0 && uid != unit->uid)
                return "its user is not the unit's";
        if (is_within(belief->restarted_usec, restart_pause_usec))
                return "a size was reported less than ten seconds ago";
        belief->restarted_usec = clock_now_usec();
        return NULL;
}

void belief_take(Client *client, const LoadedUnit *unit) {
        Manager *manager = client->manager;
        const InstanceConfig *known = config_find(keeper_config(manager->keeper), client->instance);
        Belief *belief = find_or_add(manager, client->instance);
        Learned learned;

        client->size.is_in_file = known && !known->refusal && known->memory_kind == MEMORY_AUTO &&
                                  !client->size.reported;
        if (!client->size.reported || !known)
                return;
        if (!instance_is_learning(known) ||
            learned_from_json(client->arena, client->size.reported, known,
                              keeper_look(manager->keeper)->topology, &learned) < 0) {
                belief_ignore(
                        client,
                        "the size is not valid, or is of other page sizes than the instance's");
                return;
        }
        const char *why = why_not(client, belief, unit);

        if (why) {
                belief_ignore(client, why);
                return;
        }
        client->wait.may_try = true;
        client->size.accepted = arena_memdup(client->arena, &learned, sizeof(learned));
}

/* A gate that reports no size uses the one in the file, which `hugeplanctl learn` may have stored. */
static void adopt_stored(Client *client, const Config *files) {
        Keeper *keeper = client->manager->keeper;
        const InstanceConfig *known = config_find(keeper_config(keeper), client->instance);
        const InstanceConfig *described = config_find(files, client->instance);

        if (!known || !described || described->refusal || described->memory_kind != MEMORY_AUTO ||
            learned_is_kept(described, &known->learned))
                return;
        const PageCounts pages = learned_pages(client->arena, described, &described->learned);

        if (pages.n > 0 && !keeper_is_unstored(keeper, described->name, &pages))
                keeper_grow(keeper, described, &pages, clock_now_usec());
}

void beliefs_adopt(Manager *manager) {
        const Config *files = NULL;

        for (Client *client = manager->clients.first; client; client = client->next) {
                const Learned *accepted = TAKE_PTR(client->size.accepted);

                if (!accepted && !client->size.is_in_file)
                        continue;
                files = files ? files : manager_files(manager);
                client->size.is_in_file = false;
                if (accepted)
                        adopt(client, files, accepted);
                else
                        adopt_stored(client, files);
                if (client->size.unkept)
                        log_line(LOG_WARNING, "%s: not stored: %s", client->instance,
                                 client->size.unkept);
        }
        if (files && keeper_is_working(manager->keeper))
                manager_work(manager);
}

/* ---- Learn ---- */

void belief_learn(VarlinkCall *call, json_t *parameters, void *userdata) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Manager *manager = userdata;
        const char *name = json_string_value(json_object_get(parameters, "instance"));
        const Config *files = manager_files(manager);
        const InstanceConfig *described = config_find(files, name);
        Learned learned;

        /* An instance of files that are not loaded yet. */
        if (!described)
                described = config_find(keeper_config(manager->keeper), name);
        if (!described) {
                client_refuse_name(call, name);
                return;
        }
        if (!instance_is_learning(described)) {
                varlink_call_error_invalid_parameter(call, "instance");
                return;
        }
        if (learned_from_json(arena, json_object_get(parameters, "learned"), described,
                              keeper_look(manager->keeper)->topology, &learned) < 0) {
                varlink_call_error_invalid_parameter(call, "learned");
                return;
        }
        Client *client = client_new(manager, call, name);

        client->kind = CLIENT_LEARN;
        adopt(client, files, &learned);
        client_make_due(client);
        if (keeper_is_working(manager->keeper))
                manager_work(manager);
}
