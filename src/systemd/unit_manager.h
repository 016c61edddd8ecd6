/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Queries systemd for properties of units, and has it reload them: org.freedesktop.systemd1(5).
 *
 * A query may load a unit, as `systemctl show` does, but never starts one. Each query and each reload has a connection
 * of its own, which is closed with it, so that nothing wakes up the daemon later. */

#include "host/root.h"
#include "systemd/unit_property.h"

typedef struct UnitQuery UnitQuery;

/* Returns whether systemd may be running: on this host, or below a root that has its socket. */
bool unit_manager_exists(const Root *root);

/* Queries the units called NAMES. Sends all calls at once, and does not wait. The answers are allocated in ARENA,
 * which must outlive the query. Returns a negative errno if systemd cannot be queried. */
int unit_query_new(const Root *root, Arena *arena, const SourceNames *names, unsigned wanted,
                   UnitQuery **ret);

/* Has systemd reload all units, as 'systemctl daemon-reload' does: the only action that hugeplan requests from systemd.
 * Its end is an answer without units. Returns a negative errno if systemd cannot be reached. */
int unit_query_reload(const Root *root, UnitQuery **ret);

UnitQuery *unit_query_free(UnitQuery *query); /* takes NULL; returns NULL */
void unit_query_freep(UnitQuery **query);

/* Waits at most LIMIT_USEC for the answers, and returns the units in the order of the names. Returns -ETIMEDOUT, or
 * another negative errno if systemd disconnects or its answer is invalid. Does not set `override`. */
int unit_query_wait(UnitQuery *query, uint64_t limit_usec, LoadedUnits *ret);

/* Gets the units, or a negative errno as above, at the end of a query that a loop serves. The handler
 * frees the query. */
typedef void (*UnitQueryHandler)(void *userdata, int error, const LoadedUnits *units);

int unit_query_attach(UnitQuery *query, Loop *loop, uint64_t limit_usec, UnitQueryHandler handler,
                      void *userdata);
