/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/boot_guard.h"

#include "base/json.h"
#include "base/size.h"
#include "base/text.h"

#include <string.h>

enum { BOOT_GUARD_VERSION = 2 };

/* ---- the count ---- */

/* The record has the same line at both ends, which shows if it is torn. */
char *boot_count_format(Arena *arena, const BootGuard *guard) {
        const char *line = arena_printf(arena, "boots %d %" PRIu64 " %" PRIu64 " %s\n",
                                        BOOT_GUARD_VERSION, guard->n_records, guard->failed_boots,
                                        *guard->boot_id ? guard->boot_id : "-");
        size_t length = strlen(line);
        char *record = arena_alloc(arena, MAX((size_t) BOOT_COUNT_BYTES, 2 * length) + 1);

        memset(record, ' ', BOOT_COUNT_BYTES);
        memcpy(record, line, length);
        memcpy(record + MAX((size_t) BOOT_COUNT_BYTES, 2 * length) - length, line, length);
        return record;
}

static bool parse_record(Arena *arena, const char *bytes, BootGuard *ret) {
        const char *record = arena_strndup(arena, bytes, BOOT_COUNT_BYTES), *rest = record;
        const char *words[5] = {};

        for (size_t i = 0; i < ARRAY_LEN(words); i++)
                if (!(words[i] = text_next_word(arena, &rest, " \n")))
                        return false;
        if (parse_u64(words[2], &ret->n_records) < 0 || parse_u64(words[3], &ret->failed_boots) < 0)
                return false;
        ret->boot_id = text_equals(words[4], "-") ? "" : words[4];
        return ret->n_records > 0 && text_equals(record, boot_count_format(arena, ret));
}

void boot_count_parse(Arena *arena, const char *bytes, size_t size, BootGuard *guard) {
        BootGuard records[2] = {};
        bool is_torn = false;

        *guard = (BootGuard){.boot_id = "", .proven = guard->proven};
        for (size_t i = 0; i < ARRAY_LEN(records) && size > 0; i++) {
                if (size < (i + 1) * BOOT_COUNT_BYTES ||
                    !parse_record(arena, bytes + i * BOOT_COUNT_BYTES, &records[i]))
                        is_torn = true;
                else if (records[i].n_records > guard->n_records) {
                        guard->n_records = records[i].n_records;
                        guard->failed_boots = records[i].failed_boots;
                        guard->boot_id = records[i].boot_id;
                }
        }
        if (!is_torn)
                return;
        guard->failed_boots = guard->n_records > 0 ? add_saturated(guard->failed_boots, 1)
                                                   : BOOT_GUARD_FAILURES;
        guard->boot_id = "";
}

bool boot_guard_begin(Arena *arena, BootGuard *guard, const char *boot_id) {
        if (text_equals(guard->boot_id, boot_id))
                return false;
        guard->failed_boots = add_saturated(guard->failed_boots, 1);
        guard->boot_id = arena_strdup(arena, boot_id);
        return true;
}

/* ---- proven instances ---- */

json_t *boot_proven_to_json(const BootGuard *guard) {
        json_t *proven =
                VEC_TO_JSON(instance, &guard->proven,
                            json_pack("{ss so so}", "name", instance->name, "pageSizeBytes",
                                      count_to_json(instance->page_size_bytes), "pages",
                                      count_to_json(instance->pages)));

        return json_pack("{si so}", "version", BOOT_GUARD_VERSION, "proven", proven);
}

int boot_proven_from_json(Arena *arena, const json_t *json, BootGuard *guard) {
        typeof(guard->proven) found = {};
        json_int_t size, pages;
        json_t *proven, *item;
        const char *name;
        int version;
        size_t i;

        if (json_unpack((json_t *) json, "{si so !}", "version", &version, "proven", &proven) < 0 ||
            version != BOOT_GUARD_VERSION || !json_is_array(proven))
                return -EINVAL;
        json_array_foreach(proven, i, item) {
                if (json_unpack(item, "{ss sI sI !}", "name", &name, "pageSizeBytes", &size,
                                "pages", &pages) < 0 ||
                    size <= 0 || pages <= 0)
                        return -EINVAL;
                *vec_push(arena, &found) = (ProvenInstance){arena_strdup(arena, name),
                                                            (uint64_t) size, (uint64_t) pages};
        }
        guard->proven = found;
        return 0;
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
        guard->proven = (typeof(guard->proven)){};
        VEC_FOREACH(instance, &ledger->instances)
                if (ledger_granted_pages(instance) > 0)
                        *vec_push(arena, &guard->proven) = (ProvenInstance){
                                arena_strdup(arena, instance->name), instance->page_size_bytes,
                                ledger_granted_pages(instance)};
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
                const ProvenInstance *proven = VEC_FIND(
                        known, &guard->proven, text_equals(known->name, instance->config->name));
                const DemandOption *option =
                        !proven ? NULL
                                : ARRAY_FIND(each, instance->options, instance->n_options,
                                             each->page_size_bytes == proven->page_size_bytes);

                if (instance->n_options == 0 || (option && option->pages <= proven->pages))
                        continue;
                text_add_item(&names, instance->config->name);
                if (is_limited)
                        instance->reason = reason_make(
                                arena, REASON_BOOT_GUARD,
                                "find out why they failed, then run 'hugeplanctl reload'",
                                "%d boots in a row have failed, and in the last good one it had %s%s",
                                BOOT_GUARD_FAILURES, proven ? "only " : "no pages",
                                proven ? format_page_count(arena, proven->pages,
                                                           proven->page_size_bytes)
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
