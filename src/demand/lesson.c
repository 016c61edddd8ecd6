/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "demand/learned.h"

#include "base/size.h"
#include "base/text.h"
#include "demand/page_counts.h"

/* ---- use ---- */

/* Returns the version as in 90-learned.conf, which has it shortened. */
static const char *version_of(Arena *arena, const Lesson *lesson) {
        return lesson->version ? text_excerpt(arena, lesson->version, LEARNED_VERSION_BYTES_MAX)
                               : NULL;
}

/* Returns the fingerprint of the settings; NULL if nothing was gathered. */
static const char *settings_of(Arena *arena, const Lesson *lesson) {
        return lesson->gathered ? engine_fingerprint(lesson->instance->engine, arena,
                                                     &lesson->gathered->settings)
                                : NULL;
}

LessonUse lesson_use(const Lesson *lesson) {
        const Learned *learned = &lesson->instance->learned;
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Learned now = learned_of(arena, lesson);

        if (lesson->wrong)
                return learned->pages.n > 0 || learned->version ? LESSON_KEEP : LESSON_UNKNOWN;
        if (lesson->unasked && learned->pages.n > 0 && learned->is_exact &&
            text_equals(now.version, learned->version) &&
            text_equals(now.settings, learned->settings) &&
            (learned->by_rule.n == 0 || page_counts_equal(&now.by_rule, &learned->by_rule)))
                return LESSON_KEEP;
        /* The same figures, learned while the unit ran, are not new. */
        now.is_of_running = now.is_of_running && learned->is_of_running;
        return learned_is_kept(lesson->instance, &now) ? LESSON_SAME : LESSON_LEARN;
}

void lesson_take_larger(Arena *arena, Lesson *lesson) {
        if (lesson->wrong || !lesson->unasked || lesson_use(lesson) == LESSON_KEEP)
                return;
        VEC_FOREACH(figure, &lesson->figures) {
                Sizing *sizing = &figure->sizing;
                uint64_t last =
                        page_counts_find(&lesson->instance->learned.pages, sizing->page_size_bytes);

                if (last <= sizing->pages)
                        continue;
                sizing->caveat = arena_printf(
                        arena,
                        "Its settings have changed since its last size was learned, and "
                        "the server has not given its size with them: the last size is "
                        "larger than the %s of the rule.",
                        format_page_count(arena, sizing->pages, sizing->page_size_bytes));
                sizing->pages = last;
                sizing->bytes = mul_saturated(last, sizing->page_size_bytes);
                sizing->source = SIZING_LEARNED;
        }
}

void lesson_hold_to(const Topology *topology, Lesson *lesson) {
        VEC_FOREACH(figure, &lesson->figures) {
                const PageCount count = {figure->sizing.page_size_bytes, figure->sizing.pages};

                if (!lesson->wrong)
                        lesson->wrong = page_count_check(&count, topology);
        }
}

Figures lesson_figures(Arena *arena, const Lesson *lesson) {
        const InstanceConfig *instance = lesson->instance;
        const Learned *learned = &instance->learned;
        LessonUse use = lesson_use(lesson);
        FigureBasis basis = {version_of(arena, lesson), settings_of(arena, lesson)};
        Figures figures = {};

        if (use == LESSON_SAME || use == LESSON_LEARN)
                vec_push_all(arena, &figures, &lesson->figures);
        else if (use == LESSON_KEEP) {
                learned_add_figures(arena, learned, &figures);
                basis = (FigureBasis){learned->version, learned->settings};
        }
        if (instance->memory_kind == MEMORY_AUTO)
                figures_add_seen(arena, instance, &basis, &figures);
        return figures;
}

PageCounts lesson_pages(Arena *arena, const Lesson *lesson) {
        const Figures figures = lesson_figures(arena, lesson);

        return figures_pages(arena, &figures);
}

/* ---- what is stored ---- */

Learned learned_of(Arena *arena, const Lesson *lesson) {
        const Engine *engine = lesson->instance->engine;
        const Gathered *gathered = lesson->gathered;

        return (Learned){
                .pages = figures_pages(arena, &lesson->figures),
                .by_rule = figures_pages(arena, &lesson->by_rule),
                .version = version_of(arena, lesson),
                .settings = settings_of(arena, lesson),
                .is_exact = lesson->is_exact,
                .is_fixed = gathered && engine_is_fixed(engine, &gathered->settings),
                .is_of_running = lesson->is_of_running,
                .thp = learned_thp(engine, lesson->version),
                .seen = lesson->instance->learned.seen,
        };
}

json_t *learned_to_json(const Learned *learned) {
        return json_pack("{so sb so* so* so* ss* ss*}", "pages",
                         page_counts_to_json(&learned->pages), "exact", learned->is_exact, "byRule",
                         learned->by_rule.n > 0 ? page_counts_to_json(&learned->by_rule) : NULL,
                         "fixed", learned->is_fixed ? json_true() : NULL, "running",
                         learned->is_of_running ? json_true() : NULL, "version", learned->version,
                         "settings", learned->settings);
}

uint64_t learned_by_rule(const InstanceConfig *instance, uint64_t page_size_bytes, uint64_t pages) {
        const Learned *learned = &instance->learned;
        uint64_t by_rule = page_counts_find(&learned->by_rule, page_size_bytes);
        uint64_t base = page_counts_find(&learned->pages, page_size_bytes);
        uint64_t taken = learned->is_exact ? base : 0;

        if (seen_is_known(instance) &&
            base == page_counts_find(&learned->seen.base, page_size_bytes))
                taken = MAX(taken, page_counts_find(&learned->seen.pages, page_size_bytes));
        if (by_rule == 0 || taken <= by_rule)
                return pages;
        return mul_div(pages, by_rule, taken);
}
