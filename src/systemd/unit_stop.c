/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Found by the running job: while a unit is stopped for a restart, the type of its job is "restart", and changes to
 * "start" when the unit has stopped. org.freedesktop.systemd1(5), and systemd's job_finish_and_invalidate(). */
#include "systemd/unit_stop.h"

#include "base/text.h"
#include "runtime/clock.h"
#include "systemd/unit_manager.h"

#include <stdlib.h>

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

static int find(Arena *arena, const Bus *bus, const char *unit, UnitStop *ret) {
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
        int r = unit_manager_connect(root, arena, &bus);

        /* The limit of a call does not apply to connecting: libsystemd would wait for 90 seconds. */
        while (r >= 0 && (r = bus->is_ready(bus->connection)) == 0)
                r = unit_manager_wait(bus, until_usec);
        if (r >= 0)
                r = bus->set_method_call_timeout(bus->connection, limit_usec);
        return r < 0 ? r : find(arena, bus, unit, ret);
}
