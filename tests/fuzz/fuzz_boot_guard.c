/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Any bytes as .boots, and as .proven: the file is refused, or read and written again as the same, before and after a boot
 * is counted; and with a closed guard no instance gets more than its proven pages. */

#include "fuzz/fuzz.h"
#include "plan/boot_guard.h"
#include "support/testing.h"

static const char host_text[] = "sizes 1G 2M\nnode 0 total=4G free=3G\nnode 1 total=4G free=3G\n";

static const Ledger *parse_proven(Arena *arena, const char *text) {
        const char *lost;

        return ledger_parse(arena, arena_strdup(arena, text), "", &lost);
}

static void check_round_trip(Arena *arena, const BootGuard *guard) {
        const char *file = boot_count_format(arena, guard);
        BootGuard again = {};

        require(strlen(file) == BOOT_COUNT_BYTES);
        boot_count_parse(arena, file, BOOT_COUNT_BYTES, &again);
        require(again.failed_boots == guard->failed_boots &&
                text_equals(again.boot_id, guard->boot_id));
        if (!guard->proven)
                return;
        again.proven = parse_proven(arena, ledger_format(arena, guard->proven));
        require(again.proven && ledger_equals(again.proven, guard->proven));
}

static uint64_t proven_pages(const BootGuard *guard, const char *name, uint64_t page_size_bytes) {
        const LedgerInstance *proven = guard->proven ? ledger_instance(guard->proven, name) : NULL;

        return proven && proven->page_size_bytes == page_size_bytes ? ledger_granted_pages(proven)
                                                                    : 0;
}

/* The plan in effect; the other instances wait for a reload. */
static void check_plan(Arena *arena, const BootGuard *guard, const Ledger *ledger) {
        const Config *config =
                config_line(arena, "a Pages=100; pg Pages=300 Placement=pack Shortage=degrade");
        Diags problems = diags_in(arena);
        GuardedPlanInput input = {
                .guard = guard,
                .config = config,
                .plan = {.topology = host_make(arena, host_text), .ledger = ledger},
        };
        const bool is_closed = boot_guard_is_closed(guard, ledger);
        const Plan *plan = boot_guard_plan(arena, &input, &problems);

        input.is_reload = true;
        const Plan *reloaded = boot_guard_plan(arena, &input, &problems);

        require((problems.list.n > 0) == is_closed);
        for (size_t i = 0; is_closed && i < plan->n_instances; i++) {
                const PlanInstance *instance = &plan->instances[i];

                require(reloaded->instances[i].reason.kind != REASON_BOOT_GUARD);
                uint64_t pages = VEC_SUM(grant, &instance->grants, grant->pages);

                require(pages <= proven_pages(guard, instance->demand->config->name,
                                              instance->page_size_bytes));
        }
}

FUZZ(arena, data, size) {
        const char *text = arena_strndup(arena, (const char *) data, size);
        BootGuard guard = {.proven = parse_proven(arena, text)};

        boot_count_parse(arena, (const char *) data, size, &guard);
        require(size >= BOOT_COUNT_BYTES ||
                guard.failed_boots == (size > 0 ? BOOT_GUARD_FAILURES : 0));
        check_round_trip(arena, &guard);
        Ledger *ledger = ledger_new(arena, "this-boot");

        check_plan(arena, &guard, ledger);
        boot_guard_begin(arena, &guard, "this-boot");
        check_round_trip(arena, &guard);
        check_plan(arena, &guard, ledger);
        require(boot_guard_open(&guard) || guard.failed_boots < BOOT_GUARD_FAILURES);
        require(!boot_guard_is_closed(&guard, ledger));
        require(!boot_guard_succeed(arena, &guard, ledger)); /* the ledger has no plan */
        check_round_trip(arena, &guard);
        ledger->guard = LEDGER_GUARD_OPEN;
        require(boot_guard_succeed(arena, &guard, ledger) && guard.failed_boots == 0);
        check_round_trip(arena, &guard);
}
