/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The properties of units that are queried, and how systemd's answers are read: org.freedesktop.systemd1(5).
 * Queries are sent elsewhere. */

#include "systemd/bus.h"
#include "units/loaded_unit.h"

#define UNIT_MANAGER        "org.freedesktop.systemd1"
#define UNIT_MANAGER_OBJECT "/org/freedesktop/systemd1"

/* The properties to query. */
enum {
        UNIT_QUERY_LOADED = 1, /* what gates and instances depend on */
        UNIT_QUERY_RUN = 2,    /* the present run: state, processes and memory policy */
        UNIT_QUERY_STATE = 4,  /* whether the unit is active; for units of any type */
};

typedef struct UnitAnswer {
        Arena *arena; /* for the values */
        const Bus *bus;
        sd_bus_message *message;
} UnitAnswer;

typedef struct UnitProperty {
        const char *interface;
        const char *name;
        const char *type;
        /* Reads into the member at OFFSET of the unit. Returns a negative errno on failure. */
        int (*read)(const UnitAnswer *answer, void *ret);
        size_t offset;
        unsigned wanted; /* UNIT_QUERY_... */
} UnitProperty;

extern const UnitProperty unit_properties[];
extern const size_t n_unit_properties;

/* Returns the policy of this process (get_mempolicy(2)): its unit's, or the service manager's if that sets none
 * (NUMAPolicy= in systemd-system.conf(5)). */
MemoryPolicy unit_property_own_policy(void);

/* Returns a unit without properties. */
LoadedUnit unit_property_none(const char *name);

/* Reads ANSWER, the reply to Get, into UNIT. Returns a negative errno if ANSWER is an error or invalid. */
int unit_property_read(const UnitProperty *property, const UnitAnswer *answer, LoadedUnit *unit);
