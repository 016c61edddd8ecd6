/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The method StartUnit() answers with the job that it has made, whose end is the signal JobRemoved: systemd sends
 * it to all who are connected to its own socket. org.freedesktop.systemd1(5). */
#include "systemd/unit_start.h"

#include "base/memory.h"
#include "base/text.h"

struct UnitStart {
        Arena *arena;
        UnitTalk talk;
        const char *job; /* its object; NULL: not known yet */
};

static int on_job(sd_bus_message *message, void *userdata, sd_bus_error *error UNUSED) {
        UnitStart *start = userdata;
        const char *job;
        const Bus *bus = start->talk.bus;
        int r = bus->message_get_errno(message);

        r = r > 0 ? -r : bus->message_read(message, "o", &job);
        if (r < 0)
                unit_talk_end(&start->talk, r);
        else
                start->job = arena_strdup(start->arena, job);
        return 0;
}

static int on_removed(sd_bus_message *message, void *userdata, sd_bus_error *error UNUSED) {
        UnitStart *start = userdata;
        const char *job, *unit, *result;
        uint32_t number;

        if (start->talk.bus->message_read(message, "uoss", &number, &job, &unit, &result) >= 0 &&
            text_equals(job, start->job))
                unit_talk_end(&start->talk, text_equals(result, "done") ? 0 : -ECANCELED);
        return 0;
}

static int on_reread(sd_bus_message *message, void *userdata, sd_bus_error *error UNUSED) {
        UnitStart *start = userdata;

        unit_talk_end(&start->talk, -start->talk.bus->message_get_errno(message));
        return 0;
}

static void freep(UnitStart **start) {
        *start = unit_start_free(*start);
}

int unit_start_new(const Root *root, const char *unit, Loop *loop, uint64_t limit_usec,
                   UnitTalkHandler handler, void *userdata, UnitStart **ret) {
        static const char manager[] = UNIT_MANAGER ".Manager";
        CLEANUP(freep) UnitStart *start = memory_new(sizeof(UnitStart));

        start->arena = arena_new();
        int r = unit_manager_connect(root, start->arena, &start->talk.bus);
        const Bus *bus = start->talk.bus;

        if (r >= 0 && !unit)
                r = bus->call_method_async(bus->connection, NULL, UNIT_MANAGER, UNIT_MANAGER_OBJECT,
                                           manager, "Reload", on_reread, start, NULL);
        if (r >= 0 && unit)
                r = bus->match_signal_async(bus->connection, NULL, NULL, UNIT_MANAGER_OBJECT,
                                            manager, "JobRemoved", on_removed, NULL, start);
        if (r >= 0 && unit)
                r = bus->call_method_async(bus->connection, NULL, UNIT_MANAGER, UNIT_MANAGER_OBJECT,
                                           manager, "StartUnit", on_job, start, "ss", unit,
                                           "replace");
        if (r >= 0)
                r = unit_talk_attach(&start->talk, loop, limit_usec, handler, userdata);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(start);
        return 0;
}

UnitStart *unit_start_free(UnitStart *start) {
        if (!start)
                return NULL;
        unit_talk_close(&start->talk);
        arena_free(start->arena);
        memory_free(start);
        return NULL;
}
