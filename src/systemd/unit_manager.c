/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "systemd/unit_manager.h"

#include "base/memory.h"
#include "base/text.h"
#include "model/names.h"
#include "runtime/clock.h"
#include "systemd/unit_property.h"

#include <stdlib.h>

/* ---- connection ---- */

bool unit_manager_exists(const Root *root) {
        return root_is_host(root) ? root_is_directory(root, PATH_SYSTEMD_RUNS)
                                  : root_exists(root, PATH_SYSTEMD_PRIVATE);
}

int unit_manager_connect(const Root *root, Arena *arena, Bus **ret) {
        CLEANUP(bus_freep) Bus *bus = NULL;
        int r = bus_new(&bus);

        if (r >= 0)
                r = bus_connect(bus, arena_printf(arena, "unix:path=%s",
                                                  root_path(arena, root, PATH_SYSTEMD_PRIVATE)));
        if (r < 0 && bus && root_is_host(root))
                r = bus_connect(bus, NULL);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(bus);
        return 0;
}

int unit_manager_wait(const Bus *bus, uint64_t until_usec) {
        uint64_t left = sub_floored(until_usec, clock_now_usec());
        int r = bus->process(bus->connection, NULL);

        if (r == 0)
                r = left > 0 ? bus->wait(bus->connection, left) : -ETIMEDOUT;
        return r == -EINTR ? 0 : r;
}

static void on_request_end(void *userdata) {
        UnitRequest *request = userdata;

        request->handler(request->userdata, request->error);
}

static void on_limit(void *userdata) {
        UnitRequest *request = userdata;

        request->handler(request->userdata, -ETIMEDOUT);
}

static void on_failed(void *userdata, int error) {
        UnitRequest *request = userdata;

        unit_request_end(request, request->error < 0 ? request->error : error);
}

int unit_request_attach(UnitRequest *request, Loop *loop, uint64_t limit_usec,
                        UnitRequestHandler handler, void *userdata) {
        request->loop = loop;
        request->handler = handler;
        request->userdata = userdata;
        loop_set(loop, &request->limit, add_saturated(clock_now_usec(), limit_usec), on_limit,
                 request);
        return bus_attach(request->bus, loop, on_failed, request);
}

void unit_request_end(UnitRequest *request, int error) {
        request->error = error;
        if (request->loop)
                loop_set(request->loop, &request->end, 0, on_request_end, request);
}

void unit_request_close(UnitRequest *request) {
        loop_unset(&request->limit);
        loop_unset(&request->end);
        bus_free(request->bus);
}

/* ---- queries ---- */

struct UnitQuery {
        Arena *arena;
        UnitRequest request;
        LoadedUnits units;
        size_t n_open; /* properties without an answer */
        int error;     /* the first error */
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
        const UnitAnswer answer = {query->arena, query->request.bus, message};
        int r = unit_property_read(asked->property, &answer, asked->unit);

        query->n_open--;
        if (r < 0 && query->error == 0)
                /* After a disconnect libsystemd ends open calls with ETIMEDOUT. */
                query->error = query->request.bus->is_open(query->request.bus->connection) > 0
                                       ? r
                                       : -ECONNRESET;
        if (is_answered(query))
                unit_request_end(&query->request, query->error);
        return 0;
}

static int ask(UnitQuery *query, const char *object, const UnitProperty *property,
               LoadedUnit *unit) {
        const Bus *bus = query->request.bus;
        sd_bus_message *call = NULL;
        Asked *asked = ARENA_NEW(query->arena, Asked);
        int r = bus->message_new_method_call(bus->connection, &call, UNIT_MANAGER, object,
                                             "org.freedesktop.DBus.Properties", "Get");

        *asked = (Asked){query, property, unit};
        if (r >= 0)
                r = bus->message_append(call, "ss", property->interface, property->name);
        if (r >= 0)
                r = bus->call_async(bus->connection, NULL, call, on_answer, asked, UINT64_MAX);
        if (r >= 0)
                query->n_open++;
        bus->message_unref(call);
        return r;
}

int unit_query_new(const Root *root, Arena *arena, const SourceNames *names, unsigned wanted,
                   UnitQuery **ret) {
        CLEANUP(unit_query_freep) UnitQuery *query = memory_new(sizeof(UnitQuery));

        query->arena = arena;
        VEC_FOREACH(name, names)
                *vec_push(arena, &query->units) = unit_property_none(arena_strdup(arena, *name));
        int r = unit_manager_connect(root, arena, &query->request.bus);

        VEC_FOREACH(unit, &query->units) {
                char *object = NULL;

                if (r >= 0)
                        r = query->request.bus->path_encode(UNIT_MANAGER_OBJECT "/unit", unit->name,
                                                            &object);
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
        unit_request_close(&query->request);
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
                int r = unit_manager_wait(query->request.bus, until_usec);

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

int unit_query_attach(UnitQuery *query, Loop *loop, uint64_t limit_usec, UnitQueryHandler handler,
                      void *userdata) {
        query->handler = handler;
        query->userdata = userdata;
        int r = unit_request_attach(&query->request, loop, limit_usec, on_end, query);

        if (r >= 0 && is_answered(query))
                unit_request_end(&query->request, query->error);
        return r;
}
