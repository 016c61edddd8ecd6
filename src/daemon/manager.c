/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/manager.h"

#include "base/memory.h"
#include "base/text.h"
#include "host/config_load.h"
#include "host/mounts.h"
#include "host/unit_facts.h"
#include "runtime/clock.h"
#include "runtime/log.h"
#include "runtime/service.h"
#include "status/pending.h"
#include "systemd/dropin_check.h"

static const uint64_t retry_delay_min_usec = 5 * USEC_PER_SEC;
static const uint64_t retry_delay_max_usec = 60 * USEC_PER_SEC;
static const uint64_t alive_usec = 3 * USEC_PER_SEC;
/* Granted with each sign of life; it counts for the watchdog, too. */
static const uint64_t alive_extension_usec = 10 * USEC_PER_SEC;

static void begin_reload(Manager *manager);

/* ---- telling the service manager ---- */

static void notify_ready(Manager *manager, const Status *status) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Text text = text_in(arena);
        size_t n_start = 0;

        ARRAY_FOREACH(instance, status->instances, status->n_instances) {
                n_start += verdict_lets_start(instance->verdict);
                if (instance->verdict != VERDICT_READY)
                        text_printf(&text, "; %s %s", instance->name,
                                    verdict_name(instance->verdict));
        }

        service_notify("READY=1\nSTATUS=%zu of %zu instances may start%s", n_start,
                       status->n_instances, text_string(&text));
        manager->notice.is_ready_sent = true;
        loop_unset(&manager->notice.boot);
        boot_note_planned(&manager->lasting.boot_guard);
}

/* During a start or a reload, tells systemd that the loop still runs: sd_notify(3), EXTEND_TIMEOUT_USEC=. The boot waits
 * for hugeplan.service, for BootTimeout= at most, so TimeoutStartSec= is short, and a daemon that hangs is replaced soon.
 * A write(2) may take minutes, but runs in a thread. */
static void on_alive(void *userdata) {
        Manager *manager = userdata;

        if (loop_is_set(&manager->notice.alive) ||
            (manager->notice.is_ready_sent && !keeper_is_working(manager->keeper)))
                return;
        service_notify("EXTEND_TIMEOUT_USEC=%" PRIu64, alive_extension_usec);
        loop_set(manager->loop, &manager->notice.alive, clock_now_usec() + alive_usec, on_alive,
                 manager);
}

/* ---- what is so ---- */

/* During the start the configuration was read just now. Later the files that were read last are current most of the
 * time: a file that hugepland writes (.boots, a learned size) changes the directory of the configuration in force. */
const Config *manager_files(Manager *manager) {
        const Config *in_force = keeper_config(manager->keeper);
        Files *files = &manager->files;

        if (!manager->notice.is_ready_sent)
                return in_force;
        if (files->config && config_is_current(manager->root, files->config))
                return files->config;
        if (config_is_current(manager->root, in_force))
                return in_force;
        arena_free(files->before);
        files->before = files->arena;
        files->arena = arena_new();
        return files->config = config_load(manager->root, files->arena, NULL);
}

bool manager_is_retrying(const Manager *manager) {
        return loop_is_set(&manager->rounds.retry) || watch_is_settling(&manager->watch);
}

static Status *judge(Manager *manager, Arena *arena, bool is_end, const Config *files) {
        const Config *config = keeper_config(manager->keeper);
        bool is_retrying = manager_is_retrying(manager);
        Diags missing = diags_in(arena);
        Status *status = is_end ? keeper_judge_round(manager->keeper, arena, is_retrying)
                                : keeper_judge(manager->keeper, arena, is_retrying);

        if (status->wants_round)
                watch_look_soon(&manager->watch);
        /* The generator uses the files as they are now. */
        const DropinInput input = dropin_input(manager->root, arena, files, HUGEPLANCTL);
        Dropins dropins = dropins_make(arena, &input);
        MountUnits mounts =
                mounts_of(manager->root, arena, config, keeper_look(manager->keeper)->topology);

        dropin_check(manager->root, &dropins, &missing);
        mounts_check(manager->root, &mounts, &missing);
        if (missing.list.n == 0 || units_are_generated(&manager->units))
                diags_add_all(&status->problems, &missing);
        units_judge(&manager->units, arena, files, &status->problems);
        return status;
}

Status *manager_judge(Manager *manager, Arena *arena) {
        return judge(manager, arena, false, manager_files(manager));
}

Status *manager_describe(Manager *manager, Arena *arena) {
        const Config *files = manager_files(manager);

        units_refresh(&manager->units);
        Status *status = judge(manager, arena, false, files);

        if (files != keeper_config(manager->keeper))
                pending_judge(files, status);
        return status;
}

/* Logs what has changed between two rounds, and informs subscribers. */
static void log_news(void *userdata) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Manager *manager = userdata;

        /* The end of the round will do that. */
        if (keeper_is_working(manager->keeper) || keeper_is_held_back(manager->keeper))
                return;
        logged_update(&manager->notice.logged, manager_judge(manager, arena));
        manager->listener(manager, MANAGER_LOOKED);
}

static void on_reread(void *userdata) {
        Manager *manager = userdata;

        manager->listener(manager, MANAGER_REREAD);
}

static void on_watch(void *userdata, WatchNews news) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Manager *manager = userdata;

        if (news == WATCH_LOST) {
                manager->listener(manager, MANAGER_LOST);
                return;
        }
        if (news == WATCH_LOOKED) {
                log_news(manager);
                /* Stores sizes that no longer change, for the next boot; in this boot the keeper uses them already. */
                const LearnedNewsList all = keeper_count(manager->keeper, arena,
                                                         manager_files(manager), clock_now_usec());

                VEC_FOREACH(each, &all)
                        store_learned(&manager->lasting.store, each->instance, &each->learned,
                                      false, NULL, NULL);
        }
        if (news == WATCH_BEGUN || keeper_is_working(manager->keeper))
                manager_work(manager);
}

/* ---- rounds ---- */

static void on_retry(void *userdata) {
        Manager *manager = userdata;

        keeper_begin(manager->keeper, KEEPER_RETRY, clock_now_usec());
        manager_work(manager);
}

static void end_round(Manager *manager) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        uint64_t delay = manager->rounds.retry_delay_usec;

        manager->rounds.ended_usec = clock_now_usec();
        if (manager->rounds.reload != RELOADS_NONE) {
                begin_reload(manager);
                return;
        }
        /* If pages are missing, tries again at growing intervals until ReserveTimeout= has passed. */
        if (keeper_wants_retry(manager->keeper, add_saturated(clock_now_usec(), delay))) {
                loop_set(manager->loop, &manager->rounds.retry, clock_now_usec() + delay, on_retry,
                         manager);
                manager->rounds.retry_delay_usec = MIN(delay * 2, retry_delay_max_usec);
        }
        watch_refresh(&manager->watch);
        /* Before systemd is queried, which may take seconds. */
        manager->listener(manager, MANAGER_WRITTEN);
        if (keeper_is_working(manager->keeper)) /* a gate has begun another round */
                return;
        if (manager->units.answer.is_expired)
                units_refresh(&manager->units);
        Status *status = judge(manager, arena, true, manager_files(manager));

        logged_update(&manager->notice.logged, status);
        notify_ready(manager, status);
        login_limits_follow(&manager->lasting.login_limits, manager->keeper);
        if (manager->rounds.is_of_reload &&
            keeper_reload_result(manager->keeper).state == KEEPER_RELOAD_APPLIED)
                boot_open_guard(&manager->lasting.boot_guard);
        manager->rounds.is_of_reload = false;
        manager->listener(manager, MANAGER_SETTLED);
}

typedef struct Write {
        ApplyOperation operation;
        uint64_t usec;
} Write;

static int perform(const void *root, Arena *arena UNUSED, void *argument) {
        Write *write = argument;
        uint64_t start = clock_now_usec();
        int r = apply_perform(root, &write->operation);

        write->usec = clock_now_usec() - start;
        return r;
}

static void on_written(void *userdata, int error, const void *argument) {
        const Write *write = argument;
        Manager *manager = userdata;

        keeper_done(manager->keeper, &write->operation, error, write->usec);
        manager->listener(manager, MANAGER_WRITTEN);
        manager_work(manager);
}

void manager_work(Manager *manager) {
        if (worker_is_busy(manager->writer) || boot_holds_round(&manager->lasting.boot_guard))
                return;
        loop_unset(&manager->rounds.retry);
        Write write = {0};

        if (!keeper_next(manager->keeper, clock_now_usec(), &write.operation)) {
                end_round(manager);
                return;
        }
        CLEANUP(arena_freep) Arena *arena = arena_new();
        uint64_t done, all;

        on_alive(manager);
        apply_progress(keeper_apply(manager->keeper), &done, &all);
        service_notify("STATUS=Reserving pages: %s of %s", format_count(arena, done),
                       format_count(arena, all));
        void *argument = arena_memdup(arena, &write, sizeof(write));

        worker_do(manager->writer, TAKE_PTR(arena), perform, argument, on_written, manager);
}

static void on_counted(void *userdata) {
        manager_work(userdata);
}

void manager_begin_round(Manager *manager, KeeperCause cause) {
        manager->rounds.retry_delay_usec = retry_delay_min_usec;
        keeper_begin(manager->keeper, cause, clock_now_usec());
        manager_work(manager);
}

/* ---- beginning ---- */

static void on_boot_timeout(void *userdata) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Manager *manager = userdata;

        log_line(LOG_NOTICE,
                 "BootTimeout= has passed; the remaining pages are reserved while boot continues");
        notify_ready(manager, manager_judge(manager, arena));
}

void manager_start(Manager *manager) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        on_alive(manager);
        keeper_start(manager->keeper);
        watch_start(&manager->watch);
        uint64_t boot_timeout_usec = keeper_config(manager->keeper)->host.boot_timeout_usec;

        if (boot_timeout_usec != UINT64_MAX)
                loop_set(manager->loop, &manager->notice.boot,
                         add_saturated(clock_now_usec(), boot_timeout_usec), on_boot_timeout,
                         manager);
        if (kernel_command_line_is_rescue(
                    keeper_look(manager->keeper)->topology->kernel_command_line)) {
                keeper_hold_back(manager->keeper);
                notify_ready(manager, manager_judge(manager, arena));
        } else {
                manager_begin_round(manager, KEEPER_START);
        }
        units_begin(&manager->units);
}

/* ---- reload ---- */

static void begin_reload(Manager *manager) {
        bool is_forced = manager->rounds.reload == RELOADS_FORCED;

        manager->rounds.reload = RELOADS_NONE;
        manager->rounds.is_of_reload = true;
        manager->rounds.retry_delay_usec = retry_delay_min_usec;
        manager->units.answer.is_expired = true;
        service_notify("RELOADING=1\nMONOTONIC_USEC=%" PRIu64, clock_read_usec(CLOCK_MONOTONIC));
        if (keeper_reload(manager->keeper, is_forced, clock_now_usec()) == KEEPER_RELOAD_BEGUN)
                manager_work(manager);
        else
                end_round(manager);
}

void manager_reload(Manager *manager, bool is_forced) {
        if (is_forced)
                manager->rounds.reload = RELOADS_FORCED;
        else if (manager->rounds.reload == RELOADS_NONE)
                manager->rounds.reload = RELOADS_WANTED;
        if (keeper_is_working(manager->keeper))
                keeper_stop_early(manager->keeper);
        else
                begin_reload(manager);
}

/* Transparent huge pages are set for the whole host, so the configuration is reloaded. */
static void on_preference(void *userdata) {
        manager_reload(userdata, false);
}

/* ---- beginning and end ---- */

int manager_new(const Root *root, Loop *loop, ManagerListener listener, Manager **ret) {
        CLEANUP(manager_freep) Manager *manager = memory_new(sizeof(Manager));
        CLEANUP(arena_freep) Arena *arena = arena_new();

        manager->root = root;
        manager->loop = loop;
        manager->listener = listener;
        manager->keeper = keeper_new(root, journal_listen, NULL);
        manager->watch = (Watch){root, loop, manager->keeper, on_watch, manager};
        manager->units =
                (Units){root, loop, manager->keeper, log_news, manager, .on_reread = on_reread};
        int r = worker_new(loop, root, &manager->writer);

        if (r >= 0)
                r = root_open(root_path(arena, root, "/"), &manager->lasting.root);
        if (r >= 0)
                r = worker_new(loop, manager->lasting.root, &manager->lasting.disk);
        if (r < 0)
                return r;
        manager->lasting.store = (Store){
                .disk = manager->lasting.disk, .on_preference = on_preference, .userdata = manager};
        manager->lasting.login_limits = (LoginLimits){.root = root, .disk = manager->lasting.disk};
        manager->lasting.boot_guard = (Boot){.root = root,
                                             .loop = loop,
                                             .disk = manager->lasting.disk,
                                             .keeper = manager->keeper,
                                             .on_counted = on_counted,
                                             .userdata = manager};
        *ret = TAKE_PTR(manager);
        return 0;
}

void manager_freep(Manager **at) {
        Manager *manager = TAKE_PTR(*at);

        if (!manager)
                return;
        loop_unset(&manager->notice.boot);
        loop_unset(&manager->rounds.retry);
        loop_unset(&manager->notice.alive);
        loop_unset(&manager->clients.due);
        loop_unset(&manager->clients.rest);
        watch_stop(&manager->watch);
        units_free(&manager->units);
        worker_free(manager->writer);
        worker_free(manager->lasting.disk);
        root_free(manager->lasting.root);
        boot_free(&manager->lasting.boot_guard);
        keeper_free(manager->keeper);
        arena_free(manager->clients.beliefs_arena);
        arena_free(manager->notice.logged.arena);
        arena_free(manager->files.before);
        arena_free(manager->files.arena);
        memory_free(manager);
}
