/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/clients/relearn.h"

#include "base/memory.h"
#include "base/text.h"
#include "daemon/clients/client.h"
#include "demand/learned.h"
#include "model/names.h"
#include "runtime/clock.h"
#include "runtime/log.h"
#include "systemd/unit_manager.h"
#include "systemd/unit_start.h"

#include <string.h>

static const uint64_t pause_usec = 10 * USEC_PER_SEC;
/* What was found out and nobody has had, for all who waited had given up or the unit has just started, is good for
 * the next one who comes: else a supervisor with little patience would have it found out for ever. */
static const uint64_t unheard_usec = 300 * USEC_PER_SEC;
/* More than hugeplan-ask@.service takes. */
static const uint64_t limit_usec = 150 * USEC_PER_SEC;

/* Of one instance; kept for the pause. */
struct Relearn {
        Relearn *next;
        Manager *manager;
        Arena *arena;
        const char *instance;
        const char *
                mark; /* by which hugeplan-ask@.service knows that the database has ended, and its unit has not */
        UnitStart *start;    /* NULL: it is over */
        uint64_t begun_usec; /* when it was started last; 0: never */
        uint64_t found_usec; /* when something was found out that nobody has had; 0: nothing was */
};

static Relearn *find(const Manager *manager, const char *instance) {
        Relearn *relearn = manager->relearns;

        while (relearn && !text_equals(relearn->instance, instance))
                relearn = relearn->next;
        return relearn;
}

static Relearn *find_or_add(Manager *manager, const char *instance) {
        Relearn *relearn = find(manager, instance);

        if (relearn)
                return relearn;
        Arena *arena = arena_new();

        relearn = ARENA_NEW(arena, Relearn);
        *relearn = (Relearn){.next = manager->relearns, .manager = manager, .arena = arena};
        relearn->instance = arena_strdup(arena, instance);
        relearn->mark = arena_printf(arena, PATH_RESTARTING "%s", instance);
        manager->relearns = relearn;
        return relearn;
}

static void say(const Relearn *relearn, int error) {
        if (error < 0)
                log_line(LOG_WARNING,
                         "%s: its database starts again, and was not asked for its size (%s): what "
                         "was known before counts; see the log of " NAME_ASK_UNIT,
                         relearn->instance, strerror(-error), relearn->instance);
}

static bool is_waited_for(const Relearn *relearn) {
        const Client *client = relearn->manager->clients;

        while (client && !(client->kind == CLIENT_GATE && client->gate.is_restarting &&
                           text_equals(client->instance, relearn->instance)))
                client = client->next;
        return client != NULL;
}

static void on_end(void *userdata, int error) {
        Relearn *relearn = userdata;
        Manager *manager = relearn->manager;

        say(relearn, error);
        relearn->start = unit_start_free(relearn->start);
        if (error == 0 && !is_waited_for(relearn))
                relearn->found_usec = clock_now_usec();
        root_remove(manager->root, relearn->mark);
        manager->listener(manager, MANAGER_WRITTEN);
}

static int begin(Relearn *relearn) {
        const Root *root = relearn->manager->root;
        int r = root_write_file(root, relearn->mark, "", 0644);

        if (r >= 0)
                r = unit_start_new(
                        root, arena_printf(relearn->arena, NAME_ASK_UNIT, relearn->instance),
                        relearn->manager->loop, limit_usec, on_end, relearn, &relearn->start);
        return r;
}

static bool is_within(uint64_t now_usec, uint64_t since_usec, uint64_t usec) {
        return since_usec > 0 && now_usec - since_usec < usec;
}

bool relearn_begin(Manager *manager, const InstanceConfig *instance) {
        uint64_t now_usec = clock_now_usec();

        if (!instance_is_learning(instance) || !unit_manager_exists(manager->root))
                return false;
        Relearn *relearn = find_or_add(manager, instance->name);

        bool is_found = is_within(now_usec, relearn->found_usec, unheard_usec);

        relearn->found_usec = 0;
        if (relearn->start)
                return true;
        if (is_found || is_within(now_usec, relearn->begun_usec, pause_usec))
                return false;
        relearn->begun_usec = now_usec;
        int r = begin(relearn);

        if (r < 0)
                root_remove(manager->root, relearn->mark);
        say(relearn, r);
        return r >= 0;
}

void relearn_note(Manager *manager, const char *instance) {
        Relearn *relearn = find_or_add(manager, instance);

        relearn->found_usec = clock_now_usec();
}

bool relearn_is_under_way(const Manager *manager, const char *instance) {
        const Relearn *relearn = find(manager, instance);

        return relearn && relearn->start;
}

void relearn_drop(Manager *manager) {
        while (manager->relearns) {
                Relearn *relearn = manager->relearns;

                if (relearn->start)
                        root_remove(manager->root, relearn->mark);
                manager->relearns = relearn->next;
                unit_start_free(relearn->start);
                arena_free(relearn->arena);
        }
}
