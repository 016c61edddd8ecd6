/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The method StartUnit() answers with the job that it has made, whose end is the signal JobRemoved: systemd sends
 * it to all who are connected to its own socket. org.freedesktop.systemd1(5). */
#include "systemd/unit_start.h"

#include "base/memory.h"
#include "base/text.h"
#include "systemd/unit_manager.h"

#include <systemd/sd-bus.h>

struct UnitStart {
        Arena *arena;
        sd_bus *bus;
        const char *job; /* its object; NULL: not known yet */
        int error;
        UnitStartHandler handler;
        void *userdata;
        sd_event_source *limit_timer, *end;
};

/* Told from the loop, not from within libsystemd's reading of a message. */
static void end(UnitStart *start, int error) {
        start->error = error;
        sd_event_source_set_enabled(start->end, SD_EVENT_ONESHOT);
}

static int on_end(sd_event_source *source UNUSED, void *userdata) {
        UnitStart *start = userdata;

        start->handler(start->userdata, start->error);
        return 0;
}

static int on_limit(sd_event_source *source UNUSED, uint64_t usec UNUSED, void *userdata) {
        UnitStart *start = userdata;

        start->handler(start->userdata, -ETIMEDOUT);
        return 0;
}

static int on_job(sd_bus_message *message, void *userdata, sd_bus_error *error UNUSED) {
        UnitStart *start = userdata;
        const char *job;
        int r = sd_bus_message_get_errno(message);

        r = r > 0 ? -r : sd_bus_message_read(message, "o", &job);
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

        if (sd_bus_message_read(message, "uoss", &number, &job, &unit, &result) >= 0 &&
            text_equals(job, start->job))
                end(start, text_equals(result, "done") ? 0 : -ECANCELED);
        return 0;
}

static int send(UnitStart *start, const Root *root, const char *unit) {
        static const char manager[] = UNIT_MANAGER ".Manager";
        int r = unit_manager_connect(root, start->arena, &start->bus);

        if (r >= 0)
                r = sd_bus_match_signal_async(start->bus, NULL, NULL, UNIT_MANAGER_OBJECT, manager,
                                              "JobRemoved", on_removed, NULL, start);
        if (r >= 0)
                r = sd_bus_call_method_async(start->bus, NULL, UNIT_MANAGER, UNIT_MANAGER_OBJECT,
                                             manager, "StartUnit", on_job, start, "ss", unit,
                                             "replace");
        return r;
}

int unit_start_new(const Root *root, const char *unit, sd_event *event, uint64_t limit_usec,
                   UnitStartHandler handler, void *userdata, UnitStart **ret) {
        CLEANUP(unit_start_freep) UnitStart *start = memory_new(sizeof(UnitStart));

        *start = (UnitStart){.arena = arena_new(), .handler = handler, .userdata = userdata};
        int r = send(start, root, unit);

        if (r >= 0)
                r = sd_event_add_defer(event, &start->end, on_end, start);
        if (r >= 0)
                r = sd_event_source_set_enabled(start->end, SD_EVENT_OFF);
        if (r >= 0)
                r = sd_event_add_time_relative(event, &start->limit_timer, CLOCK_BOOTTIME,
                                               limit_usec, 0, on_limit, start);
        if (r >= 0)
                r = sd_bus_attach_event(start->bus, event, SD_EVENT_PRIORITY_NORMAL);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(start);
        return 0;
}

UnitStart *unit_start_free(UnitStart *start) {
        if (!start)
                return NULL;
        sd_event_source_disable_unref(start->limit_timer);
        sd_event_source_disable_unref(start->end);
        if (start->bus)
                sd_bus_detach_event(start->bus);
        sd_bus_close_unref(start->bus);
        arena_free(start->arena);
        memory_free(start);
        return NULL;
}

void unit_start_freep(UnitStart **start) {
        *start = unit_start_free(*start);
}
