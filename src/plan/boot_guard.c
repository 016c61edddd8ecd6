/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/boot_guard.h"

#include "base/size.h"
#include "base/text.h"

#define ANY_COUNT "boots "
#define OWN_COUNT ANY_COUNT "3 "

/* ---- the count ---- */

char *boot_count_format(Arena *arena, const BootGuard *guard) {
        const char *line = arena_printf(arena, OWN_COUNT "%" PRIu64 " %s", guard->failed_boots,
                                        *guard->boot_id ? guard->boot_id : "-");

        return arena_printf(arena, "%-*s\n", BOOT_COUNT_BYTES - 1, line);
}

static bool parse_count(Arena *arena, const char *record, BootGuard *ret) {
        const char *rest = record, *words[4];

        for (size_t i = 0; i < ARRAY_LEN(words); i++)
                if (!(words[i] = text_next_word(arena, &rest, " \n")))
                        return false;
        ret->boot_id = text_equals(words[3], "-") ? "" : words[3];
        return parse_u64(words[2], &ret->failed_boots) == 0 &&
               text_equals(record, boot_count_format(arena, ret));
}

void boot_count_parse(Arena *arena, const char *bytes, size_t size, BootGuard *guard) {
        BootGuard count = {.boot_id = "", .proven = guard->proven};
        const char *record = arena_strndup(arena, size > 0 ? bytes : "", size);

        *guard = count;
        if (parse_count(arena, record, &count))
                *guard = count;
        /* Another version's count is not known here, and not damaged: counting begins anew. */
        else if (size > 0 && (size < BOOT_COUNT_BYTES || !text_starts_with(record, ANY_COUNT) ||
                              text_starts_with(record, OWN_COUNT)))
                guard->failed_boots = BOOT_GUARD_FAILURES;
}

bool boot_guard_begin(Arena *arena, BootGuard *guard, const char *boot_id) {
        if (text_equals(guard->boot_id, boot_id))
                return false;
        guard->failed_boots = add_saturated(guard->failed_boots, 1);
        guard->boot_id = arena_strdup(arena, boot_id);
        return true;
}

/* ---- deciding ---- */

bool boot_guard_succeed(Arena *arena, BootGuard *guard, const Ledger *ledger) {
        if (ledger->guard == LEDGER_GUARD_UNDECIDED) {
                if (text_equals(guard->boot_id, ledger->boot_id)) {
                        guard->failed_boots = sub_floored(guard->failed_boots, 1);
                        guard->boot_id = "";
                }
                return false;
        }
        /* A boot with the proven pages only says nothing about the rest. */
        guard->failed_boots = ledger->guard == LEDGER_GUARD_CLOSED ? BOOT_GUARD_FAILURES : 0;
        guard->boot_id = arena_strdup(arena, ledger->boot_id);
        if (guard->failed_boots > 0)
                return true;
        Ledger *proven = ledger_new(arena, "");

        proven->instances = ledger->instances;
        guard->proven = proven;
        return true;
}

bool boot_guard_open(BootGuard *guard) {
        bool was_closed = guard->failed_boots >= BOOT_GUARD_FAILURES;

        guard->failed_boots = was_closed ? 0 : guard->failed_boots;
        return was_closed;
}

/* This boot may have been counted already, if the daemon was restarted. */
bool boot_guard_is_closed(const BootGuard *guard, const Ledger *ledger) {
        if (ledger->guard != LEDGER_GUARD_UNDECIDED)
                return ledger->guard == LEDGER_GUARD_CLOSED;
        uint64_t before = guard->failed_boots;

        if (text_equals(guard->boot_id, ledger->boot_id) && before > 0)
                before--;
        return before >= BOOT_GUARD_FAILURES;
}

/* Reports the closed guard, and gives unproven instances a reason not to be served if IS_LIMITED. */
static void keep_to_proven(Arena *arena, const BootGuard *guard, Demand *demand, bool is_limited,
                           Diags *problems) {
        Text names = text_in(arena);

        ARRAY_FOREACH(instance, demand->instances, demand->n_instances) {
                const LedgerInstance *proven =
                        guard->proven ? ledger_instance(guard->proven, instance->config->name)
                                      : NULL;
                uint64_t pages = proven ? ledger_granted_pages(proven) : 0;

                if (instance->n_options == 0 ||
                    (pages > 0 && ARRAY_ANY(option, instance->options, instance->n_options,
                                            option->page_size_bytes == proven->page_size_bytes &&
                                                    option->pages <= pages)))
                        continue;
                text_add_item(&names, instance->config->name);
                if (is_limited)
                        instance->reason = reason_make(
                                arena, REASON_BOOT_GUARD,
                                "find out why they failed, then run 'hugeplanctl reload'",
                                "%d boots in a row have failed, and in the last good one it had %s%s",
                                BOOT_GUARD_FAILURES, pages > 0 ? "only " : "no pages",
                                pages > 0 ? format_page_count(arena, pages, proven->page_size_bytes)
                                          : "");
        }
        diags_report(
                problems,
                (Diag){.severity = SEVERITY_WARNING,
                       .id = reason_id(REASON_BOOT_GUARD),
                       .remedy =
                               "find out why they failed, then run 'hugeplanctl reload' to plan everything again"},
                "%d boots in a row have failed; until a reload only what the last good boot reserved is planned%s%s",
                BOOT_GUARD_FAILURES, names.length > 0 ? ", and nothing for " : "",
                text_string(&names));
}

const Plan *boot_guard_plan(Arena *arena, const GuardedPlanInput *input, Diags *problems) {
        PlanInput plan = input->plan;
        bool is_closed = boot_guard_is_closed(input->guard, plan.ledger);

        plan.host = &input->config->host;
        plan.is_incomplete = input->config->is_incomplete;
        if (is_closed || !plan.demand) {
                Demand *demand =
                        demand_compute(arena, input->config, plan.topology, input->figures);

                if (is_closed)
                        keep_to_proven(arena, input->guard, demand, !input->is_reload, problems);
                plan.demand = demand;
        }
        if (input->is_reload) {
                Ledger *reloaded = ledger_copy(arena, plan.ledger);

                ARRAY_FOREACH(instance, input->config->instances, input->config->n_instances) {
                        const LedgerInstance *known = ledger_instance(reloaded, instance->name);

                        if (known && known->is_released)
                                diags_report(
                                        problems,
                                        (Diag){.severity = SEVERITY_NOTICE,
                                               .id = reason_id(REASON_RELEASED),
                                               .file = instance->file},
                                        "%s was given back by 'hugeplanctl release'; a reload, or the "
                                        "start of its unit, reserves its pages again",
                                        instance->name);
                }
                ledger_reload(reloaded);
                plan.ledger = reloaded;
        }
        return plan_make(arena, &plan);
}
