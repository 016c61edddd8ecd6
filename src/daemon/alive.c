/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tells the service manager, while a start or a reload takes its time, that the loop still runs.
 *
 * The boot waits for hugeplan.service, so TimeoutStartSec= is short: a daemon that hangs is replaced
 * soon, and until then it must not hold the boot up for long. One that works may need minutes, even
 * for a single write(2). That runs in a thread; so what tells that all is well is neither the clock nor
 * the pages, but that this timer is served. How long the boot really waits, BootTimeout= says.
 * sd_notify(3), EXTEND_TIMEOUT_USEC=. */
#include "daemon/alive.h"

#include "daemon/manager.h"

#include <systemd/sd-daemon.h>

static const uint64_t alive_usec = 3 * USEC_PER_SEC;
/* From the last sign of life on; it counts for the watchdog, too. */
static const uint64_t extension_usec = 10 * USEC_PER_SEC;

static bool is_awaited(const Manager *manager) {
        return !manager->is_ready_sent || keeper_is_working(manager->keeper);
}

static int on_alive(sd_event_source *source, uint64_t usec, void *userdata) {
        Manager *manager = userdata;

        (void) usec;
        if (!is_awaited(manager)) {
                alive_end(manager);
                return 0;
        }
        sd_notifyf(0, "EXTEND_TIMEOUT_USEC=%" PRIu64, extension_usec);
        manager_need(manager, sd_event_source_set_time_relative(source, alive_usec));
        manager_need(manager, sd_event_source_set_enabled(source, SD_EVENT_ONESHOT));
        return 0;
}

void alive_begin(Manager *manager) {
        if (manager->alive_timer)
                return;
        sd_notifyf(0, "EXTEND_TIMEOUT_USEC=%" PRIu64, extension_usec);
        manager_need(manager,
                     sd_event_add_time_relative(manager->event, &manager->alive_timer,
                                                CLOCK_BOOTTIME, alive_usec, 0, on_alive, manager));
}

void alive_end(Manager *manager) {
        manager->alive_timer = sd_event_source_disable_unref(manager->alive_timer);
}
