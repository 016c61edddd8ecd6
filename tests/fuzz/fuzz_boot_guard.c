/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Any bytes as .boots, and any JSON as .proven.json: the file is refused, or read and written again as the same, before and
 * after a boot is counted; and with a closed guard no instance gets more than its proven pages. */

#include "fuzz/fuzz.h"
#include "plan/boot_guard.h"
#include "support/testing.h"

static const char host_text[] = "sizes 1G 2M\nnode 0 total=4G free=3G\nnode 1 total=4G free=3G\n";

static void check_round_trip(Arena *arena, BootGuard *guard) {
        json_t *json = boot_proven_to_json(guard);
        BootGuard again = {};

        guard->n_records = MAX(guard->n_records, UINT64_C(1));
        char *record = boot_count_format(arena, guard);
        const char *file = arena_printf(arena, "%s%s", record, record);

        require(json && boot_proven_from_json(arena, json, &again) == 0);
        require(strlen(record) == BOOT_COUNT_BYTES);
        boot_count_parse(arena, file, 2 * BOOT_COUNT_BYTES, &again);
        require(again.failed_boots == guard->failed_boots && again.n_records == guard->n_records &&
                text_equals(again.boot_id, guard->boot_id));
        json_t *same = boot_proven_to_json(&again);

        require(json_equal(json, same));
        json_decref(json);
        json_decref(same);
}

static uint64_t proven_pages(const BootGuard *guard, const char *name, uint64_t page_size_bytes) {
        VEC_FOREACH(instance, &guard->proven)
                if (text_equals(instance->name, name))
                        return instance->page_size_bytes == page_size_bytes ? instance->pages : 0;
        return 0;
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
        json_t *json = json_loadb((const char *) data, size, JSON_REJECT_DUPLICATES, NULL);
        BootGuard guard = {};

        boot_count_parse(arena, (const char *) data, size, &guard);
        require(size == 0 || guard.failed_boots > 0 || guard.n_records > 0);
        if (json)
                boot_proven_from_json(arena, json, &guard);
        json_decref(json);
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
