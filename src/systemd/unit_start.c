/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The method StartUnit() answers with the job that it has made, whose end is the signal JobRemoved: systemd sends
 * it to all who are connected to its own socket. org.freedesktop.systemd1(5). */
#include "systemd/unit_start.h"

#include "base/memory.h"
#include "base/text.h"
#include "runtime/clock.h"
#include "systemd/unit_manager.h"

struct UnitStart {
        Arena *arena;
        Bus *bus;
        Loop *loop;
        const char *job; /* its object; NULL: not known yet */
        int error;
        UnitStartHandler handler;
        void *userdata;
        LoopTimer limit, end;
};

static void on_end(void *userdata) {
        UnitStart *start = userdata;

        start->handler(start->userdata, start->error);
}

/* Told from the loop, not from within libsystemd's reading of a message. */
static void end(void *userdata, int error) {
        UnitStart *start = userdata;

        start->error = error;
        loop_set(start->loop, &start->end, 0, on_end, start);
}

static void on_limit(void *userdata) {
        UnitStart *start = userdata;

        start->handler(start->userdata, -ETIMEDOUT);
}

static int on_job(sd_bus_message *message, void *userdata, sd_bus_error *error UNUSED) {
        UnitStart *start = userdata;
        const char *job;
        int r = start->bus->message_get_errno(message);

        r = r > 0 ? -r : start->bus->message_read(message, "o", &job);
        if (r < 0)
                end(start, r);
        else
                start->job = arena_strdup(start->arena, job);
        return 0;
}

static int on_removed(sd_bus_message *message, void *userdata, sd_bus_error *error UNUSED) {
        UnitStart *start = userdata;
        const char *job, *unit, *result;
        uint32_t number;

        if (start->bus->message_read(message, "uoss", &number, &job, &unit, &result) >= 0 &&
            text_equals(job, start->job))
                end(start, text_equals(result, "done") ? 0 : -ECANCELED);
        return 0;
}

static int send(UnitStart *start, const Root *root, const char *unit) {
        static const char manager[] = UNIT_MANAGER ".Manager";
        int r = unit_manager_connect(root, start->arena, &start->bus);
        const Bus *bus = start->bus;

        if (r >= 0)
                r = bus->match_signal_async(bus->connection, NULL, NULL, UNIT_MANAGER_OBJECT,
                                            manager, "JobRemoved", on_removed, NULL, start);
        if (r >= 0)
                r = bus->call_method_async(bus->connection, NULL, UNIT_MANAGER, UNIT_MANAGER_OBJECT,
                                           manager, "StartUnit", on_job, start, "ss", unit,
                                           "replace");
        return r;
}

int unit_start_new(const Root *root, const char *unit, Loop *loop, uint64_t limit_usec,
                   UnitStartHandler handler, void *userdata, UnitStart **ret) {
        CLEANUP(unit_start_freep) UnitStart *start = memory_new(sizeof(UnitStart));

        *start = (UnitStart){
                .arena = arena_new(), .loop = loop, .handler = handler, .userdata = userdata};
        int r = send(start, root, unit);

        if (r >= 0)
                r = bus_attach(start->bus, loop, end, start);
        if (r < 0)
                return r;
        loop_set(loop, &start->limit, add_saturated(clock_now_usec(), limit_usec), on_limit, start);
        *ret = TAKE_PTR(start);
        return 0;
}

UnitStart *unit_start_free(UnitStart *start) {
        if (!start)
                return NULL;
        loop_unset(&start->limit);
        loop_unset(&start->end);
        bus_free(start->bus);
        arena_free(start->arena);
        memory_free(start);
        return NULL;
}

void unit_start_freep(UnitStart **start) {
        *start = unit_start_free(*start);
}
