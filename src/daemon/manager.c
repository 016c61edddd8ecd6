/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/manager.h"

#include "base/memory.h"
#include "base/text.h"
#include "daemon/alive.h"
#include "daemon/clients.h"
#include "daemon/socket_file.h"
#include "host/config_load.h"
#include "host/mounts.h"
#include "host/probe.h"
#include "host/unit_facts.h"
#include "model/names.h"
#include "runtime/clock.h"
#include "runtime/log.h"
#include "systemd/dropin_check.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

static const uint64_t retry_delay_min_usec = 5 * USEC_PER_SEC;
static const uint64_t retry_delay_max_usec = 60 * USEC_PER_SEC;

static void begin_reload(Manager *manager);

/* ---- telling the service manager ---- */

static void tell_ready(Manager *manager, const Status *status) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Text text = text_in(arena);
        size_t n_start = 0;

        for (size_t i = 0; i < status->n_instances; i++) {
                const StatusInstance *instance = &status->instances[i];

                if (verdict_lets_start(instance->verdict))
                        n_start++;
                if (instance->verdict != VERDICT_READY)
                        text_printf(&text, "; %s %s", instance->name,
                                    verdict_name(instance->verdict));
        }

        sd_notifyf(0, "READY=1\nSTATUS=%s",
                   arena_printf(arena, "%zu of %zu instances may start%s", n_start,
                                status->n_instances, text_string(&text)));
        manager->is_ready_sent = true;
        manager->boot_timer = sd_event_source_disable_unref(manager->boot_timer);
}

static void on_event(void *userdata, const KeeperEvent *event) {
        watch_tell(userdata, event);
}

/* ---- what is so ---- */

Status *manager_judge(const Manager *manager, Arena *arena) {
        const Config *files = config_load(manager->root, arena, NULL);
        const Config *config = keeper_config(manager->keeper);
        Status *status = keeper_judge(manager->keeper, arena, manager_is_retrying(manager));
        /* Systemd's generator goes by the files as they are now. */
        const DropinInput input = dropin_input(manager->root, arena, files, HUGEPLANCTL);
        Dropins dropins = dropins_make(arena, &input);
        MountUnits mounts =
                mounts_of(manager->root, arena, config, keeper_look(manager->keeper)->topology);

        dropin_check(manager->root, &dropins, &status->problems);
        mounts_check(manager->root, &mounts, &status->problems);
        units_judge(manager, arena, files, &status->problems);
        return status;
}

void manager_need(Manager *manager, int error) {
        if (error >= 0)
                return;
        log_line(LOG_ERR, "the event loop cannot take more (%s): the daemon is to be started anew",
                 strerror(-error));
        sd_event_exit(manager->event, error);
}

bool manager_is_retrying(const Manager *manager) {
        return manager->retry_timer || watch_is_settling(manager);
}

void manager_tell_news(Manager *manager) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        /* A round tells it when it has ended. */
        if (keeper_is_working(manager->keeper) || keeper_is_held_back(manager->keeper))
                return;
        outcome_log(&manager->outcome, manager_judge(manager, arena));
        clients_notify_subscribers(manager);
}

/* ---- rounds ---- */

static int on_retry(sd_event_source *source, uint64_t usec, void *userdata) {
        Manager *manager = userdata;

        (void) source;
        (void) usec;
        manager->retry_timer = sd_event_source_disable_unref(manager->retry_timer);
        keeper_begin(manager->keeper, KEEPER_RETRY, clock_now_usec());
        manager_work(manager);
        return 0;
}

/* Something is short: try again later, less and less often, until ReserveTimeout= is over. */
static void schedule_retry(Manager *manager) {
        uint64_t delay = manager->retry_delay_usec;

        if (!keeper_wants_retry(manager->keeper, add_saturated(clock_now_usec(), delay)))
                return;
        manager_need(manager, sd_event_add_time_relative(manager->event, &manager->retry_timer,
                                                         CLOCK_BOOTTIME, delay, USEC_PER_SEC,
                                                         on_retry, manager));
        manager->retry_delay_usec = MIN(delay * 2, retry_delay_max_usec);
}

static void end_round(Manager *manager) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        manager->round_ended_usec = clock_now_usec();
        if (manager->is_reload_wanted) {
                begin_reload(manager);
                return;
        }
        schedule_retry(manager);
        watch_refresh(manager);
        clients_notify_gates(manager);          /* no database waits for what systemd says */
        if (keeper_is_working(manager->keeper)) /* a gate has begun another one */
                return;
        units_refresh_expired(manager);
        Status *status = manager_judge(manager, arena);

        outcome_log(&manager->outcome, status);
        tell_ready(manager, status);
        clients_notify(manager);
        /* A round leaves holes in the heap; what follows is a long quiet time. */
        malloc_trim(0);
}

void manager_work(Manager *manager) {
        if (write_worker_is_busy(manager->worker))
                return;
        manager->retry_timer = sd_event_source_disable_unref(manager->retry_timer);
        while (keeper_next(manager->keeper, clock_now_usec(), &manager->operation)) {
                CLEANUP(arena_freep) Arena *arena = arena_new();
                uint64_t done, all;

                alive_begin(manager);
                apply_progress(keeper_apply(manager->keeper), &done, &all);
                sd_notifyf(0, "STATUS=Reserving: %s of %s pages", format_count(arena, done),
                           format_count(arena, all));
                if (write_worker_start(manager->worker, manager->root, &manager->operation) == 0)
                        return;
                /* Without a thread the write is done here: clients wait, the database does not. */
                uint64_t start = clock_now_usec();
                int r = apply_perform(manager->root, &manager->operation);

                keeper_done(manager->keeper, &manager->operation, r, clock_now_usec() - start);
        }
        end_round(manager);
}

static int on_worker(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        Manager *manager = userdata;
        uint64_t usec;

        (void) source;
        (void) fd;
        (void) events;
        int r = write_worker_finish(manager->worker, &usec);

        keeper_done(manager->keeper, &manager->operation, r, usec);
        clients_notify_gates(manager);
        manager_work(manager);
        return 0;
}

void manager_begin_round(Manager *manager) {
        manager->retry_delay_usec = retry_delay_min_usec;
        keeper_begin(manager->keeper, KEEPER_FRESH, clock_now_usec());
        manager_work(manager);
}

/* ---- beginning ---- */

static int on_boot_timeout(sd_event_source *source, uint64_t usec, void *userdata) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Manager *manager = userdata;

        (void) source;
        (void) usec;
        log_line(LOG_NOTICE,
                 "BootTimeout= is used up; the rest is reserved while the boot goes on");
        tell_ready(manager, manager_judge(manager, arena));
        return 0;
}

void manager_start(Manager *manager) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        alive_begin(manager);
        keeper_start(manager->keeper);
        watch_start(manager);
        uint64_t boot_timeout_usec = keeper_config(manager->keeper)->host.boot_timeout_usec;

        if (boot_timeout_usec != UINT64_MAX)
                manager_need(manager, sd_event_add_time_relative(
                                              manager->event, &manager->boot_timer, CLOCK_BOOTTIME,
                                              boot_timeout_usec, 0, on_boot_timeout, manager));
        if (kernel_command_line_is_rescue(
                    keeper_look(manager->keeper)->topology->kernel_command_line)) {
                keeper_hold_back(manager->keeper);
                tell_ready(manager, manager_judge(manager, arena));
        } else {
                manager_begin_round(manager);
        }
        units_begin(manager);
}

/* ---- reload ---- */

static void begin_reload(Manager *manager) {
        bool is_forced = manager->is_reload_forced;

        manager->is_reload_wanted = manager->is_reload_forced = false;
        manager->retry_delay_usec = retry_delay_min_usec;
        units_expire(manager);
        sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, clock_read_usec(CLOCK_MONOTONIC));
        if (keeper_reload(manager->keeper, is_forced, clock_now_usec()) == KEEPER_RELOAD_BEGUN)
                manager_work(manager);
        else
                end_round(manager);
}

void manager_reload(Manager *manager, bool is_forced) {
        manager->is_reload_wanted = true;
        manager->is_reload_forced = manager->is_reload_forced || is_forced;
        if (keeper_is_working(manager->keeper))
                keeper_hurry(manager->keeper);
        else
                begin_reload(manager);
}

/* ---- sockets ---- */

static int on_server(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        Manager *manager = userdata;

        (void) source;
        (void) fd;
        (void) events;
        return varlink_server_dispatch(manager->server);
}

/* Without systemd's socket unit: the same socket, and the same link in the registry. */
static int bind_socket(Manager *manager) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        int r = root_make_directory(manager->root, PATH_RUNTIME);

        if (r < 0)
                return r;
        int fd = varlink_bind_socket(root_path(arena, manager->root, PATH_SOCKET), 0666);

        manager->is_socket_ours = fd >= 0;
        if (fd >= 0 && root_make_directory(manager->root, PATH_VARLINK_REGISTRY) == 0)
                root_symlink(manager->root, PATH_SOCKET, PATH_VARLINK_LINK);
        return fd;
}

static void remove_socket(const Manager *manager) {
        if (!manager->is_socket_ours)
                return;
        root_remove(manager->root, PATH_SOCKET);
        root_remove(manager->root, PATH_VARLINK_LINK);
}

int manager_listen(Manager *manager, int fd) {
        if (fd < 0)
                fd = bind_socket(manager);
        if (fd < 0)
                return fd;
        int r = varlink_server_listen_fd(manager->server, fd);

        if (r < 0)
                close(fd);
        else
                socket_file_keep(manager);
        return r;
}

int manager_new(const Root *root, sd_event *event, Manager **ret) {
        static const VarlinkInterface *const interfaces[] = {&manager_interface};
        static const VarlinkServerInfo info = {
                .vendor = "The hugeplan project",
                .product = "hugeplan",
                .version = HUGEPLAN_VERSION,
                .url = "",
        };
        CLEANUP(manager_freep) Manager *manager = memory_new(sizeof(Manager));

        manager->root = root;
        manager->event = event;
        manager->keeper = keeper_new(root, on_event, manager);
        manager->server = varlink_server_new(interfaces, ARRAY_LEN(interfaces), &info, manager);
        manager->worker = write_worker_new();
        if (!manager->server || !manager->worker)
                return -errno;
        int r = sd_event_add_io(event, &manager->server_source, varlink_server_fd(manager->server),
                                EPOLLIN, on_server, manager);

        if (r >= 0)
                r = sd_event_add_io(event, &manager->worker_source,
                                    write_worker_fd(manager->worker), EPOLLIN, on_worker, manager);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(manager);
        return 0;
}

Manager *manager_free(Manager *manager) {
        if (!manager)
                return NULL;
        sd_event_source_disable_unref(manager->server_source);
        sd_event_source_disable_unref(manager->worker_source);
        sd_event_source_disable_unref(manager->boot_timer);
        sd_event_source_disable_unref(manager->retry_timer);
        alive_end(manager);
        socket_file_forget(manager);
        watch_stop(manager);
        units_free(manager);
        clients_drop(manager);
        remove_socket(manager);
        varlink_server_free(manager->server);
        write_worker_free(manager->worker);
        keeper_free(manager->keeper);
        outcome_free(&manager->outcome);
        memory_free(manager);
        return NULL;
}

void manager_freep(Manager **manager) {
        *manager = manager_free(*manager);
}
