/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/boot.h"

#include "base/text.h"
#include "host/state.h"
#include "host/unit_cgroup.h"
#include "model/names.h"
#include "runtime/clock.h"
#include "runtime/log.h"

#include <string.h>

/* A disk that hangs must not block the boot forever. */
static const uint64_t count_limit_usec = 15 * USEC_PER_SEC;
static const uint64_t query_limit_usec = 10 * USEC_PER_SEC;

typedef struct BootTask BootTask;
typedef int (*BootStep)(const Root *root, Arena *arena, BootGuard *guard, BootTask *task);

struct BootTask {
        BootStep step;
        const char *boot_id;
        const Ledger *ledger; /* the pages that this boot has reserved */
        bool is_proof;
        int proven_error; /* of storing the proven pages */
};

static int run_task(const void *root, Arena *arena, void *argument) {
        BootTask *task = argument;
        BootGuard *guard;
        int r = boot_guard_try_load(root, arena, &guard);

        return r < 0 ? r : task->step(root, arena, guard, task);
}

/* Runs STEP on the disk thread and DONE in the loop; both get the same BootTask. */
static void do_task(Boot *boot, BootStep step, WorkerDone done) {
        Arena *arena = arena_new();
        BootTask *task = ARENA_NEW(arena, BootTask);
        Ledger *ledger = ledger_copy(arena, keeper_look(boot->keeper)->ledger);

        if (!boot->is_planned)
                ledger->guard = LEDGER_GUARD_UNDECIDED;
        *task = (BootTask){.step = step, .boot_id = ledger->boot_id, .ledger = ledger};
        worker_do(boot->disk, arena, run_task, task, done, boot);
}

/* ---- whether it is good ---- */

static int store_good(const Root *root, Arena *arena, BootGuard *guard, BootTask *task) {
        task->is_proof = boot_guard_succeed(arena, guard, task->ledger);
        if (task->is_proof && guard->failed_boots == 0)
                task->proven_error = boot_proven_save(root, arena, guard);
        return boot_count_save(root, arena, guard);
}

/* The boot was good even if the proven pages cannot be stored. */
static void on_good_stored(void *userdata UNUSED, int error, const void *argument) {
        const BootTask *task = argument;

        if (task->proven_error < 0)
                log_line(LOG_ERR,
                         "cannot write " PATH_BOOT_PROVEN
                         ": %s; the boot guard continues to use the pages of an earlier boot",
                         strerror(-task->proven_error));
        if (error < 0)
                log_line(LOG_ERR, "cannot write " PATH_BOOT_COUNT ": %s; failed boots stay counted",
                         strerror(-error));
        else if (!task->is_proof)
                log_line(LOG_INFO,
                         "the boot was complete before the first plan: it does not count as "
                         "failed, and its pages are not known yet");
}

static void end_query(Boot *boot) {
        boot->query = unit_query_free(boot->query);
        boot->query_arena = arena_free(boot->query_arena);
}

static void on_answered(void *userdata, int error, const LoadedUnits *units) {
        Boot *boot = userdata;
        bool is_reached = error >= 0 && units->n == 1 &&
                          text_equals(units->items[0].active_state, "active");

        end_query(boot);
        if (error < 0)
                log_line(LOG_WARNING,
                         "systemd cannot be asked whether " NAME_BOOT_TARGET
                         " was reached (%s): until it can, the boot counts as failed",
                         strerror(-error));
        if (error < 0 || !is_reached || boot->state != BOOT_COUNTED)
                return;
        /* multi-user.target may be reached before the first plan: the boot is good, and its pages are stored after the
         * plan. */
        if (boot->is_planned)
                boot->state = BOOT_GOOD;
        do_task(boot, store_good, on_good_stored);
}

static void ask_whether_reached(Boot *boot) {
        if (boot->state != BOOT_COUNTED || boot->query || !unit_manager_exists(boot->root))
                return;
        SourceNames names = {};

        boot->query_arena = arena_new();
        *vec_push(boot->query_arena, &names) = NAME_BOOT_TARGET;
        int r = unit_query_new(boot->root, boot->query_arena, &names, UNIT_QUERY_STATE,
                               &boot->query);

        if (r >= 0)
                r = unit_query_attach(boot->query, boot->loop, query_limit_usec, on_answered, boot);
        if (r < 0)
                on_answered(boot, r, NULL);
}

/* The daemon may have been started after the boot. */
void boot_note_planned(Boot *boot) {
        if (boot->is_planned)
                return;
        boot->is_planned = true;
        ask_whether_reached(boot);
}

void boot_note_caller(Boot *boot, pid_t pid) {
        if (boot->state == BOOT_COUNTED && unit_manager_exists(boot->root) &&
            unit_cgroup_has_process(boot->root, NAME_CHECK_UNIT, pid))
                ask_whether_reached(boot);
}

/* ---- counting ---- */

static int store_count(const Root *root, Arena *arena, BootGuard *guard, BootTask *task) {
        return boot_guard_begin(arena, guard, task->boot_id) ? boot_count_save(root, arena, guard)
                                                             : 0;
}

/* Read by `check` during this boot. */
static void note_uncounted(const Boot *boot, const char *why) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        log_line(LOG_ERR,
                 "cannot write " PATH_BOOT_COUNT
                 ": %s; this boot is not counted: if it fails because of the "
                 "reservation, so will the next boot. Make room on that disk, or "
                 "make it writable",
                 why);
        root_write_file(boot->root, PATH_BOOT_UNCOUNTED, arena_printf(arena, "%s\n", why));
}

static void end_counting(Boot *boot) {
        loop_unset(&boot->limit);
        boot->state = BOOT_COUNTED;
        boot->on_counted(boot->userdata);
}

static void on_count_stored(void *userdata, int error, const void *argument UNUSED) {
        Boot *boot = userdata;

        if (error < 0 && boot->state == BOOT_COUNTING)
                note_uncounted(boot, strerror(-error));
        else if (error >= 0)
                root_remove(boot->root, PATH_BOOT_UNCOUNTED);
        if (boot->state == BOOT_COUNTING)
                end_counting(boot);
}

static void on_count_limit(void *userdata) {
        Boot *boot = userdata;

        note_uncounted(boot, "the disk does not answer");
        end_counting(boot);
}

bool boot_holds_round(Boot *boot) {
        const Look *look = keeper_look(boot->keeper);

        if (boot->state != BOOT_UNBEGUN || !keeper_is_working(boot->keeper))
                return boot->state == BOOT_COUNTING;
        boot->state = BOOT_GOOD;
        if (look->config->n_instances == 0 ||
            kernel_command_line_is_rescue(look->topology->kernel_command_line))
                return false;
        if (look->is_counted) { /* by a daemon before this one */
                boot->state = look->is_good ? BOOT_GOOD : BOOT_COUNTED;
                root_remove(boot->root, PATH_BOOT_UNCOUNTED);
                ask_whether_reached(boot);
                return false;
        }
        boot->state = BOOT_COUNTING;
        loop_set(boot->loop, &boot->limit, clock_now_usec() + count_limit_usec, on_count_limit,
                 boot);
        do_task(boot, store_count, on_count_stored);
        return true;
}

/* ---- a reload ---- */

static int store_open(const Root *root, Arena *arena, BootGuard *guard, BootTask *task) {
        task->is_proof = boot_guard_open(guard);
        return task->is_proof ? boot_count_save(root, arena, guard) : 0;
}

static void on_open_stored(void *userdata UNUSED, int error, const void *argument) {
        const BootTask *task = argument;

        if (error < 0)
                log_line(
                        LOG_WARNING,
                        "cannot write " PATH_BOOT_COUNT
                        ": %s; if the boot guard held instances back, it does so again at the next boot",
                        strerror(-error));
        else if (task->is_proof)
                log_line(LOG_NOTICE,
                         "the boot guard is reset: the next boot plans everything, too");
}

void boot_open_guard(Boot *boot) {
        do_task(boot, store_open, on_open_stored);
}

void boot_free(Boot *boot) {
        loop_unset(&boot->limit);
        end_query(boot);
}
