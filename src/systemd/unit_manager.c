/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "systemd/unit_manager.h"

#include "base/memory.h"
#include "base/text.h"
#include "model/names.h"
#include "runtime/clock.h"
#include "systemd/unit_property.h"

#include <stdlib.h>
#include <systemd/sd-bus.h>

/* ---- connection ---- */

bool unit_manager_exists(const Root *root) {
        return root_is_host(root) ? root_is_directory(root, PATH_SYSTEMD_RUNS)
                                  : root_exists(root, PATH_SYSTEMD_PRIVATE);
}

int unit_manager_connect(const Root *root, Arena *arena, sd_bus **ret) {
        CLEANUP(sd_bus_close_unrefp) sd_bus *bus = NULL;
        int r = sd_bus_new(&bus);

        if (r >= 0)
                r = sd_bus_set_address(bus,
                                       arena_printf(arena, "unix:path=%s",
                                                    root_path(arena, root, PATH_SYSTEMD_PRIVATE)));
        if (r >= 0)
                r = sd_bus_start(bus);
        if (r < 0)
                return root_is_host(root) ? sd_bus_open_system(ret) : r;
        *ret = TAKE_PTR(bus);
        return 0;
}

int unit_manager_wait(sd_bus *bus, uint64_t until_usec) {
        uint64_t left = sub_floored(until_usec, clock_now_usec());
        int r = sd_bus_process(bus, NULL);

        if (r == 0)
                r = left > 0 ? sd_bus_wait(bus, left) : -ETIMEDOUT;
        return r == -EINTR ? 0 : r;
}

static int on_end_of_talk(sd_event_source *source UNUSED, void *userdata) {
        UnitTalk *talk = userdata;

        talk->handler(talk->userdata, talk->error);
        return 0;
}

static int on_limit(sd_event_source *source UNUSED, uint64_t usec UNUSED, void *userdata) {
        UnitTalk *talk = userdata;

        talk->handler(talk->userdata, -ETIMEDOUT);
        return 0;
}

int unit_talk_attach(UnitTalk *talk, sd_event *event, uint64_t limit_usec, UnitTalkHandler handler,
                     void *userdata) {
        talk->handler = handler;
        talk->userdata = userdata;
        int r = sd_event_add_defer(event, &talk->end, on_end_of_talk, talk);

        if (r >= 0)
                r = sd_event_source_set_enabled(talk->end, SD_EVENT_OFF);
        if (r >= 0)
                r = sd_event_add_time_relative(event, &talk->limit_timer, CLOCK_BOOTTIME,
                                               limit_usec, 0, on_limit, talk);
        if (r >= 0)
                r = sd_bus_attach_event(talk->bus, event, SD_EVENT_PRIORITY_NORMAL);
        return MIN(r, 0);
}

void unit_talk_end(UnitTalk *talk, int error) {
        talk->error = error;
        if (talk->end)
                sd_event_source_set_enabled(talk->end, SD_EVENT_ONESHOT);
}

void unit_talk_close(UnitTalk *talk) {
        sd_event_source_disable_unref(talk->limit_timer);
        sd_event_source_disable_unref(talk->end);
        if (talk->bus)
                sd_bus_detach_event(talk->bus);
        sd_bus_close_unref(talk->bus);
}

/* ---- questions ---- */

struct UnitQuery {
        Arena *arena;
        UnitTalk talk;
        LoadedUnits units;
        size_t n_open; /* questions without an answer */
        int error;     /* the first that came instead of one */
        UnitQueryHandler handler;
        void *userdata;
};

typedef struct Asked {
        UnitQuery *query;
        const UnitProperty *property;
        LoadedUnit *unit;
} Asked;

static bool is_answered(const UnitQuery *query) {
        return query->n_open == 0 || query->error < 0;
}

static int on_answer(sd_bus_message *message, void *userdata, sd_bus_error *error UNUSED) {
        const Asked *asked = userdata;
        UnitQuery *query = asked->query;
        int r = unit_property_read(asked->property, query->arena, message, asked->unit);

        query->n_open--;
        if (r < 0 && query->error == 0)
                /* To libsystemd, what nobody can answer any more has timed out. */
                query->error = sd_bus_is_open(query->talk.bus) > 0 ? r : -ECONNRESET;
        if (is_answered(query))
                unit_talk_end(&query->talk, query->error);
        return 0;
}

static int ask(UnitQuery *query, const char *object, const UnitProperty *property,
               LoadedUnit *unit) {
        CLEANUP(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        Asked *asked = ARENA_NEW(query->arena, Asked);
        int r = sd_bus_message_new_method_call(query->talk.bus, &call, UNIT_MANAGER, object,
                                               "org.freedesktop.DBus.Properties", "Get");

        *asked = (Asked){query, property, unit};
        if (r >= 0)
                r = sd_bus_message_append(call, "ss", property->interface, property->name);
        if (r >= 0)
                r = sd_bus_call_async(query->talk.bus, NULL, call, on_answer, asked, UINT64_MAX);
        if (r >= 0)
                query->n_open++;
        return r;
}

int unit_query_new(const Root *root, Arena *arena, const SourceNames *names, unsigned wanted,
                   UnitQuery **ret) {
        CLEANUP(unit_query_freep) UnitQuery *query = memory_new(sizeof(UnitQuery));

        query->arena = arena;
        VEC_FOREACH(name, names)
                *vec_push(arena, &query->units) = unit_property_none(arena_strdup(arena, *name));
        int r = unit_manager_connect(root, arena, &query->talk.bus);

        VEC_FOREACH(unit, &query->units) {
                char *object = NULL;

                if (r >= 0)
                        r = sd_bus_path_encode(UNIT_MANAGER_OBJECT "/unit", unit->name, &object);
                for (size_t i = 0; r >= 0 && i < n_unit_properties; i++)
                        if (unit_properties[i].wanted & wanted)
                                r = ask(query, object, &unit_properties[i], unit);
                free(object);
        }
        if (r < 0)
                return r;
        *ret = TAKE_PTR(query);
        return 0;
}

UnitQuery *unit_query_free(UnitQuery *query) {
        if (!query)
                return NULL;
        unit_talk_close(&query->talk);
        memory_free(query);
        return NULL;
}

void unit_query_freep(UnitQuery **query) {
        *query = unit_query_free(*query);
}

/* ---- answers ---- */

int unit_query_wait(UnitQuery *query, uint64_t limit_usec, LoadedUnits *ret) {
        uint64_t until_usec = add_saturated(clock_now_usec(), limit_usec);

        while (!is_answered(query)) {
                int r = unit_manager_wait(query->talk.bus, until_usec);

                if (r < 0)
                        return r;
        }
        if (query->error == 0)
                *ret = query->units;
        return query->error;
}

static void on_end(void *userdata, int error) {
        UnitQuery *query = userdata;

        query->handler(query->userdata, error, &query->units);
}

int unit_query_attach(UnitQuery *query, sd_event *event, uint64_t limit_usec,
                      UnitQueryHandler handler, void *userdata) {
        query->handler = handler;
        query->userdata = userdata;
        int r = unit_talk_attach(&query->talk, event, limit_usec, on_end, query);

        if (r >= 0 && is_answered(query))
                unit_talk_end(&query->talk, query->error);
        return r;
}
