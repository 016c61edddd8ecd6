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

/* An exchange with systemd that an event loop serves. */
typedef struct UnitRequest {
        Bus *bus;
        Loop *loop; /* that serves it; NULL: none */
        LoopTimer limit, end;
        int error;
        void (*handler)(void *userdata, int error); /* closes the request */
        void *userdata;
} UnitRequest;

static void on_request_end(void *userdata) {
        UnitRequest *request = userdata;

        request->handler(request->userdata, request->error);
}

static void on_limit(void *userdata) {
        UnitRequest *request = userdata;

        request->handler(request->userdata, -ETIMEDOUT);
}

/* Ends the request with ERROR. The handler is called later from the loop, not from within libsystemd. */
static void end_request(UnitRequest *request, int error) {
        request->error = error;
        if (request->loop)
                loop_set(request->loop, &request->end, 0, on_request_end, request);
}

static void on_failed(void *userdata, int error) {
        UnitRequest *request = userdata;

        end_request(request, request->error < 0 ? request->error : error);
}

/* Has LOOP serve REQUEST, of which only BUS is set. HANDLER is called after end_request(), or with -ETIMEDOUT after
 * LIMIT_USEC. */
static int attach_request(UnitRequest *request, Loop *loop, uint64_t limit_usec,
                          void (*handler)(void *userdata, int error), void *userdata) {
        request->loop = loop;
        request->handler = handler;
        request->userdata = userdata;
        loop_set(loop, &request->limit, add_saturated(clock_now_usec(), limit_usec), on_limit,
                 request);
        return bus_attach(request->bus, loop, on_failed, request);
}

static void close_request(UnitRequest *request) {
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
                end_request(&query->request, query->error);
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
        int r = connect_to(root, arena, &query->request.bus);

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
        close_request(&query->request);
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
                int r = wait_on(query->request.bus, until_usec);

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
        int r = attach_request(&query->request, loop, limit_usec, on_end, query);

        if (r >= 0 && is_answered(query))
                end_request(&query->request, query->error);
        return r;
}

/* ---- why a unit stops ---- */

static int ask_text(Arena *arena, const Bus *bus, const char *object, const char *interface,
                    const char *property, const char **ret) {
        char *text = NULL;
        int r = bus->get_property_string(bus->connection, UNIT_MANAGER, object, interface, property,
                                         NULL, &text);

        if (r >= 0)
                *ret = arena_strdup(arena, text);
        free(text);
        return r;
}

/* Gets the number and object of the unit's job; the number is 0 if there is no job. */
static int ask_job(Arena *arena, const Bus *bus, const char *unit, uint32_t *ret_number,
                   const char **ret_object) {
        sd_bus_message *reply = NULL;
        char *unit_object = NULL;
        const char *object;
        int r = bus->path_encode(UNIT_MANAGER_OBJECT "/unit", unit, &unit_object);

        if (r >= 0)
                r = bus->get_property(bus->connection, UNIT_MANAGER, unit_object,
                                      UNIT_MANAGER ".Unit", "Job", NULL, &reply, "(uo)");
        if (r >= 0)
                r = bus->message_read(reply, "(uo)", ret_number, &object);
        if (r >= 0)
                *ret_object = arena_strdup(arena, object);
        free(unit_object);
        bus->message_unref(reply);
        return r;
}

/* Found by the running job: while a unit is stopped for a restart, the type of its job is "restart", and changes to
 * "start" when the unit has stopped. org.freedesktop.systemd1(5), and systemd's job_finish_and_invalidate(). */
static int find_stop(Arena *arena, const Bus *bus, const char *unit, UnitStop *ret) {
        const char *state, *object, *type;
        uint32_t number = 0;
        int r = ask_text(arena, bus, UNIT_MANAGER_OBJECT, UNIT_MANAGER ".Manager", "SystemState",
                         &state);

        if (r >= 0 && text_equals(state, "stopping")) {
                *ret = UNIT_STOP_HOST;
                return 0;
        }
        if (r >= 0)
                r = ask_job(arena, bus, unit, &number, &object);
        if (r >= 0 && number == 0) {
                *ret = UNIT_STOP_ITSELF;
                return 0;
        }
        if (r >= 0)
                r = ask_text(arena, bus, object, UNIT_MANAGER ".Job", "JobType", &type);
        if (r < 0)
                return r;
        *ret = text_equals(type, "stop") ? UNIT_STOP_FOR_GOOD : UNIT_STOP_RESTART;
        return 0;
}

int unit_stop_find(const Root *root, const char *unit, uint64_t limit_usec, UnitStop *ret) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        CLEANUP(bus_freep) Bus *bus = NULL;
        uint64_t until_usec = add_saturated(clock_now_usec(), limit_usec);
        int r = connect_to(root, arena, &bus);

        /* The limit of a call does not apply to connecting: libsystemd would wait for 90 seconds. */
        while (r >= 0 && (r = bus->is_ready(bus->connection)) == 0)
                r = wait_on(bus, until_usec);
        if (r >= 0)
                r = bus->set_method_call_timeout(bus->connection, limit_usec);
        return r < 0 ? r : find_stop(arena, bus, unit, ret);
}

/* ---- the method Reload() ---- */

struct UnitReread {
        Arena *arena;
        UnitRequest request;
};

static int on_reread(sd_bus_message *message, void *userdata, sd_bus_error *error UNUSED) {
        UnitReread *reread = userdata;

        end_request(&reread->request, -reread->request.bus->message_get_errno(message));
        return 0;
}

static void unit_reread_freep(UnitReread **reread) {
        *reread = unit_reread_free(*reread);
}

int unit_reread_new(const Root *root, Loop *loop, uint64_t limit_usec, UnitRereadHandler handler,
                    void *userdata, UnitReread **ret) {
        CLEANUP(unit_reread_freep) UnitReread *reread = memory_new(sizeof(UnitReread));

        reread->arena = arena_new();
        int r = connect_to(root, reread->arena, &reread->request.bus);
        const Bus *bus = reread->request.bus;

        if (r >= 0)
                r = bus->call_method_async(bus->connection, NULL, UNIT_MANAGER, UNIT_MANAGER_OBJECT,
                                           UNIT_MANAGER ".Manager", "Reload", on_reread, reread,
                                           NULL);
        if (r >= 0)
                r = attach_request(&reread->request, loop, limit_usec, handler, userdata);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(reread);
        return 0;
}

UnitReread *unit_reread_free(UnitReread *reread) {
        if (!reread)
                return NULL;
        close_request(&reread->request);
        arena_free(reread->arena);
        memory_free(reread);
        return NULL;
}
