/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The keeper's looks at the host: the first from the state on disk, later ones whenever something may have changed. */
#include "keeper/keeper_state.h"

#include "base/memory.h"
#include "base/text.h"
#include "host/config_load.h"
#include "host/state.h"

#include <syslog.h>

enum { STARTS_MAX = 4 };

LookInput keeper_look_input(const Keeper *keeper) {
        return (LookInput){
                .root = keeper->root,
                .config = keeper->asked.config,
                .ledger = keeper->known.look ? keeper->known.look->ledger : NULL,
                .found = &keeper->asked.found,
                .limits = &keeper->round.limits,
                .starting = &keeper->starts.list,
        };
}

/* Reported once, as long as the fault persists. */
void keeper_note_fault(Keeper *keeper, const ReadFault *fault) {
        if (fault->error == keeper->known.fault.error &&
            text_equals(fault->path, keeper->known.fault.path))
                return;
        Arena *arena = arena_new();
        const ReadFault noted = {fault->error, arena_strdup(arena, fault->path)};

        if (fault->error < 0) {
                const Diag diag = look_fault_diag(arena, fault);

                keeper_report_diag(keeper, &diag);
        } else if (keeper->known.fault.path) {
                keeper_report(keeper, LOG_NOTICE, NULL, "%s can be read again",
                              keeper->known.fault.path);
        } else {
                keeper_report(keeper, LOG_NOTICE, NULL, "memory is available again");
        }
        arena_free(keeper->known.fault_arena);
        keeper->known.fault_arena = arena;
        keeper->known.fault = noted;
}

static void replace_look(Keeper *keeper, Arena *arena, Look *look) {
        arena_free(keeper->known.arena);
        keeper->known.arena = arena;
        keeper->known.look = look;
}

bool keeper_adopt(Keeper *keeper, Arena *arena, Look *look) {
        keeper_note_fault(keeper, &look->fault);
        if (look->fault.error < 0) {
                arena_free(arena);
                return false;
        }
        replace_look(keeper, arena, look);
        return true;
}

Look *keeper_make_look(const Keeper *keeper, Arena *arena, const Topology *known) {
        unsigned n_shortages = memory_shortages();
        LookInput input = keeper_look_input(keeper);

        input.known = known;
        Look *look = look_make(arena, &input);

        if (look->fault.error == 0 && memory_shortages() != n_shortages)
                look->fault = (ReadFault){.error = -ENOMEM};
        return look;
}

static bool look_and_adopt(Keeper *keeper, const Topology *known) {
        Arena *arena = arena_new();

        return keeper_adopt(keeper, arena, keeper_make_look(keeper, arena, known));
}

bool keeper_look_anew(Keeper *keeper) {
        return look_and_adopt(keeper, NULL);
}

bool keeper_look_again(Keeper *keeper) {
        return look_and_adopt(keeper, keeper->known.look->topology);
}

/* ---- changes of pools ---- */

ReadFault keeper_note_before(Keeper *keeper) {
        Arena *arena = arena_new();
        LookInput input = keeper_look_input(keeper);

        const Look *look = look_at_host(arena, &input);

        keeper->before.topology = look->fault.error == 0 ? look->topology : NULL;
        arena_free(keeper->before.arena);
        keeper->before.arena = arena;
        return look->fault;
}

PoolChanges keeper_pool_changes(const Keeper *keeper, Arena *arena) {
        if (!keeper->before.topology)
                return (PoolChanges){};
        return pool_changes_between(arena, keeper->before.topology, keeper->known.look->topology);
}

/* ---- the first look ---- */

/* After several failed boots in a row, closes the boot guard: only pages of the last good boot are planned until a
 * reload. Returns a negative errno if the count of boots cannot be read; nothing is decided then. */
static int decide_boot_guard(const Keeper *keeper, Look *look) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Ledger *ledger = look->ledger;
        bool was_undecided = ledger->guard == LEDGER_GUARD_UNDECIDED;
        BootGuard *guard;

        int r = boot_guard_try_load(keeper->root, arena, &guard);

        if (r < 0)
                return r;
        look->is_counted = text_equals(guard->boot_id, ledger->boot_id);
        look->is_good = look->is_counted && guard->failed_boots == 0;
        bool is_closed = boot_guard_is_closed(guard, ledger);

        ledger->guard = is_closed ? LEDGER_GUARD_CLOSED : LEDGER_GUARD_OPEN;
        if (is_closed && was_undecided)
                keeper_report(keeper, LOG_ALERT, reason_id(REASON_BOOT_GUARD),
                              "%d boots in a row have failed: only what the last good "
                              "boot reserved is planned; 'hugeplanctl reload' plans "
                              "everything again",
                              BOOT_GUARD_FAILURES);
        return 0;
}

/* Reads the configuration and makes the first look, with the ledger of the state on disk. The boot guard is decided
 * before the plan is made. A look with a fault is kept for lack of a better one, but nothing is written by it. */
static void look_first(Keeper *keeper) {
        Arena *arena = arena_new(), *config_arena = arena_new();
        const Config *config = config_load(keeper->root, config_arena, NULL);
        ReadFault fault = {};

        keeper->asked = (Asked){.arena = config_arena, .config = config};
        LookInput input = keeper_look_input(keeper);

        input.ledger = NULL; /* the one on disk */
        Look *look = look_at_host(arena, &input);

        /* A fault may be temporary, so reading is tried again. A file that stays unreadable is an error of its
         * instance, and the other instances do not wait for it. */
        keeper->known.n_tries++;
        if (keeper->known.n_tries < STARTS_MAX || config->is_unlisted)
                fault = config->fault;
        if (fault.error == 0)
                fault = look->fault;
        if (look->state && look->fault.error == 0)
                keeper_report(keeper, LOG_WARNING, NULL, "%s", look->state);
        if (fault.error == 0 && decide_boot_guard(keeper, look) < 0)
                fault = root_fault(keeper->root, arena);
        /* The pages of instances whose file cannot be read are held until a reload. */
        VEC_FOREACH(instance, &look->ledger->instances)
                if (fault.error == 0 && config->is_incomplete && instance->grants.n > 0 &&
                    !config_find(config, instance->name))
                        *vec_push(arena, &look->ledger->holds) = (LedgerHold){
                                .unit = "", .run = "", .is_tentative = true, .granted = *instance};
        bool is_known = fault.error == 0 && !config->is_incomplete;

        /* The file is compared later only if the plan was made from exactly its content. */
        if (look->stored && !ledger_equals(look->stored, look->ledger))
                look->stored = NULL;

        if (is_known)
                look_complete(arena, &input, look);
        if (!is_known || look->fault.error < 0) {
                input.ledger = look->ledger;
                look = look_make(arena, &input);
        }
        if (fault.error == 0)
                fault = look->fault;
        keeper->known.stage = fault.error == 0 ? KNOWN_FIRST : KNOWN_NOTHING;
        replace_look(keeper, arena, look);
        keeper_note_fault(keeper, &fault);
}

static void report_errors(const Keeper *keeper) {
        VEC_FOREACH(problem, &keeper->asked.config->problems.list)
                keeper_report_diag(keeper, problem);
}

void keeper_start(Keeper *keeper) {
        look_first(keeper);
        report_errors(keeper);
}

bool keeper_finish_start(Keeper *keeper) {
        Arena *before = keeper->asked.arena;

        if (keeper_has_started(keeper))
                return true;
        look_first(keeper);
        arena_free(before); /* the previous look, which referred to it, is freed */
        if (keeper_has_started(keeper))
                report_errors(keeper);
        return keeper_has_started(keeper);
}
