/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Keeps the plan true: others write to the same files, and memory comes and goes.
 *
 * The kernel has no event for a pool's size. inotify tells of writers in the same /sys and /proc
 * (sysctl, systemd-sysctl, tuned, echo), kernel uevents of memory that is plugged or pulled, and a
 * slow timer finds what neither tells (soft-offlined pages, writers in other mount namespaces).
 * Whatever it was, the answer is the same: look again, and repair upwards. */
#include "daemon/journal.h"
#include "daemon/manager.h"
#include "host/clock.h"
#include "host/probe.h"
#include "inspect/culprits.h"
#include "model/names.h"
#include "model/problem.h"
#include "plan/drift.h"

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
static const uint64_t settle_max_usec = 5 * USEC_PER_SEC;
static const uint64_t slow_usec = 600 * USEC_PER_SEC;
static const uint64_t slow_slack_usec = 120 * USEC_PER_SEC;
/* Who fights over a pool must not be fought without end. */
static const uint64_t repair_pause_min_usec = USEC_PER_SEC;
static const uint64_t repair_pause_max_usec = 300 * USEC_PER_SEC;

/* ---- looking again ---- */

static bool may_repair(Manager *manager) {
        Watch *watch = &manager->watch;
        uint64_t now = clock_now_usec(), since = now - watch->repaired_usec;

        if (watch->repaired_usec > 0 && since < watch->repair_pause_usec)
                return false;
        if (watch->repaired_usec == 0 || since > repair_pause_max_usec * 2)
                watch->repair_pause_usec = repair_pause_min_usec;
        else
                watch->repair_pause_usec = MIN(watch->repair_pause_usec * 2, repair_pause_max_usec);
        watch->repaired_usec = now;
        return true;
}

/* Who has done it, as far as a file of the host explains it; else NULL. The kernel command line acts
 * before anybody watches. */
static const Culprit *suspect(const Manager *manager, Arena *arena, const Culprits *culprits,
                              const Topology *now, const Drift *drift) {
        const Culprit *culprit;
        char *shown = NULL;

        if (drift->kind == DRIFT_HOST &&
            root_read_attribute(manager->root, arena, drift->path, &shown) < 0)
                return NULL;
        culprit = drift->kind == DRIFT_HOST
                          ? culprit_for_path(culprits, drift->path, shown)
                          : culprit_for_pool(culprits, now, drift->node, drift->page_size_bytes);
        return culprit && culprit->source != CULPRIT_KERNEL_COMMAND_LINE ? culprit : NULL;
}

static void tell_drift(const Drift *drift, const Culprit *culprit) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const char *text = drift_format(arena, drift);

        journal_event(drift_wants_repair(drift) ? LOG_WARNING : LOG_NOTICE,
                      problem_id(PROBLEM_DRIFT), NULL,
                      culprit ? arena_printf(arena, "drift: %s; likely because of %s", text,
                                             culprit_format(arena, culprit))
                              : arena_printf(arena, "drift: %s", text));
}

/* How many there are to repair. */
static size_t tell_drifts(const Manager *manager, Arena *arena, const Drifts *drifts,
                          const Topology *now) {
        const Culprits *culprits = drifts->n > 0 ? culprits_find(manager->root, arena, now) : NULL;
        size_t n_repairable = 0;

        VEC_FOREACH(drift, drifts) {
                n_repairable += drift_wants_repair(drift);
                tell_drift(drift, suspect(manager, arena, culprits, now, drift));
        }
        return n_repairable;
}

/* Whether memory that has come may help somebody: who is short, or whose node was not there. */
static bool waits_for_memory(const Plan *plan) {
        for (size_t i = 0; i < plan->n_instances; i++)
                if (plan->instances[i].reason.kind == REASON_NODE_ABSENT)
                        return true;
        return plan_is_short(plan);
}

static void arm_settle(Manager *manager, uint64_t delay_usec);

void manager_verify(Manager *manager) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Watch *watch = &manager->watch;
        Diags ignored = diags_in(arena);

        if (manager->is_held_back)
                return;
        if (manager->phase == PHASE_RESERVING) { /* what came in between is looked at after it */
                arm_settle(manager, hotplug_settle_usec);
                return;
        }

        const Topology *now = probe_topology(manager->root, arena);
        HostPlan host =
                host_plan_read(manager->root, arena, manager->config, manager->plan, now, &ignored);
        Drifts drifts = drift_find(arena, manager->plan, manager->ledger, now, &host);
        size_t n_repairable = tell_drifts(manager, arena, &drifts, now);
        bool has_new_memory = watch->has_hotplug && waits_for_memory(manager->plan);

        watch->has_hotplug = false;
        /* Pages that others have added are found ones from now on, and never lowered. */
        n_repairable += manager_observe(manager, now) > 0;
        if (drifts.n > 0)
                manager_notify_subscribers(manager); /* "lost" is seen at once */
        if (n_repairable == 0 && !has_new_memory)
                return;
        if (n_repairable > 0 && manager->config->host.on_drift == DRIFT_REPORT)
                return;
        if (has_new_memory || may_repair(manager))
                manager_begin_round(manager);
        else
                arm_settle(manager, watch->repair_pause_usec);
}

static int on_settled(sd_event_source *source, uint64_t usec, void *userdata) {
        Manager *manager = userdata;

        (void) source;
        (void) usec;
        manager->watch.settle_timer = sd_event_source_disable_unref(manager->watch.settle_timer);
        manager_verify(manager);
        return 0;
}

/* Later than it is set already, never sooner: a pause between two repairs is not cut short. */
static void arm_settle(Manager *manager, uint64_t delay_usec) {
        Watch *watch = &manager->watch;
        uint64_t now = clock_now_usec(), at = now + delay_usec, armed;

        if (!watch->settle_timer) {
                watch->settle_latest_usec = now + settle_max_usec;
                sd_event_add_time(manager->event, &watch->settle_timer, CLOCK_BOOTTIME, at, 0,
                                  on_settled, manager);
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
                manager->watch.host_written_usec = clock_now_usec();
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

static IdSet node_set(const Topology *topology) {
        IdSet nodes = {};

        for (size_t i = 0; i < topology->n_nodes; i++)
                id_set_add(&nodes, topology->nodes[i].id);
        return nodes;
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

void manager_watch_refresh(Manager *manager) {
        Watch *watch = &manager->watch;
        IdSet nodes = node_set(manager->topology);

        if (watch->n_files > 0 && memcmp(&nodes, &watch->nodes, sizeof(nodes)) == 0)
                return;
        unwatch_files(watch);
        watch->nodes = nodes;
        watch_files(manager, manager->topology);
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
        manager_verify(userdata);
        sd_event_source_set_time_relative(source, slow_usec);
        sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
        return 0;
}

void manager_watch_start(Manager *manager) {
        sd_event_add_time_relative(manager->event, &manager->watch.slow_timer, CLOCK_BOOTTIME,
                                   slow_usec, slow_slack_usec, on_slow, manager);
        if (root_is_host(manager->root))
                watch_uevents(manager);
}

void manager_watch_stop(Manager *manager) {
        unwatch_files(&manager->watch);
        sd_event_source_disable_unref(manager->watch.settle_timer);
        sd_event_source_disable_unref(manager->watch.slow_timer);
        sd_event_source_disable_unref(manager->watch.uevents);
}
