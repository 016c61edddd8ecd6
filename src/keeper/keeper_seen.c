/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sizes learned from what the kernel counts for running units (demand/learned.h), and pages that are given back by that.
 *
 * A unit keeps the pages that it started with, because it may yet map them. The unit of an engine that maps everything
 * at its start has done so once its count no longer changes: the next plan then gives the rest back. */
#include "keeper/keeper_state.h"

#include "base/text.h"
#include "demand/learned.h"
#include "host/unit_cgroup.h"
#include "units/hugetlb_limit.h"

#include <syslog.h>

static const uint64_t rest_usec = 4 * USEC_PER_SEC;

/* ---- counts ---- */

void keeper_forget_count(Keeper *keeper, const char *unit) {
        Counts *counts = &keeper->counts;

        VEC_KEEP(counted, &counts->list, !text_equals(counted->unit, unit));
        *vec_push(counts->arena, &counts->list) =
                (Counted){.unit = arena_strdup(counts->arena, unit)};
}

/* Adds the count of UNIT to NEXT, which is to replace BEFORE. Returns whether the count is at rest since this call. */
static bool add_count(Counts *next, const Counts *before, const UnitUse *unit, uint64_t now_usec) {
        const Counted *known =
                VEC_FIND(counted, &before->list, text_equals(counted->unit, unit->unit));
        uint64_t bytes = VEC_SUM(charge, &unit->charges,
                                 mul_saturated(charge->reserved_pages, charge->page_size_bytes));
        bool is_same = known && known->bytes == bytes;
        uint64_t since_usec = is_same ? known->since_usec : now_usec;
        bool is_at_rest = is_same && bytes > 0 && now_usec - since_usec >= rest_usec;

        *vec_push(next->arena, &next->list) =
                (Counted){arena_strdup(next->arena, unit->unit), bytes, since_usec, is_at_rest};
        return is_at_rest && !known->is_at_rest;
}

bool keeper_is_counting(const Keeper *keeper, bool is_early) {
        return VEC_ANY(counted, &keeper->counts.list,
                       !counted->is_at_rest && (is_early || counted->bytes > 0));
}

/* ---- what a count tells ---- */

/* Whether the unit, which has mapped COUNT, has mapped all that it wants. A unit that has mapped exactly what it was
 * granted, with nothing left, may have wanted more; that will do only for engines whose size is not known otherwise. */
static bool has_all_it_wanted(const Keeper *keeper, Arena *arena, const InstanceConfig *instance,
                              const PageCount *count) {
        const Topology *topology = keeper->known.look->topology;
        const LedgerHold *hold =
                ledger_counted_hold(keeper->known.look->ledger, instance->unit, instance->name);
        int k = topology_page_size_index(topology, count->page_size_bytes);
        uint64_t free_pages = 0;
        char *events;

        if (!hold || hold->granted.page_size_bytes != count->page_size_bytes)
                return false;
        /* The unreserved free pages that the unit could take under its memory policy. */
        ARRAY_FOREACH(node, topology->nodes, k >= 0 ? topology->n_nodes : 0)
                if (hold->policy.kind != MEMORY_POLICY_BIND ||
                    id_set_has(&hold->policy.nodes, node->id))
                        free_pages += node->pools[k].free_pages;
        uint64_t left = k >= 0 ? sub_floored(free_pages, topology->page_sizes[k].reserved_pages)
                               : 0;
        uint64_t granted = ledger_granted_pages(&hold->granted);
        bool is_enough = left >= MAX(sub_floored(granted, count->pages), UINT64_C(1));

        if (granted < hold->granted.pages_wanted ||
            !(is_enough || (count->pages == granted && instance->engine->has_auto_by_looking)))
                return false;
        /* A hugetlb limit may have refused pages to the unit, and counts as having done so if that cannot be read. */
        const char *group = unit_cgroup_find(keeper->root, arena, instance->unit);
        const char *size = hugetlb_limit_size_name(arena, count->page_size_bytes);

        return group &&
               root_read_attribute(keeper->root, arena,
                                   arena_printf(arena, "%s/hugetlb.%s.events", group, size),
                                   &events) >= 0 &&
               text_equals(events, "max 0");
}

/* The figures of UNIT's count. Without pages if the count cannot belong to INSTANCE as its file describes it, or not to
 * this start alone. */
static Seen seen_by_count(const Keeper *keeper, Arena *arena, const InstanceConfig *instance,
                          const UnitUse *unit) {
        const LedgerHold *hold =
                ledger_hold(keeper->known.look->ledger, instance->unit, instance->name);
        Seen seen = seen_of_unit(instance);

        if (hold && !hold->is_counted)
                return (Seen){};
        VEC_FOREACH(charge, &unit->charges) {
                const PageCount count = {charge->page_size_bytes, charge->reserved_pages};
                const uint64_t base = page_counts_find(&seen.base, count.page_size_bytes);

                if (count.pages == 0)
                        continue;
                /* The gate of this start has reported BASE pages. More than these are the server's, however many. */
                if (!(hold && base > 0 && count.pages > base) &&
                    !seen_is_likely(instance, count.page_size_bytes, count.pages))
                        return (Seen){};
                *vec_push(arena, &seen.pages) = count;
        }
        seen.is_exact = seen.pages.n == 1 &&
                        has_all_it_wanted(keeper, arena, instance, seen.pages.items);
        return seen;
}

/* ---- what follows from it ---- */

/* The file, which has PAGES, has not changed since FIGURE was reported. */
bool keeper_is_later_than_file(const Figure *figure, const PageCounts *pages) {
        return pages->n == 0 ||
               figure->pages_in_file == page_counts_find(pages, figure->sizing.page_size_bytes);
}

bool keeper_is_unstored(const Keeper *keeper, const char *instance, const PageCounts *pages) {
        return VEC_ANY(figure, &keeper->asked.found,
                       text_equals(figure->instance, instance) &&
                               keeper_is_later_than_file(figure, pages));
}

void keeper_add_found(Asked *asked, const char *instance, const Figure *figure) {
        Figure *known =
                VEC_FIND(each, &asked->found,
                         text_equals(each->instance, instance) &&
                                 each->sizing.page_size_bytes == figure->sizing.page_size_bytes);

        known = known ? known : vec_push(asked->arena, &asked->found);
        *known = *figure;
        known->instance = instance;
}

void keeper_set_found(Keeper *keeper, const InstanceConfig *file, const PageCount *count) {
        const PageCounts pages = learned_pages(keeper->asked.arena, file, &file->learned);
        Figure figure = learned_figure(NULL, count);

        figure.pages_in_file = page_counts_find(&pages, count->page_size_bytes);
        keeper_add_found(&keeper->asked, config_find(keeper->asked.config, file->name)->name,
                         &figure);
}

/* Reduces the hold of INSTANCE's unit to what it has mapped, if it will map no more. Returns whether it was larger. */
static bool settle(const Keeper *keeper, Arena *arena, const InstanceConfig *instance,
                   const Seen *seen, const UnitUse *unit) {
        const PageCount *count = seen->pages.items;
        LedgerHold *hold = ledger_hold(keeper->known.look->ledger, instance->unit, instance->name);

        if (!instance->engine->maps_all_at_start || !seen->is_exact ||
            page_counts_find(&seen->base, count->page_size_bytes) == 0 ||
            ledger_granted_pages(&hold->granted) <= count->pages ||
            !ledger_is_only_hold(keeper->known.look->ledger, hold))
                return false;
        const UnitCharge *charge = unit_use_charge(unit, count->page_size_bytes);

        ledger_settle(hold, count->pages, &charge->used);
        /* The hugetlb limit that hugeplan has set is lowered, too. */
        const char *group = unit_cgroup_find(keeper->root, arena, hold->unit);
        uint64_t bytes;

        if (group && hugetlb_limit_preference(keeper->asked.config, hold->unit) != TRI_NO &&
            root_read_u64(keeper->root, hugetlb_limit_path(arena, group, count->page_size_bytes),
                          &bytes) >= 0 &&
            hugetlb_limit_is_limit(bytes) && bytes / count->page_size_bytes > count->pages)
                keeper_limit_group(keeper, arena, group, count);
        return true;
}

/* Sets the size for the next start to PAGES; returns whether that is a change. A smaller size is not taken if a gate
 * has reported one that differs from the file's. */
static bool take_figures(Keeper *keeper, const PageCounts *before, const InstanceConfig *file,
                         const PageCounts *pages) {
        const PlanInstance *planned = plan_find(keeper->known.look->plan, file->name);
        bool has_changed = false;

        VEC_FOREACH(count, pages) {
                uint64_t wanted = planned->page_size_bytes == count->page_size_bytes
                                          ? planned->pages_wanted
                                          : 0;

                if (count->pages == wanted ||
                    (count->pages < wanted &&
                     page_counts_find(before, count->page_size_bytes) != wanted))
                        continue;
                keeper_report_size(keeper, file->name, count, wanted);
                keeper_set_found(keeper, file, count);
                has_changed = true;
        }
        return has_changed;
}

/* Takes the count of a unit that no longer changes; returns whether the plan changes by it. A count beyond what
 * INSTANCE may have is reported and not stored. */
static bool take_count(Keeper *keeper, Arena *arena, const InstanceConfig *instance,
                       const UnitUse *unit, LearnedNewsList *news) {
        const PlanInstance *planned = plan_find(keeper->known.look->plan, instance->name);
        const Seen seen = seen_by_count(keeper, arena, instance, unit);
        InstanceConfig now = *instance;

        now.learned.seen = seen_merge(instance, &seen);
        const PageCounts pages = learned_pages(arena, &now, &now.learned);
        const Reason beyond = learned_beyond(arena, keeper->asked.config, &now,
                                             keeper->known.look->topology, &pages);

        if (seen.pages.n == 0 || beyond.kind != REASON_NONE) {
                if (seen.pages.n > 0)
                        keeper_report(keeper, LOG_WARNING, NULL,
                                      "%s: measured: it has mapped %s; not stored: %s", now.name,
                                      seen_format_pages(arena, &seen), beyond.text);
                return false;
        }
        if (!learned_is_kept(instance, &now.learned))
                *vec_push(arena, news) = (LearnedNews){instance, now.learned};
        if (!planned || planned->demand->config->memory_kind != MEMORY_AUTO ||
            instance->memory_kind != MEMORY_AUTO)
                return false;
        const PageCounts before = learned_pages(arena, instance, &instance->learned);
        bool has_changed = take_figures(keeper, &before, instance, &pages);

        return settle(keeper, arena, instance, &seen, unit) || has_changed;
}

/* The instance of UNIT. NULL: there is none, there are several, which the count cannot tell apart, or the file on disk
 * describes another unit. */
static const InstanceConfig *find_counted(const Keeper *keeper, const Config *files,
                                          const char *unit) {
        const InstanceConfig *known = index_find_only(keeper->asked.config->by_unit, unit);
        const InstanceConfig *instance = known ? config_find(files, known->name) : NULL;

        return instance && instance_is_looked_at(instance) && text_equals(instance->unit, unit)
                       ? instance
                       : NULL;
}

LearnedNewsList keeper_take_counts(Keeper *keeper, Arena *arena, const Config *files,
                                   uint64_t now_usec, bool *ret_has_changed) {
        LearnedNewsList news = {};
        Counts next = {.arena = arena_new()};

        *ret_has_changed = false;
        VEC_FOREACH(unit, &keeper->known.look->use->units) {
                const InstanceConfig *instance =
                        unit->is_running ? find_counted(keeper, files, unit->unit) : NULL;

                if (instance && add_count(&next, &keeper->counts, unit, now_usec))
                        *ret_has_changed |= take_count(keeper, arena, instance, unit, &news);
        }
        arena_free(keeper->counts.arena);
        keeper->counts = next;
        return news;
}
