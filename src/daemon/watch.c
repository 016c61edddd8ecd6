/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Keeps the plan true: others write to the same files, and memory comes and goes.
 *
 * The kernel has no event for a pool's size. inotify tells of writers in the same /sys and /proc
 * (sysctl, systemd-sysctl, tuned, echo), kernel uevents of memory that is plugged or pulled, and a
 * slow timer finds what neither tells (soft-offlined pages, writers in other mount namespaces).
 * Whatever it was, the answer is the same: look again, and repair upwards. */
#include "base/text.h"
#include "daemon/clients.h"
#include "daemon/journal.h"
#include "daemon/manager.h"
#include "host/probe.h"
#include "host/unit_cgroup.h"
#include "inspect/setting_sources.h"
#include "model/names.h"
#include "model/problem.h"
#include "runtime/clock.h"
#include "runtime/log.h"

#include <errno.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <unistd.h>

/* Events come in bursts: one run of sysctl or tuned writes several files, one DIMM has many blocks.
 * Half-way through, pages that were moved between nodes look like others', so the last event of a
 * burst counts, unless it does not end. */
static const uint64_t settle_usec = 500 * USEC_PER_MSEC;
static const uint64_t hotplug_settle_usec = USEC_PER_SEC;
static const uint64_t unit_settle_usec = 50 * USEC_PER_MSEC;
static const uint64_t settle_max_usec = 5 * USEC_PER_SEC;
static const uint64_t moving_usec = USEC_PER_SEC;
static const uint64_t cover_usec = 60 * USEC_PER_SEC;
static const uint64_t slow_usec = 600 * USEC_PER_SEC;
static const uint64_t slow_slack_usec = 120 * USEC_PER_SEC;
static const uint64_t repair_pause_min_usec = USEC_PER_SEC;
static const uint64_t repair_pause_max_usec = 300 * USEC_PER_SEC;

/* ---- looking again ---- */

/* Who fights over a pool must not be fought without end. */
static bool may_repair(const Watch *watch) {
        return watch->repaired_usec == 0 ||
               clock_now_usec() - watch->repaired_usec >= watch->repair_pause_usec;
}

/* Who has done it, as far as a file of the host explains it; else NULL. The kernel command line acts
 * before anybody watches. */
static const SettingSource *suspect(const Manager *manager, Arena *arena,
                                    const KeeperEvent *event) {
        const Drift *drift = event->drift;
        const SettingSources *setting_sources =
                setting_sources_find(manager->root, arena, event->topology);
        const SettingSource *setting_source;
        char *shown = NULL;

        if (drift->kind == DRIFT_HOST &&
            root_read_attribute(manager->root, arena, drift->path, &shown) < 0)
                return NULL;
        setting_source = drift->kind == DRIFT_HOST
                                 ? setting_source_for_path(setting_sources, drift->path, shown)
                                 : setting_source_for_pool(setting_sources, event->topology,
                                                           drift->node, drift->page_size_bytes);
        return setting_source && setting_source->source != SETTING_SOURCE_KERNEL_COMMAND_LINE
                       ? setting_source
                       : NULL;
}

void watch_tell(const Manager *manager, const KeeperEvent *event) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const char *text = event->text;

        if (event->drift) {
                const SettingSource *setting_source = suspect(manager, arena, event);

                text = setting_source ? arena_printf(arena, "drift: %s; likely because of %s", text,
                                                     setting_source_format(arena, setting_source))
                                      : arena_printf(arena, "drift: %s", text);
        }
        if (event->id)
                journal_event(event->level, event->id, event->instance, text);
        else
                log_line(event->level, "%s", text);
}

static void arm_settle(Manager *manager, uint64_t delay_usec);
static void arm_units(Manager *manager, uint64_t delay_usec);

static bool has_ended_units(Manager *manager) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        SourceNames units = keeper_units(manager->keeper, arena);

        VEC_FOREACH(unit, &units)
                if (!unit_cgroup_is_populated(manager->root, *unit))
                        return true;
        return false;
}

/* A group is empty between two commands of a unit, too; when the unit has stopped systemd removes it, and
 * the kernel does not tell. */
static void look_at_units_again(Manager *manager) {
        static const uint64_t pauses_usec[] = {
                100 * USEC_PER_MSEC, 200 * USEC_PER_MSEC, 500 * USEC_PER_MSEC, USEC_PER_SEC,
                2 * USEC_PER_SEC,    5 * USEC_PER_SEC,    10 * USEC_PER_SEC,   30 * USEC_PER_SEC,
        };
        Watch *watch = &manager->watch;

        if (!has_ended_units(manager))
                watch->n_unit_looks = 0;
        else if (watch->n_unit_looks < ARRAY_LEN(pauses_usec))
                arm_units(manager, pauses_usec[watch->n_unit_looks++]);
}

static bool has_cover(const Plan *plan) {
        for (size_t i = 0; i < plan->n_pools; i++)
                if (plan->pools[i].cover_pages > 0)
                        return true;
        return false;
}

/* The kernel does not tell when units touch their pages, nor so when a pool need not be larger for them
 * any more. */
static void look_at_promises_again(Manager *manager) {
        const Look *look = keeper_look(manager->keeper);

        if (look->use->is_moving)
                arm_units(manager, moving_usec);
        else if (has_cover(look->plan))
                arm_units(manager, cover_usec);
}

static void verify(Manager *manager) {
        Watch *watch = &manager->watch;
        bool has_memory = watch->has_hotplug, wants_repair;

        if (keeper_is_working(manager->keeper)) { /* what came in between is looked at after it */
                arm_settle(manager, hotplug_settle_usec);
                return;
        }
        watch->has_hotplug = false;
        bool has_begun =
                keeper_verify(manager->keeper, has_memory, false, clock_now_usec(), &wants_repair);

        if (wants_repair && may_repair(watch)) {
                clients_notify_subscribers(manager); /* who watches is to see what was lost */
                uint64_t now = clock_now_usec();

                if (watch->repaired_usec == 0 ||
                    now - watch->repaired_usec > repair_pause_max_usec * 2)
                        watch->repair_pause_usec = repair_pause_min_usec;
                else
                        watch->repair_pause_usec =
                                MIN(watch->repair_pause_usec * 2, repair_pause_max_usec);
                watch->repaired_usec = now;
                has_begun = keeper_verify(manager->keeper, has_memory, true, clock_now_usec(),
                                          &wants_repair);
        }
        if (has_begun) {
                manager_work(manager);
                return;
        }
        if (wants_repair)
                arm_settle(manager, watch->repair_pause_usec);
        look_at_units_again(manager);
        look_at_promises_again(manager);
        manager_tell_news(manager); /* "lost" is seen at once */
}

static int on_settled(sd_event_source *source, uint64_t usec, void *userdata) {
        Manager *manager = userdata;
        Watch *watch = &manager->watch;

        (void) usec;
        if (source == watch->units_timer)
                watch->units_timer = sd_event_source_disable_unref(source);
        else
                watch->settle_timer = sd_event_source_disable_unref(source);
        verify(manager);
        return 0;
}

static void arm_units(Manager *manager, uint64_t delay_usec) {
        uint64_t at = clock_now_usec() + delay_usec, armed;

        if (!manager->watch.units_timer)
                manager_need(manager,
                             sd_event_add_time(manager->event, &manager->watch.units_timer,
                                               CLOCK_BOOTTIME, at, 0, on_settled, manager));
        else if (sd_event_source_get_time(manager->watch.units_timer, &armed) >= 0 && at < armed)
                sd_event_source_set_time(manager->watch.units_timer, at);
}

/* Later than it is set already, never sooner: a pause between two repairs is not cut short. */
static void arm_settle(Manager *manager, uint64_t delay_usec) {
        Watch *watch = &manager->watch;
        uint64_t now = clock_now_usec(), at = now + delay_usec, armed;

        if (!watch->settle_timer) {
                watch->settle_latest_usec = now + settle_max_usec;
                manager_need(manager,
                             sd_event_add_time(manager->event, &watch->settle_timer, CLOCK_BOOTTIME,
                                               at, 0, on_settled, manager));
                return;
        }
        at = MIN(at, watch->settle_latest_usec);
        if (sd_event_source_get_time(watch->settle_timer, &armed) >= 0 && armed < at)
                sd_event_source_set_time(watch->settle_timer, at);
}

/* ---- files ---- */

static int on_written(sd_event_source *source, const struct inotify_event *event, void *userdata) {
        (void) source;
        (void) event;
        arm_settle(userdata, settle_usec);
        return 0;
}

static int on_host_written(sd_event_source *source, const struct inotify_event *event,
                           void *userdata) {
        Manager *manager = userdata;

        if (event->mask & IN_MODIFY) /* not the end of the watch */
                keeper_note_host_written(manager->keeper, clock_now_usec());
        return on_written(source, event, userdata);
}

static void watch_file(Manager *manager, Arena *arena, const char *path,
                       sd_event_inotify_handler_t handler) {
        Watch *watch = &manager->watch;
        sd_event_source *source;

        if (watch->n_files == ARRAY_LEN(watch->files) || !root_exists(manager->root, path))
                return;
        if (sd_event_add_inotify(manager->event, &source, root_path(arena, manager->root, path),
                                 IN_MODIFY, handler, manager) >= 0)
                watch->files[watch->n_files++] = source;
}

static void unwatch_files(Watch *watch) {
        while (watch->n_files > 0)
                sd_event_source_disable_unref(watch->files[--watch->n_files]);
}

/* The host's own file, and one of each node. */
static void watch_pools(Manager *manager, Arena *arena, const Topology *topology, uint64_t bytes) {
        watch_file(manager, arena,
                   arena_printf(arena,
                                PATH_HUGEPAGES "/" NAME_HUGEPAGES_DIR "%" PRIu64 "kB/nr_hugepages",
                                bytes / KIB),
                   on_host_written);
        for (size_t i = 0; i < topology->n_nodes && topology->is_numa; i++)
                watch_file(manager, arena,
                           probe_pool_path(arena, topology, topology->nodes[i].id, bytes,
                                           "nr_hugepages"),
                           on_written);
}

/* Every file through which a pool or the policy can be changed: a write to one does not show on
 * the others. */
static void watch_files(Manager *manager, const Topology *topology) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        watch_file(manager, arena, PATH_NR_HUGEPAGES, on_host_written);
        watch_file(manager, arena, PATH_NR_HUGEPAGES_MEMPOLICY, on_host_written);
        for (size_t k = 0; k < topology->n_page_sizes; k++)
                watch_pools(manager, arena, topology, topology->page_sizes[k].bytes);
        watch_file(manager, arena, PATH_SHMMAX, on_written);
        watch_file(manager, arena, PATH_SHMALL, on_written);
        watch_file(manager, arena, PATH_HUGETLB_SHM_GROUP, on_written);
        watch_file(manager, arena, PATH_THP_ENABLED, on_written);
        watch_file(manager, arena, PATH_THP_SHMEM, on_written);
        watch_file(manager, arena, PATH_THP_DEFRAG, on_written);
        watch_file(manager, arena, PATH_THP_MAX_PTES_NONE, on_written);
        VEC_FOREACH(size, &topology->thp_sizes) {
                const char *directory = arena_printf(
                        arena, PATH_THP "/" NAME_HUGEPAGES_DIR "%" PRIu64 "kB", size->bytes / KIB);

                watch_file(manager, arena, arena_printf(arena, "%s/enabled", directory),
                           on_written);
                watch_file(manager, arena, arena_printf(arena, "%s/shmem_enabled", directory),
                           on_written);
        }
}

static void refresh_files(Manager *manager) {
        Watch *watch = &manager->watch;
        const Topology *topology = keeper_look(manager->keeper)->topology;
        IdSet nodes = {};

        for (size_t i = 0; i < topology->n_nodes; i++)
                id_set_add(&nodes, topology->nodes[i].id);
        if (watch->n_files > 0 && id_set_equals(&nodes, &watch->nodes))
                return;
        unwatch_files(watch);
        watch->nodes = nodes;
        watch_files(manager, topology);
}

/* ---- units that run ---- */

static int on_unit_changed(sd_event_source *source, const struct inotify_event *event,
                           void *userdata) {
        Manager *manager = userdata;

        (void) source;
        (void) event;
        manager->watch.n_unit_looks = 0;
        arm_units(manager, unit_settle_usec);
        return 0;
}

static void unwatch_unit(WatchedUnit *unit) {
        sd_event_source_disable_unref(unit->source);
        free(unit->name);
}

static bool is_watched(const Watch *watch, const char *name) {
        for (size_t i = 0; i < watch->n_units; i++)
                if (text_equals(watch->units[i].name, name))
                        return true;
        return false;
}

/* Whether the group has processes is told by its cgroup.events: cgroup-v2.rst. A unit that was started
 * anew has a new group. */
static void watch_unit(Manager *manager, Arena *arena, const char *name) {
        Watch *watch = &manager->watch;
        const char *group = unit_cgroup_find(manager->root, arena, name);
        const char *path = arena_printf(arena, "%s/cgroup.events", group ? group : "");
        WatchedUnit unit = {.name = strdup(name)}, *units;

        if (!unit.name || !group ||
            sd_event_add_inotify(manager->event, &unit.source,
                                 root_path(arena, manager->root, path), IN_MODIFY | IN_DELETE_SELF,
                                 on_unit_changed, manager) < 0) {
                unwatch_unit(&unit);
                return;
        }
        units = realloc(watch->units, (watch->n_units + 1) * sizeof(*units));
        if (!units) {
                unwatch_unit(&unit);
                return;
        }
        watch->units = units;
        watch->units[watch->n_units++] = unit;
}

static void refresh_units(Manager *manager) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Watch *watch = &manager->watch;
        SourceNames units = keeper_units(manager->keeper, arena);
        size_t n = 0;

        for (size_t i = 0; i < watch->n_units; i++)
                if (source_names_have(&units, watch->units[i].name))
                        watch->units[n++] = watch->units[i];
                else
                        unwatch_unit(&watch->units[i]);
        watch->n_units = n;
        VEC_FOREACH(unit, &units)
                if (!is_watched(watch, *unit))
                        watch_unit(manager, arena, *unit);
}

void watch_unit_anew(Manager *manager, const char *name) {
        Watch *watch = &manager->watch;
        size_t n = 0;

        for (size_t i = 0; i < watch->n_units; i++)
                if (text_equals(watch->units[i].name, name))
                        unwatch_unit(&watch->units[i]);
                else
                        watch->units[n++] = watch->units[i];
        watch->n_units = n;
        refresh_units(manager);
}

void watch_refresh(Manager *manager) {
        refresh_files(manager);
        refresh_units(manager);
        look_at_promises_again(manager);
}

bool watch_is_settling(const Manager *manager) {
        return manager->watch.settle_timer &&
               keeper_config(manager->keeper)->host.on_drift == DRIFT_REPAIR;
}

/* ---- memory that comes and goes ---- */

/* "ACTION@PATH" and then "KEY=VALUE", each ended by NUL; kobject_uevent.c. */
static bool is_memory_event(const char *message, size_t size) {
        for (const char *at = message; at < message + size; at += strlen(at) + 1)
                if (strcmp(at, "SUBSYSTEM=memory") == 0 || strcmp(at, "SUBSYSTEM=node") == 0)
                        return true;
        return false;
}

static int on_uevent(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        Manager *manager = userdata;
        struct sockaddr_nl sender;
        socklen_t sender_size = sizeof(sender);
        char message[8192];
        ssize_t size = recvfrom(fd, message, sizeof(message) - 1, MSG_DONTWAIT,
                                (struct sockaddr *) &sender, &sender_size);

        (void) source;
        (void) events;
        bool is_lost = size < 0 && errno == ENOBUFS; /* more blocks at once than the socket holds */

        if (!is_lost && (size <= 0 || sender_size < sizeof(sender) || sender.nl_pid != 0))
                return 0; /* only the kernel is believed */
        message[MAX(size, 0)] = '\0';
        if (is_lost || is_memory_event(message, (size_t) size)) {
                manager->watch.has_hotplug = true;
                arm_settle(manager, hotplug_settle_usec);
        }
        return 0;
}

static void watch_uevents(Manager *manager) {
        const struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = 1};
        int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                        NETLINK_KOBJECT_UEVENT);

        if (fd < 0)
                return;
        if (bind(fd, (const struct sockaddr *) &address, sizeof(address)) < 0 ||
            sd_event_add_io(manager->event, &manager->watch.uevents, fd, EPOLLIN, on_uevent,
                            manager) < 0) {
                close(fd);
                return;
        }
        sd_event_source_set_io_fd_own(manager->watch.uevents, true);
}

/* ---- the slow timer ---- */

static int on_slow(sd_event_source *source, uint64_t usec, void *userdata) {
        (void) usec;
        verify(userdata);
        manager_need(userdata, sd_event_source_set_time_relative(source, slow_usec));
        manager_need(userdata, sd_event_source_set_enabled(source, SD_EVENT_ONESHOT));
        return 0;
}

void watch_start(Manager *manager) {
        manager_need(manager, sd_event_add_time_relative(manager->event, &manager->watch.slow_timer,
                                                         CLOCK_BOOTTIME, slow_usec, slow_slack_usec,
                                                         on_slow, manager));
        if (root_is_host(manager->root))
                watch_uevents(manager);
}

void watch_stop(Manager *manager) {
        unwatch_files(&manager->watch);
        for (size_t i = 0; i < manager->watch.n_units; i++)
                unwatch_unit(&manager->watch.units[i]);
        free(manager->watch.units);
        sd_event_source_disable_unref(manager->watch.settle_timer);
        sd_event_source_disable_unref(manager->watch.units_timer);
        sd_event_source_disable_unref(manager->watch.slow_timer);
        sd_event_source_disable_unref(manager->watch.uevents);
}
