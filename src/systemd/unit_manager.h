/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Queries systemd for properties of units: org.freedesktop.systemd1(5).
 *
 * A query may load a unit, as `systemctl show` does, but never starts one. The connection is closed with the
 * query, so that nothing wakes up the daemon later. */

#include "host/root.h"
#include "systemd/unit_property.h"

typedef struct UnitQuery UnitQuery;

/* Returns whether systemd may be running: on this host, or below a root that has its socket. */
bool unit_manager_exists(const Root *root);

/* Connects to systemd's private socket, which needs root but no bus and exists from the start of systemd, or else to
 * the system bus. Returns a negative errno if neither is possible. */
int unit_manager_connect(const Root *root, Arena *arena, Bus **ret);

/* Processes messages on BUS, or waits for one until UNTIL_USEC. Returns -ETIMEDOUT then, or another negative errno. */
int unit_manager_wait(const Bus *bus, uint64_t until_usec);

/* ERROR is 0 or a negative errno. The handler closes the request. */
typedef void (*UnitRequestHandler)(void *userdata, int error);

/* An exchange with systemd that an event loop serves. */
typedef struct UnitRequest {
        Bus *bus;
        Loop *loop; /* that serves it; NULL: none */
        LoopTimer limit, end;
        int error;
        UnitRequestHandler handler;
        void *userdata;
} UnitRequest;

/* Has LOOP serve TALK, of which only BUS is set. HANDLER is called after unit_request_end(), or with -ETIMEDOUT after
 * LIMIT_USEC. */
int unit_request_attach(UnitRequest *request, Loop *loop, uint64_t limit_usec,
                        UnitRequestHandler handler, void *userdata);

/* Ends the request with ERROR. The handler is called later from the loop, not from within libsystemd. */
void unit_request_end(UnitRequest *request, int error);

void unit_request_close(UnitRequest *request);

/* Queries the units called NAMES. Sends all calls at once, and does not wait. The answers are allocated in ARENA,
 * which must outlive the query. Returns a negative errno if systemd cannot be queried. */
int unit_query_new(const Root *root, Arena *arena, const SourceNames *names, unsigned wanted,
                   UnitQuery **ret);
UnitQuery *unit_query_free(UnitQuery *query); /* takes NULL; returns NULL */
void unit_query_freep(UnitQuery **query);

/* Waits at most LIMIT_USEC for the answers, and returns the units in the order of the names. Returns -ETIMEDOUT, or
 * another negative errno if systemd disconnects or its answer is invalid. Does not set `reset_file` and `override`. */
int unit_query_wait(UnitQuery *query, uint64_t limit_usec, LoadedUnits *ret);

/* Gets the units, or a negative errno as above, at the end of a query that a loop serves. The handler
 * frees the query. */
typedef void (*UnitQueryHandler)(void *userdata, int error, const LoadedUnits *units);

int unit_query_attach(UnitQuery *query, Loop *loop, uint64_t limit_usec, UnitQueryHandler handler,
                      void *userdata);
