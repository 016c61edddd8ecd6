/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The properties of units that systemd is asked for, and how its answers are read: org.freedesktop.systemd1(5).
 * Nothing is asked here. */

#include "systemd/bus.h"
#include "units/loaded_unit.h"

#define UNIT_MANAGER        "org.freedesktop.systemd1"
#define UNIT_MANAGER_OBJECT "/org/freedesktop/systemd1"

/* What is to be known of a unit. */
enum {
        UNIT_QUERY_LOADED = 1, /* what its gates and its instances depend on */
        UNIT_QUERY_RUN = 2,   /* its present run: whether it is starting, by whom, and its policy */
        UNIT_QUERY_STATE = 4, /* whether it is active; of units of any kind */
};

typedef struct UnitAnswer {
        Arena *arena; /* of what is read */
        const Bus *bus;
        sd_bus_message *message;
} UnitAnswer;

typedef struct UnitProperty {
        const char *interface;
        const char *name;
        const char *type;
        /* Into what is at OFFSET of the unit; negative errno. */
        int (*read)(const UnitAnswer *answer, void *ret);
        size_t offset;
        unsigned wanted; /* UNIT_QUERY_... */
} UnitProperty;

extern const UnitProperty unit_properties[];
extern const size_t n_unit_properties;

/* A unit of which nothing is known yet. */
LoadedUnit unit_property_none(const char *name);

/* Reads ANSWER, the reply to Get, into UNIT. Negative errno: it is an error, or makes no sense. */
int unit_property_read(const UnitProperty *property, const UnitAnswer *answer, LoadedUnit *unit);
