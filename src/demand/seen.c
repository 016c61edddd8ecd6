/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "demand/learned.h"

#include "base/size.h"
#include "base/text.h"
#include "demand/page_counts.h"

bool seen_is_known(const InstanceConfig *instance) {
        const Seen *seen = &instance->learned.seen;

        return seen->pages.n > 0 && text_equals(seen->unit, instance->unit);
}

Seen seen_of_unit(const InstanceConfig *instance) {
        const Learned *learned = &instance->learned;

        if (learned->is_of_running)
                return (Seen){.unit = instance->unit};
        return (Seen){.base = learned->pages,
                      .unit = instance->unit,
                      .version = learned->version,
                      .settings = learned->settings};
}

static void take(Arena *arena, Sizing *sizing, uint64_t pages, bool is_exact, const char *caveat) {
        uint64_t page_size_bytes = sizing->page_size_bytes;

        *sizing = (Sizing){
                .page_size_bytes = page_size_bytes,
                .pages = pages,
                .bytes = mul_saturated(pages, page_size_bytes),
                .is_exact = is_exact,
                .source = SIZING_SEEN,
                .caveat = caveat,
        };
        sizing->steps = (typeof(sizing->steps)){};
        *vec_push(arena, &sizing->steps) =
                (SizingStep){"mapped while it ran", "measured", sizing->bytes};
}

/* Returns whether what was seen is all that INSTANCE takes, whose rule says BASE pages (0: it has none). Without a rule
 * this holds for programs that are sized by looking only, not for those whose files cannot be read now: they may map
 * more. No server that was measured is further from its rule if its settings are fixed (docs/sizes.md). */
static bool is_all(const InstanceConfig *instance, const Seen *seen, uint64_t page_size_bytes,
                   uint64_t base) {
        const Learned *learned = &instance->learned;
        const Engine *engine = instance->engine;
        uint64_t pages = page_counts_find(&seen->pages, page_size_bytes);

        if (!seen->is_exact || engine->maps_all_at_start)
                return seen->is_exact;
        if (base == 0)
                return engine->has_auto_by_looking;
        return learned->is_fixed && text_equals(seen->version, learned->version) &&
               text_equals(seen->settings, learned->settings) && pages <= base &&
               base <= pages + pages / 50 + div_round_up(16 * MIB, page_size_bytes);
}

bool seen_apply(Arena *arena, const InstanceConfig *instance, const FigureBasis *basis,
                Sizing *sizing) {
        const Seen *seen = &instance->learned.seen;
        uint64_t pages = page_counts_find(&seen->pages, sizing->page_size_bytes);
        uint64_t base = page_counts_find(&seen->base, sizing->page_size_bytes);
        bool has_base = sizing->pages > 0;

        if (!seen_is_known(instance) || pages == 0)
                return false;
        /* The same figure, and so the same settings. */
        if (sizing->pages == base &&
            (base == 0 || (text_equals(basis->version, seen->version) &&
                           text_equals(basis->settings, seen->settings)))) {
                bool is_exact = is_all(instance, seen, sizing->page_size_bytes, base);
                const char *caveat =
                        is_exact ? NULL
                        : !seen->is_exact
                                ? "a part of it was in small pages when it was measured, or could "
                                  "not be read"
                        : has_base
                                ? "more than the rule gives; it may map even more as it runs"
                                : "there is no rule to compare it with; it may map more as it runs";

                if (has_base && (!is_exact || sizing->is_exact) && pages <= base)
                        return false;
                take(arena, sizing, pages, is_exact, caveat);
                return true;
        }
        uint64_t scaled = base > 0 && has_base ? mul_div_up(pages, sizing->pages, base) : pages;

        /* What was seen may be of these settings already, after a restart within the unit. */
        if (sizing->is_exact)
                scaled = MIN(scaled, pages);
        if (scaled <= sizing->pages)
                return false;
        take(arena, sizing, scaled, false,
             "scaled from a measurement with other settings, or of another version");
        return true;
}

bool seen_is_likely(const InstanceConfig *instance, uint64_t page_size_bytes, uint64_t pages) {
        uint64_t base = page_counts_find(&instance->learned.pages, page_size_bytes);
        uint64_t tolerance = pages / 4 + div_round_up(32 * MIB, page_size_bytes);

        return base == 0 || !instance->engine->maps_all_at_start ||
               (base <= pages + tolerance && pages <= base + tolerance);
}

/* ---- merging ---- */

static bool holds_for_same(const Seen *a, const Seen *b) {
        return page_counts_equal(&a->base, &b->base) && text_equals(a->unit, b->unit) &&
               text_equals(a->version, b->version) && text_equals(a->settings, b->settings);
}

bool seen_is_same(const Seen *a, const Seen *b) {
        return page_counts_equal(&a->pages, &b->pages) && holds_for_same(a, b) &&
               a->is_exact == b->is_exact;
}

static bool has_more(const Seen *a, const Seen *b) {
        return VEC_ANY(count, &a->pages,
                       count->pages > page_counts_find(&b->pages, count->page_size_bytes));
}

Seen seen_merge(const InstanceConfig *instance, const Seen *now) {
        const Seen *before = &instance->learned.seen;
        const PageCount *count = now->pages.items;
        bool is_same = holds_for_same(before, now), keeps = false;

        if (now->pages.n == 0)
                keeps = before->pages.n > 0;
        else if (before->pages.n > 0 && is_same && !has_more(now, before))
                /* Of equal ones an exact one is better. The earlier estimate is too high if NOW is all that the unit
                 * takes. */
                keeps = has_more(before, now)
                                ? (before->is_exact && !instance->learned.is_exact) ||
                                          now->pages.n != 1 ||
                                          !is_all(instance, now, count->page_size_bytes,
                                                  page_counts_find(&now->base,
                                                                   count->page_size_bytes))
                                : !now->is_exact;
        return keeps ? *before : *now;
}

/* ---- as text ---- */

char *seen_format_pages(Arena *arena, const Seen *seen) {
        return arena_printf(arena, seen->is_exact ? "%s" : "memory for %s, an estimate",
                            page_counts_format(arena, &seen->pages));
}
