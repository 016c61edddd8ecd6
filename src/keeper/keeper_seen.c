/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What was seen of a unit while it runs (demand/seen.h), and what that gives back at once.
 *
 * A unit keeps what it was let start with, for it may yet map it. Of an engine that maps everything when it starts
 * that is over once it has: then what was granted beyond it serves nobody. It is believed of nobody but whom two
 * witnesses agree on: who looked at the mappings, after this start and by the settings that it was made for; and the
 * kernel, which counts exactly as many pages for the unit at this moment. A pool is lowered by the plan that follows,
 * in which what is reserved and not touched yet is promised to the unit as before. */
#include "base/text.h"
#include "demand/seen.h"
#include "host/cgroup_limit.h"
#include "host/unit_cgroup.h"
#include "keeper/keeper_inside.h"
#include "units/hugetlb_limit.h"

/* All that the instance will ever map, of one page size; 0 pages: that is not known. */
static PageCount seen_for_good(const InstanceConfig *instance) {
        const Learned *learned = &instance->learned;
        const Seen *seen = &learned->seen;
        const PageCount *count = seen->pages.items;

        if (instance->refusal || instance->memory_kind != MEMORY_AUTO ||
            !instance->engine->maps_all_at_start || !seen_is_known(instance) || !seen->is_exact ||
            seen->pages.n != 1)
                return (PageCount){};
        /* Of a start with other settings it says nothing. */
        uint64_t base = page_counts_find(&seen->base, count->page_size_bytes);

        if (base == 0 || base != page_counts_find(&learned->pages, count->page_size_bytes) ||
            !text_equals(seen->version, learned->version) ||
            !text_equals(seen->settings, learned->settings))
                return (PageCount){};
        return *count;
}

/* Of the unit of INSTANCE, where that is all that the unit has; NULL: it has no more than PAGES. */
static LedgerHold *find_larger_hold(const Keeper *keeper, const InstanceConfig *instance,
                                    const PageCount *count) {
        const LedgerHolds *holds = &keeper->look->ledger->holds;
        LedgerHold *hold = ledger_hold(keeper->look->ledger, instance->unit, instance->name);

        return hold && hold->is_counted && !hold->is_tentative && !hold->is_assumed &&
                               hold->granted.page_size_bytes == count->page_size_bytes &&
                               ledger_granted_pages(&hold->granted) > count->pages &&
                               VEC_SUM(each, holds, text_equals(each->unit, hold->unit)) == 1
                       ? hold
                       : NULL;
}

/* As at its start, where it has a limit of ours. */
static void lower_limit(const Keeper *keeper, Arena *arena, const char *unit,
                        const PageCount *count) {
        const char *group = unit_cgroup_find(keeper->root, arena, unit);
        PageCounts limits = {};
        uint64_t bytes;

        if (!group || hugetlb_limit_preference(keeper->asked.config, unit) == TRI_NO ||
            root_read_u64(keeper->root, hugetlb_limit_path(arena, group, count->page_size_bytes),
                          &bytes) < 0 ||
            !hugetlb_limit_is_limit(bytes) || bytes / count->page_size_bytes <= count->pages)
                return;
        *vec_push(arena, &limits) = *count;
        cgroup_limit_set(keeper->root, arena, group, &limits);
}

static bool take_seen(Keeper *keeper, Arena *arena, const HostUse *use,
                      const InstanceConfig *instance) {
        const InstanceConfig *known = config_find(keeper->asked.config, instance->name);
        const PageCount count = seen_for_good(instance);
        LedgerHold *hold = known && known->memory_kind == MEMORY_AUTO && count.pages > 0
                                   ? find_larger_hold(keeper, instance, &count)
                                   : NULL;
        const UnitUse *unit = hold ? unit_use_find(use, hold->unit) : NULL;
        const UnitCharge *charge = unit ? unit_use_charge(unit, count.page_size_bytes) : NULL;
        const PlanInstance *planned = plan_find(keeper->look->plan, instance->name);

        if (!charge || !planned || charge->reserved_pages != count.pages)
                return false;
        if (planned->pages_wanted != count.pages)
                keeper_tell_learned(keeper, instance->name, &count, planned->pages_wanted);
        keeper_set_found(keeper, known->name, &count); /* FILES are read anew one day */
        ledger_settle(hold, count.pages, charge->used, charge->n_used);
        lower_limit(keeper, arena, hold->unit, &count);
        return true;
}

bool keeper_take_seen(Keeper *keeper, const Config *files, uint64_t now_usec) {
        CLEANUP(arena_freep) Arena *scratch = arena_new();
        LookInput input = keeper_look_input(keeper);
        const Look *now = NULL;
        bool has_taken = false;

        if (!keeper->has_started || keeper_is_working(keeper))
                return false;
        ARRAY_FOREACH(instance, files->instances, files->n_instances) {
                const PageCount count = seen_for_good(instance);

                if (count.pages == 0 || !find_larger_hold(keeper, instance, &count))
                        continue;
                now = now ? now : look_at_host(scratch, &input);
                has_taken =
                        (now->fault.error == 0 && take_seen(keeper, scratch, now->use, instance)) ||
                        has_taken;
        }
        if (!has_taken)
                return false;
        keeper_save(keeper);
        keeper_begin(keeper, KEEPER_FRESH, now_usec);
        return true;
}
