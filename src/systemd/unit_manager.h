/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Asks systemd what it has in effect of some units: org.freedesktop.systemd1(5).
 *
 * Only reads. A unit may be loaded by that, as by `systemctl show`; none is ever started. The
 * connection is closed with the query, so that nothing is left to wake up for. */

#include "host/root.h"
#include "systemd/unit_property.h"

typedef struct UnitQuery UnitQuery;

/* Whether there may be a manager to be asked: on this host, or below a root that has its socket. */
bool unit_manager_exists(const Root *root);

/* A connection to it: as root by systemd's own socket, which needs no bus and is there from the first
 * moment on, else by the system bus. Negative errno where there is nobody to be asked. */
int unit_manager_connect(const Root *root, Arena *arena, Bus **ret);

/* Takes what has come on BUS, or waits for it until UNTIL_USEC: -ETIMEDOUT then, or another negative errno. */
int unit_manager_wait(const Bus *bus, uint64_t until_usec);

/* ERROR: 0, or a negative errno. It is the handler's to close the talk. */
typedef void (*UnitTalkHandler)(void *userdata, int error);

/* What is asked while an event loop looks after it. */
typedef struct UnitTalk {
        Bus *bus;
        Loop *loop; /* that looks after it; NULL: none does */
        LoopTimer limit, end;
        int error;
        UnitTalkHandler handler;
        void *userdata;
} UnitTalk;

/* Of a talk that has but its bus. HANDLER is called once unit_talk_end() was, or with -ETIMEDOUT after LIMIT_USEC. */
int unit_talk_attach(UnitTalk *talk, Loop *loop, uint64_t limit_usec, UnitTalkHandler handler,
                     void *userdata);

/* It has ended: which is told from the loop, not from within libsystemd's reading of an answer. */
void unit_talk_end(UnitTalk *talk, int error);

void unit_talk_close(UnitTalk *talk);

/* Asks for the units called NAMES. Does not wait; everything is on its way at once. What is answered
 * will be in ARENA, which must outlive the query. Negative errno where there is
 * nobody to be asked. */
int unit_query_new(const Root *root, Arena *arena, const SourceNames *names, unsigned wanted,
                   UnitQuery **ret);
UnitQuery *unit_query_free(UnitQuery *query); /* takes NULL; returns NULL */
void unit_query_freep(UnitQuery **query);

/* Waits for the answers, in the order of the names: LIMIT_USEC at most (-ETIMEDOUT). Another negative
 * errno where systemd hangs up, or answers what makes no sense. `reset_file` and `override` are not known to
 * it. */
int unit_query_wait(UnitQuery *query, uint64_t limit_usec, LoadedUnits *ret);

/* The end of a query that LOOP looks after: the units, or a negative errno as above. It is the
 * handler's to free the query. */
typedef void (*UnitQueryHandler)(void *userdata, int error, const LoadedUnits *units);

int unit_query_attach(UnitQuery *query, Loop *loop, uint64_t limit_usec, UnitQueryHandler handler,
                      void *userdata);
