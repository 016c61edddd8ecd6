/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What keeps the plan true after it was applied. */

#include "base/id_set.h"
#include "base/vec.h"
#include "keeper/keeper.h"

#include <systemd/sd-event.h>

typedef struct Manager Manager;

/* A unit that runs: its pages are free when it has stopped. */
typedef struct WatchedUnit {
        char *name;
        sd_event_source *source;
} WatchedUnit;

typedef struct Watch {
        sd_event_source *files[256];
        size_t n_files;
        IdSet nodes; /* the nodes whose files are watched */
        WatchedUnit *units;
        size_t n_units;
        unsigned n_unit_looks; /* at units that have ended, as far as one can see, and are not gone */
        sd_event_source *uevents, *settle_timer, *units_timer, *slow_timer;
        uint64_t settle_latest_usec; /* a burst of events is not waited for beyond it */
        bool has_hotplug;
        uint64_t repaired_usec;
        uint64_t repair_pause_usec;
} Watch;

void watch_start(Manager *manager);
void watch_stop(Manager *manager);

/* After a round: watches the files and units there are now. */
void watch_refresh(Manager *manager);

/* UNIT was let start: its control group is another one now. */
void watch_unit_anew(Manager *manager, const char *unit);

/* Whether the host will be looked at soon, because something has happened there. */
bool watch_is_settling(const Manager *manager);

/* An event of the keeper, with the source of the setting where that explains it. */
void watch_tell(const Manager *manager, const KeeperEvent *event);
