/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/relearn.h"

#include "base/memory.h"
#include "base/text.h"
#include "demand/learned.h"
#include "model/names.h"
#include "runtime/clock.h"
#include "runtime/log.h"
#include "systemd/unit_manager.h"
#include "systemd/unit_start.h"

#include <string.h>

static const uint64_t pause_usec = 60 * USEC_PER_SEC;
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
        uint64_t begun_usec;
        UnitStart *start; /* NULL: it is over */
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
        relearn->mark = arena_printf(arena, PATH_RESTARTING "/%s", instance);
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

static void on_end(void *userdata, int error) {
        Relearn *relearn = userdata;
        Manager *manager = relearn->manager;

        say(relearn, error);
        relearn->start = unit_start_free(relearn->start);
        root_remove(manager->root, relearn->mark);
        manager->listener(manager, MANAGER_WRITTEN);
}

static int begin(Relearn *relearn) {
        const Root *root = relearn->manager->root;
        int r = root_make_directory(root, PATH_RESTARTING);

        if (r >= 0)
                r = root_write_file(root, relearn->mark, "", 0644);
        if (r >= 0)
                r = unit_start_new(
                        root, arena_printf(relearn->arena, NAME_ASK_UNIT, relearn->instance),
                        relearn->manager->event, limit_usec, on_end, relearn, &relearn->start);
        return r;
}

bool relearn_begin(Manager *manager, const InstanceConfig *instance) {
        uint64_t now_usec = clock_now_usec();

        if (!instance_is_learning(instance) || !unit_manager_exists(manager->root))
                return false;
        Relearn *relearn = find_or_add(manager, instance->name);

        if (relearn->start ||
            (relearn->begun_usec > 0 && now_usec - relearn->begun_usec < pause_usec))
                return relearn->start != NULL;
        relearn->begun_usec = now_usec;
        int r = begin(relearn);

        if (r < 0)
                root_remove(manager->root, relearn->mark);
        say(relearn, r);
        return r >= 0;
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
