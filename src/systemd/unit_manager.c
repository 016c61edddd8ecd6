/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "systemd/unit_manager.h"

#include "base/memory.h"
#include "model/names.h"
#include "runtime/clock.h"
#include "systemd/unit_property.h"

#include <stdlib.h>

/* ---- connection ---- */

bool unit_manager_exists(const Root *root) {
        return root_is_host(root) ? root_is_directory(root, PATH_SYSTEMD_RUNS)
                                  : root_exists(root, PATH_SYSTEMD_PRIVATE);
}

/* Connects to systemd's private socket, which needs root but no bus and exists from the start of systemd, or else to
 * the system bus. Returns a negative errno if neither is possible. */
static int connect_to(const Root *root, Arena *arena, Bus **ret) {
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

/* Processes messages on BUS, or waits for one until UNTIL_USEC. Returns -ETIMEDOUT then, or another negative errno. */
static int wait_on(const Bus *bus, uint64_t until_usec) {
        uint64_t left = sub_floored(until_usec, clock_now_usec());
        int r = bus->process(bus->connection, NULL);

        if (r == 0)
                r = left > 0 ? bus->wait(bus->connection, left) : -ETIMEDOUT;
        return r == -EINTR ? 0 : r;
}

/* ---- queries ---- */

struct UnitQuery {
        Arena *arena;
        Bus *bus;
        LoadedUnits units;
        size_t n_open; /* calls without an answer */
        int error;     /* the first error */
        Loop *loop;    /* that serves the query; NULL: none */
        LoopTimer limit, end;
        UnitQueryHandler handler;
        void *userdata;
};

static bool is_answered(const UnitQuery *query) {
        return query->n_open == 0 || query->error < 0;
}

static void on_end(void *userdata) {
        UnitQuery *query = userdata;

        query->handler(query->userdata, query->error, &query->units);
}

static void on_limit(void *userdata) {
        UnitQuery *query = userdata;

        query->handler(query->userdata, -ETIMEDOUT, &query->units);
}

/* The handler is called later from the loop, not from within libsystemd. */
static void end_if_answered(UnitQuery *query) {
        if (query->loop && is_answered(query))
                loop_set(query->loop, &query->end, 0, on_end, query);
}

static void on_failed(void *userdata, int error) {
        UnitQuery *query = userdata;

        query->error = query->error < 0 ? query->error : error;
        end_if_answered(query);
}

typedef struct Asked {
        UnitQuery *query;
        const UnitProperty *property;
        LoadedUnit *unit;
} Asked;

static int on_answer(sd_bus_message *message, void *userdata, sd_bus_error *error UNUSED) {
        const Asked *asked = userdata;
        UnitQuery *query = asked->query;
        const UnitAnswer answer = {query->arena, query->bus, message};
        int r = unit_property_read(asked->property, &answer, asked->unit);

        query->n_open--;
        if (r < 0 && query->error == 0)
                /* After a disconnect libsystemd ends open calls with ETIMEDOUT. */
                query->error = query->bus->is_open(query->bus->connection) > 0 ? r : -ECONNRESET;
        end_if_answered(query);
        return 0;
}

static int ask(UnitQuery *query, const char *object, const UnitProperty *property,
               LoadedUnit *unit) {
        const Bus *bus = query->bus;
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
        int r = connect_to(root, arena, &query->bus);

        VEC_FOREACH(unit, &query->units) {
                char *object = NULL;

                if (r >= 0)
                        r = query->bus->path_encode(UNIT_MANAGER_OBJECT "/unit", unit->name,
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

static int on_reloaded(sd_bus_message *message, void *userdata, sd_bus_error *error UNUSED) {
        UnitQuery *query = userdata;

        query->n_open = 0;
        query->error = -query->bus->message_get_errno(message);
        end_if_answered(query);
        return 0;
}

int unit_query_reload(const Root *root, UnitQuery **ret) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        CLEANUP(unit_query_freep) UnitQuery *query = memory_new(sizeof(UnitQuery));
        int r = connect_to(root, arena, &query->bus);
        const Bus *bus = query->bus;

        if (r >= 0)
                r = bus->call_method_async(bus->connection, NULL, UNIT_MANAGER, UNIT_MANAGER_OBJECT,
                                           UNIT_MANAGER ".Manager", "Reload", on_reloaded, query,
                                           NULL);
        if (r < 0)
                return r;
        query->n_open = 1;
        *ret = TAKE_PTR(query);
        return 0;
}

UnitQuery *unit_query_free(UnitQuery *query) {
        if (!query)
                return NULL;
        loop_unset(&query->limit);
        loop_unset(&query->end);
        bus_free(query->bus);
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
                int r = wait_on(query->bus, until_usec);

                if (r < 0)
                        return r;
        }
        if (query->error == 0)
                *ret = query->units;
        return query->error;
}

int unit_query_attach(UnitQuery *query, Loop *loop, uint64_t limit_usec, UnitQueryHandler handler,
                      void *userdata) {
        query->loop = loop;
        query->handler = handler;
        query->userdata = userdata;
        loop_set(loop, &query->limit, add_saturated(clock_now_usec(), limit_usec), on_limit, query);
        int r = bus_attach(query->bus, loop, on_failed, query);

        if (r >= 0)
                end_if_answered(query);
        return r;
}
