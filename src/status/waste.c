/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "status/waste.h"

#include "base/text.h"

/* A database fills its caches over time: untouched pages are not reported before this age. */
static const uint64_t warm_usec = 60 * 60 * USEC_PER_SEC;

const char *waste_kind_name(WasteKind kind) {
        static const char *const names[] = {
                [WASTE_UNTOUCHED] = "untouched", [WASTE_BEYOND] = "beyond",
                [WASTE_FELL_BACK] = "fell-back", [WASTE_DISABLED] = "disabled",
                [WASTE_NO_UNIT] = "no-unit",     [WASTE_IDLE] = "idle",
                [WASTE_SEGMENT] = "segment",
        };

        return names[kind];
}

static void add(Arena *arena, WasteList *list, Waste waste) {
        if (mul_saturated(waste.pages, waste.page_size_bytes) >= WASTE_BYTES_MIN)
                *vec_push(arena, list) = waste;
}

/* ---- running instances ---- */

/* Adds pages that the server reserved at its start and has not touched since. */
static void add_untouched(Arena *arena, const Proof *proof, const InstanceConfig *instance,
                          Waste waste, WasteList *list) {
        const char *setting = instance ? instance->engine->memory_setting : NULL;

        if (proof->is_lower_bound || proof->look->age_usec < warm_usec)
                return;
        waste.kind = WASTE_UNTOUCHED;
        waste.pages = sub_floored(proof->mapped_pages, proof->touched_pages);
        waste.age_usec = proof->look->age_usec;
        waste.what = "reserved by it at its start, and never touched";
        waste.command = arena_printf(arena, "lower %s, then: systemctl restart %s",
                                     setting ? setting : "its memory", proof->instance->unit);
        add(arena, list, waste);
}

/* Adds pages granted beyond what the server maps, by an upper bound or too large a figure. */
static void add_beyond(Arena *arena, const Proof *proof, const InstanceConfig *instance,
                       Waste waste, WasteList *list) {
        if (proof->instance->until_restart || !proof->is_mapped_known || proof->may_stand_in)
                return;
        waste.kind = WASTE_BEYOND;
        waste.pages = sub_floored(proof->instance->pages_granted, proof->mapped_pages);
        waste.age_usec = proof->look->age_usec;
        waste.what = "granted to it, and more than it has taken at its start";
        waste.command = instance && instance->memory_kind == MEMORY_AUTO
                                ? arena_printf(arena, "hugeplanctl learn %s", proof->instance->name)
                                : arena_printf(arena,
                                               "write Pages=%" PRIu64
                                               " into %s, then: hugeplanctl reload",
                                               proof->mapped_pages, proof->instance->file);
        add(arena, list, waste);
}

static void add_fallen(Arena *arena, const Proof *proof, Waste waste, WasteList *list) {
        waste.kind = WASTE_FELL_BACK;
        waste.pages = sub_floored(proof->instance->pages_granted, proof->mapped_pages);
        waste.age_usec = proof->look->age_usec;
        waste.what = proof->cause == FALL_OFF
                             ? "granted to it, and its settings have huge pages switched off"
                     : proof->cause == FALL_SHORT
                             ? "granted to it, too few for it, and it runs with small pages"
                             : "granted to it, and it runs with small pages in their place";
        waste.command = proof->remedy;
        add(arena, list, waste);
}

/* ---- stopped instances ---- */

static void add_absent(Arena *arena, const Proof *proof, UnitStart start, Waste waste,
                       WasteList *list) {
        if (start == UNIT_START_WANTED)
                return;
        waste.kind = start == UNIT_START_GONE ? WASTE_NO_UNIT : WASTE_DISABLED;
        waste.pages = proof->instance->pages_granted;
        waste.what = arena_printf(
                arena,
                start == UNIT_START_GONE
                        ? "granted to %s, which does not exist"
                        : "granted to %s, which does not run, and which no unit that was read starts",
                proof->instance->unit);
        waste.command = arena_printf(arena, "hugeplanctl release %s; for good: remove %s",
                                     proof->instance->name, proof->instance->file);
        add(arena, list, waste);
}

void waste_add_instance(Arena *arena, const Proof *proof, const InstanceConfig *instance,
                        UnitStart start, WasteList *list) {
        const Waste waste = {.instance = proof->instance->name,
                             .page_size_bytes = proof->instance->page_size_bytes};

        if (!proof->instance->unit)
                return;
        switch (proof->outcome) {
        case OUTCOME_NOT_STARTED:
                add_absent(arena, proof, start, waste, list);
                break;
        case OUTCOME_FELL_BACK:
                add_fallen(arena, proof, waste, list);
                break;
        case OUTCOME_IN_USE:
        case OUTCOME_IDLE:
                add_untouched(arena, proof, instance, waste, list);
                add_beyond(arena, proof, instance, waste, list);
                break;
        case OUTCOME_UNKNOWN:
        case OUTCOME_STARTING:
                break;
        }
}

/* ---- segments without processes ---- */

void waste_add_segments(Arena *arena, const PageUsers *page_users, WasteList *list) {
        VEC_FOREACH(user, &page_users->list) {
                uint64_t id;

                if (page_user_segment(arena, user, &id))
                        add(arena, list,
                            (Waste){.kind = WASTE_SEGMENT,
                                    .page_size_bytes = user->page_size_bytes,
                                    .pages = page_user_kept_pages(user),
                                    .what = arena_printf(arena,
                                                         "System V segment %" PRIu64
                                                         ", to which nobody is attached",
                                                         id),
                                    .command = arena_printf(
                                            arena,
                                            "ipcrm -m %" PRIu64
                                            ", once you are sure that its database is down",
                                            id)});
        }
}
