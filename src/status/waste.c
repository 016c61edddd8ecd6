/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "status/waste.h"

/* A database fills its caches over time: untouched pages are not reported before this age. */
static const uint64_t warm_usec = 60 * 60 * USEC_PER_SEC;

const char *const waste_kind_names[] = {
        [WASTE_UNTOUCHED] = "untouched", [WASTE_BEYOND] = "beyond",
        [WASTE_FELL_BACK] = "fell-back", [WASTE_DISABLED] = "disabled",
        [WASTE_NO_UNIT] = "no-unit",     [WASTE_IDLE] = "idle",
        [WASTE_SEGMENT] = "segment",
};

static void add(Arena *arena, WasteList *list, Waste waste) {
        if (mul_saturated(waste.pages, waste.page_size_bytes) >= WASTE_BYTES_MIN)
                *vec_push(arena, list) = waste;
}

/* ---- instances ---- */

/* Adds pages that the server reserved at its start and has not touched since, and pages granted beyond what it maps, by an
 * upper bound or too large a figure. */
static void add_unused(Arena *arena, const Proof *proof, const InstanceConfig *instance,
                       Waste waste, WasteList *list) {
        const StatusInstance *status = proof->instance;
        const char *setting = instance ? instance->engine->memory_setting : NULL;

        waste.age_usec = proof->look->age_usec;
        if (!proof->is_lower_bound && waste.age_usec >= warm_usec) {
                waste.kind = WASTE_UNTOUCHED;
                waste.pages = sub_floored(proof->mapped_pages, proof->touched_pages);
                waste.what = "reserved by it at its start, and never touched";
                waste.command = arena_printf(arena, "lower %s, then: systemctl restart %s",
                                             setting ? setting : "its memory", status->unit);
                add(arena, list, waste);
        }
        if (status->until_restart || !proof->is_mapped_known || proof->may_stand_in)
                return;
        waste.kind = WASTE_BEYOND;
        waste.pages = sub_floored(status->pages_granted, proof->mapped_pages);
        waste.what = "granted to it, and more than it has taken at its start";
        waste.command = instance && instance->memory_kind == MEMORY_AUTO
                                ? arena_printf(arena, "hugeplanctl learn %s", status->name)
                                : arena_printf(arena,
                                               "write Pages=%" PRIu64
                                               " into %s, then: hugeplanctl reload",
                                               proof->mapped_pages, status->file);
        add(arena, list, waste);
}

void waste_add_instance(Arena *arena, const Proof *proof, const InstanceConfig *instance,
                        UnitStart start, WasteList *list) {
        const StatusInstance *status = proof->instance;
        Waste waste = {.instance = status->name, .page_size_bytes = status->page_size_bytes};

        if (!status->unit)
                return;
        switch (proof->outcome) {
        case OUTCOME_NOT_STARTED:
                if (start == UNIT_START_WANTED)
                        break;
                waste.kind = start == UNIT_START_GONE ? WASTE_NO_UNIT : WASTE_DISABLED;
                waste.pages = status->pages_granted;
                waste.what = arena_printf(
                        arena,
                        start == UNIT_START_GONE
                                ? "granted to %s, whose unit file was not found or is masked"
                                : "granted to %s, which does not run, and which no unit that was read starts",
                        status->unit);
                waste.command = arena_printf(arena, "hugeplanctl release %s; for good: remove %s",
                                             status->name, status->file);
                add(arena, list, waste);
                break;
        case OUTCOME_FELL_BACK:
                waste.kind = WASTE_FELL_BACK;
                waste.pages = sub_floored(status->pages_granted, proof->mapped_pages);
                waste.age_usec = proof->look->age_usec;
                waste.what = proof->cause == FALL_OFF
                                     ? "granted to it, and its settings disable huge pages"
                             : proof->cause == FALL_SHORT
                                     ? "granted to it, too few for it, and it runs with small pages"
                                     : "granted to it, and it runs with small pages instead";
                waste.command = proof->remedy;
                add(arena, list, waste);
                break;
        case OUTCOME_IN_USE:
        case OUTCOME_IDLE:
                add_unused(arena, proof, instance, waste, list);
                break;
        case OUTCOME_UNKNOWN:
        case OUTCOME_STARTING:
                break;
        }
}

/* ---- segments without processes ---- */

void waste_add_segments(Arena *arena, const PageUsers *page_users, WasteList *list) {
        VEC_FOREACH(user, &page_users->list)
                if (user->is_segment)
                        add(arena, list,
                            (Waste){.kind = WASTE_SEGMENT,
                                    .page_size_bytes = user->page_size_bytes,
                                    .pages = page_user_kept_pages(user),
                                    .what = arena_printf(arena,
                                                         "System V segment %" PRIu64
                                                         ", to which no process is attached",
                                                         user->segment_id),
                                    .command = arena_printf(
                                            arena,
                                            "ipcrm -m %" PRIu64
                                            ", once you are sure that its database is down",
                                            user->segment_id)});
}
