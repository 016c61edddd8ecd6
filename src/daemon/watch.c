/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Watches for external changes. The kernel has no event for a pool's size: inotify tells of writers in the same /sys and
 * /proc (sysctl, systemd-sysctl, tuned, echo), uevents of memory that is plugged or pulled, and a slow timer finds the
 * rest (soft-offlined pages, writers in other mount namespaces). The reaction is always to look again, and to raise pools
 * that were lowered. */
#include "daemon/watch.h"

#include "base/index.h"
#include "base/text.h"
#include "config/config.h"
#include "host/unit_cgroup.h"
#include "model/names.h"
#include "runtime/clock.h"
#include "runtime/log.h"

#include <errno.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <unistd.h>

/* Events come in bursts: one run of sysctl or tuned writes several files, one DIMM has many blocks. In the middle of a
 * burst, moved pages look like pages of other programs, so the look follows its last event, or a limit of time. */
static const uint64_t settle_usec = 500 * USEC_PER_MSEC;
static const uint64_t hotplug_settle_usec = USEC_PER_SEC;
static const uint64_t unit_settle_usec = 50 * USEC_PER_MSEC;
static const uint64_t settle_max_usec = 5 * USEC_PER_SEC;
static const uint64_t moving_usec = USEC_PER_SEC;
static const uint64_t cover_usec = 60 * USEC_PER_SEC;
static const uint64_t count_usec = 5 * USEC_PER_SEC; /* use may change this long after a start */
static const uint64_t rest_usec = 50 * USEC_PER_SEC;
static const uint64_t pause_min_usec = 100 * USEC_PER_MSEC;
static const uint64_t slow_usec = 600 * USEC_PER_SEC;
static const uint64_t repair_pause_min_usec = USEC_PER_SEC;
static const uint64_t repair_pause_max_usec = 300 * USEC_PER_SEC;

/* ---- looking again ---- */

static void arm_settle(Watch *watch, uint64_t delay_usec);
static void arm_units(Watch *watch, uint64_t delay_usec);

/* The time until the next look, while something goes on for whose end there is no event. Each pause is as long as all
 * before it, measured from SINCE_USEC, because a starting unit causes any number of looks. 0: no more are needed. */
static uint64_t pause_after(uint64_t since_usec) {
        uint64_t passed_usec = clock_now_usec() - since_usec;

        return since_usec > 0 && passed_usec < rest_usec ? MAX(passed_usec, pause_min_usec) : 0;
}

/* A unit's group is also empty between two commands. The kernel has no event for its removal after the unit's stop. */
static void look_at_units_again(Watch *watch) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        SourceNames units = keeper_units(watch->keeper, arena);

        if (!VEC_FIND(unit, &units, !unit_cgroup_is_populated(watch->root, *unit)))
                watch->units.ended_usec = clock_now_usec();
        else if (pause_after(watch->units.ended_usec) > 0)
                arm_units(watch, pause_after(watch->units.ended_usec));
}

/* The kernel has no event for units that map or touch pages, by which pools may have to grow or can shrink. */
static void look_at_promises_again(Watch *watch) {
        const Look *look = keeper_look(watch->keeper);
        const Plan *plan = look->plan;
        const Topology *topology = look->topology;
        uint64_t pause_usec = pause_after(watch->units.started_usec);
        /* An instance is bound to nodes while units have pages reserved that they have not touched yet, or will have. */
        bool is_cover_needed =
                (pause_usec > 0 || ARRAY_ANY(size, topology->page_sizes, topology->n_page_sizes,
                                             size->reserved_pages > 0)) &&
                (VEC_ANY(hold, &look->ledger->holds, hold->policy.kind == MEMORY_POLICY_BIND) ||
                 ARRAY_ANY(instance, plan->instances, plan->n_instances,
                           instance->pages_granted > 0 &&
                                   instance->demand->policy.kind == MEMORY_POLICY_BIND));
        /* An instance has a part, of which pages are given back when a node falls below KeepFree=. */
        bool has_part = ARRAY_ANY(instance, plan->instances, plan->n_instances,
                                  instance->pages_granted > 0 && plan_instance_is_short(instance) &&
                                          instance->demand->config->shortage == SHORTAGE_DEGRADE);

        if (look->use->is_moving || keeper_waits_for_end(watch->keeper))
                arm_units(watch, moving_usec);
        if (is_cover_needed || has_part)
                arm_units(watch, pause_usec > 0 ? pause_usec : cover_usec);
        else if (ARRAY_ANY(pool, plan->pools, plan->n_pools, pool->cover_pages > 0))
                arm_units(watch, cover_usec);
        if (keeper_is_counting(watch->keeper, pause_usec > 0))
                arm_units(watch, pause_usec > 0 ? count_usec : cover_usec);
}

static void verify(void *userdata) {
        Watch *watch = userdata;
        bool has_memory = watch->hotplug.is_seen, wants_repair;

        arm_units(watch, slow_usec);
        if (keeper_is_working(watch->keeper)) { /* later events are handled after the round */
                arm_settle(watch, hotplug_settle_usec);
                return;
        }
        watch->hotplug.is_seen = false;
        uint64_t now = clock_now_usec();
        bool has_begun = keeper_verify(watch->keeper, has_memory, false, now, &wants_repair);

        /* A program that keeps changing a pool must not be answered without end. */
        if (wants_repair && (watch->repair.ended_usec == 0 ||
                             now - watch->repair.ended_usec >= watch->repair.pause_usec)) {
                watch->listener(watch->userdata, WATCH_LOST);
                if (watch->repair.ended_usec == 0 ||
                    now - watch->repair.ended_usec > repair_pause_max_usec * 2)
                        watch->repair.pause_usec = repair_pause_min_usec;
                else
                        watch->repair.pause_usec =
                                MIN(watch->repair.pause_usec * 2, repair_pause_max_usec);
                watch->repair.ended_usec = now;
                has_begun = keeper_verify(watch->keeper, has_memory, true, now, &wants_repair);
        }
        if (has_begun) {
                watch->listener(watch->userdata, WATCH_BEGUN);
                return;
        }
        if (wants_repair)
                arm_settle(watch, watch->repair.pause_usec);
        watch->listener(watch->userdata, WATCH_LOOKED); /* the verdict "lost" is reported at once */
        look_at_units_again(watch);
        look_at_promises_again(watch);
}

/* Sets the timer earlier, never later. */
static void arm_units(Watch *watch, uint64_t delay_usec) {
        uint64_t at = clock_now_usec() + delay_usec;

        if (!loop_is_set(&watch->looks) || at < watch->looks.at_usec)
                loop_set(watch->loop, &watch->looks, at, verify, watch);
}

void watch_look_soon(Watch *watch) {
        arm_units(watch, 0);
}

void watch_note_start(Watch *watch) {
        watch->units.started_usec = clock_now_usec();
        look_at_promises_again(watch);
}

/* Sets the timer later, never earlier, so that a pause between two repairs is not cut short. */
static void arm_settle(Watch *watch, uint64_t delay_usec) {
        uint64_t now = clock_now_usec(), at = now + delay_usec;

        if (!loop_is_set(&watch->settle.timer))
                watch->settle.latest_usec = now + settle_max_usec;
        else
                at = MAX(MIN(at, watch->settle.latest_usec), watch->settle.timer.at_usec);
        loop_set(watch->loop, &watch->settle.timer, at, verify, watch);
}

/* ---- files ---- */

/* Returns -1 if the path does not exist or cannot be watched. */
static int watch_path(const Watch *watch, const char *path, uint32_t events) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        return inotify_add_watch(watch->files.fd, root_path(arena, watch->root, path), events);
}

static void watch_file(Watch *watch, const char *path, bool is_of_host) {
        int number = watch->files.n < ARRAY_LEN(watch->files.items)
                             ? watch_path(watch, path, IN_MODIFY)
                             : -1;

        if (number >= 0)
                watch->files.items[watch->files.n++] = (WatchedFile){number, is_of_host};
}

/* Watches every file through which a pool or the policy can be changed, because a write to one gives no event on the
 * others. For transparent huge pages the directories are watched, which is cheaper than a watch for each file. */
static void watch_files(Watch *watch, const Topology *topology) {
        static const char *const others[] = {
                PATH_SHMMAX, PATH_SHMALL, PATH_HUGETLB_SHM_GROUP, PATH_THP, PATH_THP "/khugepaged",
        };
        CLEANUP(arena_freep) Arena *arena = arena_new();

        watch_file(watch, PATH_NR_HUGEPAGES, true);
        watch_file(watch, PATH_NR_HUGEPAGES_MEMPOLICY, true);
        ARRAY_FOREACH(size, topology->page_sizes, topology->n_page_sizes) {
                watch_file(watch,
                           page_size_path(arena, PATH_HUGEPAGES, size->bytes, "nr_hugepages"),
                           true);
                ARRAY_FOREACH(node, topology->nodes, topology->is_numa ? topology->n_nodes : 0)
                        watch_file(watch,
                                   topology_pool_path(arena, topology, node->id, size->bytes,
                                                      "nr_hugepages"),
                                   false);
        }
        ARRAY_FOREACH(path, others, ARRAY_LEN(others))
                watch_file(watch, *path, false);
        VEC_FOREACH(size, &topology->thp_sizes)
                watch_file(watch, page_size_path(arena, PATH_THP, size->bytes, ""), false);
}

/* ---- units that run ---- */

void watch_refresh_units(Watch *watch) {
        CLEANUP(arena_freep) Arena *scratch = arena_new();
        Arena *arena = arena_new();
        SourceNames units = keeper_units(watch->keeper, scratch);
        Index *running = INDEX_OF(scratch, unit, units.items, units.n, *unit);
        Index *watched = index_new(scratch), *groups = NULL;
        typeof(watch->units.list) all = {};

        VEC_FOREACH(unit, &watch->units.list) {
                if (!index_find(running, unit->name)) {
                        inotify_rm_watch(
                                watch->files.fd,
                                unit->number); /* the kernel removes the watch with the group */
                        continue;
                }
                *vec_push(arena, &all) =
                        (WatchedUnit){arena_strdup(arena, unit->name), unit->number};
                index_add(watched, unit->name, "");
        }
        VEC_FOREACH(unit, &units) {
                if (index_find(watched, *unit))
                        continue;
                groups = groups ? groups : unit_cgroup_all(watch->root, scratch);
                /* cgroup.events (cgroup-v2.rst) changes when a group's last process has ended. */
                const char *group = index_find(groups, *unit);
                int number = group ? watch_path(watch,
                                                arena_printf(scratch, "%s/cgroup.events", group),
                                                IN_MODIFY | IN_DELETE_SELF)
                                   : -1;

                if (number >= 0)
                        *vec_push(arena, &all) = (WatchedUnit){arena_strdup(arena, *unit), number};
                index_add(watched, *unit, "");
        }
        arena_free(watch->units.arena);
        watch->units.arena = arena;
        watch->units.list = all;
}

void watch_forget_unit(Watch *watch, const char *name) {
        const WatchedUnit *unit = VEC_FIND(each, &watch->units.list, text_equals(each->name, name));

        if (unit)
                inotify_rm_watch(watch->files.fd, unit->number);
        VEC_KEEP(each, &watch->units.list, !text_equals(each->name, name));
}

void watch_refresh(Watch *watch) {
        const Topology *topology = keeper_look(watch->keeper)->topology;
        const IdSet nodes = topology_all_nodes(topology);

        if (watch->files.n == 0 || !id_set_equals(&nodes, &watch->files.nodes) ||
            watch->files.n_thp_sizes != topology->thp_sizes.n) {
                while (watch->files.n > 0)
                        inotify_rm_watch(watch->files.fd,
                                         watch->files.items[--watch->files.n].number);
                watch->files.nodes = nodes;
                watch->files.n_thp_sizes = topology->thp_sizes.n;
                watch_files(watch, topology);
        }
        /* systemd-sysusers and groupdel(8) replace the file, so its directory is watched. */
        if (config_needs_group(keeper_config(watch->keeper)) != (watch->files.accounts != 0)) {
                if (watch->files.accounts > 0)
                        inotify_rm_watch(watch->files.fd, watch->files.accounts);
                watch->files.accounts =
                        watch->files.accounts ? 0 : watch_path(watch, PATH_ETC, IN_MOVED_TO);
        }
        watch_refresh_units(watch);
        look_at_promises_again(watch);
}

void watch_expect_repair(Watch *watch) {
        if (!loop_is_set(&watch->settle.timer))
                arm_settle(watch, settle_usec);
}

bool watch_is_settling(const Watch *watch) {
        return loop_is_set(&watch->settle.timer) &&
               keeper_config(watch->keeper)->host.on_drift == DRIFT_REPAIR;
}

/* ---- what was written ---- */

static void on_changed(Watch *watch, const struct inotify_event *event) {
        const WatchedFile *file =
                ARRAY_FIND(each, watch->files.items, watch->files.n, each->number == event->wd);
        bool is_lost = event->mask & IN_Q_OVERFLOW; /* lost events may be of any file */

        if (is_lost || (file && file->is_of_host && event->mask & IN_MODIFY))
                keeper_note_host_written(watch->keeper, clock_now_usec());
        bool is_group = event->wd == watch->files.accounts && event->len > 0 &&
                        text_equals(event->name, text_base_name(PATH_GROUP));

        if (is_lost || file || is_group)
                arm_settle(watch, settle_usec);
        if (is_lost || VEC_ANY(unit, &watch->units.list, unit->number == event->wd)) {
                watch->units.ended_usec = clock_now_usec();
                arm_units(watch, unit_settle_usec);
        }
}

static void on_inotify(void *userdata, uint32_t events UNUSED) {
        _Alignas(struct inotify_event) char buffer[4096];
        ssize_t size = read(((Watch *) userdata)->files.fd, buffer, sizeof(buffer));

        for (ssize_t at = 0; at < size;) {
                const struct inotify_event *event = (const void *) (buffer + at);

                on_changed(userdata, event);
                at += (ssize_t) (sizeof(*event) + event->len);
        }
}

/* Adds FD to the loop, or closes it on failure; without it the slow timer remains. */
static int watch_fd(Watch *watch, LoopIo *io, int fd, LoopIoHandler handler) {
        if (fd >= 0 && loop_watch(watch->loop, io, fd, EPOLLIN, handler, watch) == 0)
                return fd;
        if (fd >= 0)
                close(fd);
        return -1;
}

/* ---- memory that comes and goes ---- */

static void on_uevent(void *userdata, uint32_t events UNUSED) {
        Watch *watch = userdata;
        struct sockaddr_nl sender;
        socklen_t sender_size = sizeof(sender);
        char message[8192];
        ssize_t size = recvfrom(watch->hotplug.io.fd, message, sizeof(message) - 1, MSG_DONTWAIT,
                                (struct sockaddr *) &sender, &sender_size);

        bool is_lost = size < 0 && errno == ENOBUFS; /* the socket has overflowed */

        if (!is_lost && (size <= 0 || sender_size < sizeof(sender) || sender.nl_pid != 0))
                return; /* messages from user space are ignored */
        bool is_about_memory = is_lost;

        message[MAX(size, 0)] = '\0';
        /* "ACTION@PATH" and then "KEY=VALUE", each ended by NUL; kobject_uevent.c. */
        for (const char *at = message; at < message + size; at += strlen(at) + 1)
                is_about_memory |= TEXT_IS_ANY(at, "SUBSYSTEM=memory", "SUBSYSTEM=node");
        if (is_about_memory) {
                watch->hotplug.is_seen = true;
                arm_settle(watch, hotplug_settle_usec);
        }
}

void watch_start(Watch *watch) {
        const struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = 1};

        watch->units.ended_usec = clock_now_usec();
        arm_units(watch, slow_usec);
        watch->files.fd = watch_fd(watch, &watch->files.io, inotify_init1(IN_CLOEXEC | IN_NONBLOCK),
                                   on_inotify);
        int fd = root_is_host(watch->root)
                         ? socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                                  NETLINK_KOBJECT_UEVENT)
                         : -1;

        if (fd >= 0 && bind(fd, (const struct sockaddr *) &address, sizeof(address)) < 0) {
                close(fd);
                fd = -1;
        }
        watch_fd(watch, &watch->hotplug.io, fd, on_uevent);
}

static void unwatch_fd(LoopIo *io) {
        int fd = io->loop ? io->fd : -1;

        loop_unwatch(io);
        if (fd >= 0)
                close(fd);
}

void watch_stop(Watch *watch) {
        arena_free(watch->units.arena);
        loop_unset(&watch->settle.timer);
        loop_unset(&watch->looks);
        unwatch_fd(&watch->files.io); /* closes all watches */
        unwatch_fd(&watch->hotplug.io);
}
