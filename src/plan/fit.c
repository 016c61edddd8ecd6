/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/fit.h"

#include "base/size.h"
#include "base/text.h"

/* ---- from pages to a setting ---- */

typedef struct SizeQuestion {
        Arena *arena;
        const Engine *engine;
        const EngineFormula *formula;
        const Settings *settings;
        uint64_t page_size_bytes;
} SizeQuestion;

static const char *value_text(const SizeQuestion *question, uint64_t mebibytes) {
        return arena_printf(question->arena, "%" PRIu64 "%s", mebibytes,
                            question->engine->mebibyte_suffix);
}

/* Sizes the settings with the main one appended: the last one counts. */
static const char *size_with(const SizeQuestion *question, uint64_t mebibytes, Sizing *ret) {
        Settings settings = {};

        vec_push_all(question->arena, &settings, question->settings);
        settings_add(question->arena, &settings, question->engine->memory_setting,
                     value_text(question, mebibytes), "what fits");
        return formula_size(question->formula, question->engine, question->arena, &settings,
                            question->page_size_bytes, ret);
}

const char *fit_setting(Arena *arena, const Engine *engine, const EngineFormula *formula,
                        const Settings *settings, uint64_t page_size_bytes, uint64_t pages,
                        Fit *ret) {
        const SizeQuestion question = {arena, engine, formula, settings, page_size_bytes};
        /* The pages hold the memory itself, so no larger value can fit. */
        uint64_t least = 0, most = mul_saturated(pages, page_size_bytes) / MIB + 1;
        Fit fit = {};
        const char *wrong;

        if (!engine->memory_setting)
                return arena_printf(arena, "%s has no setting that can be fitted to pages",
                                    engine->title);
        wrong = size_with(&question, MAX(most, UINT64_C(64) * 1024), &fit.sizing);
        if (wrong)
                return wrong;
        while (most - least > 1) {
                uint64_t middle = least + (most - least) / 2;
                Sizing sizing;

                /* A value that is refused is too small: large ones are not refused. */
                if (size_with(&question, middle, &sizing) || sizing.pages <= pages)
                        least = middle;
                else
                        most = middle;
        }
        /* A value that is refused was counted as one that fits. */
        if (least == 0 || size_with(&question, least, &fit.sizing))
                return arena_printf(arena, "%s does not fit into %s at any size", engine->title,
                                    format_page_count(arena, pages, page_size_bytes));
        fit.value = value_text(&question, least);
        fit.value_bytes = least * MIB;
        *ret = fit;
        return NULL;
}

/* ---- from the host to pages ---- */

/* Returns whether INSTANCE gets PAGES whole, and no instance that is served TODAY loses by it. */
static bool is_served(const PlanInput *input, const Plan *today, const char *instance,
                      uint64_t page_size_bytes, uint64_t pages) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Demand demand = *input->demand;
        PlanInput changed = *input;

        /* INSTANCE wants PAGES of one size, without a split. */
        demand.instances =
                arena_memdup(arena, demand.instances, demand.n_instances * sizeof(DemandInstance));
        changed.demand = &demand;
        ARRAY_FOREACH(other, demand.instances, demand.n_instances)
                if (text_equals(other->config->name, instance)) {
                        other->options = ARENA_NEW(arena, DemandOption);
                        *other->options = (DemandOption){
                                .page_size_bytes = page_size_bytes,
                                .pages = pages,
                                .sizing = {.page_size_bytes = page_size_bytes, .pages = pages},
                        };
                        other->n_options = 1;
                        other->reason = (Reason){};
                }
        const Plan *plan = plan_make(arena, &changed);

        for (size_t i = 0; i < plan->n_instances; i++) {
                const PlanInstance *now = &today->instances[i], *then = &plan->instances[i];
                bool is_it = text_equals(then->demand->config->name, instance);

                if (then->reason.kind != REASON_NONE && (is_it || now->reason.kind == REASON_NONE))
                        return false;
        }
        return true;
}

uint64_t fit_pages(Arena *arena, const PlanInput *input, const char *instance,
                   uint64_t page_size_bytes) {
        const Plan *today = plan_make(arena, input);
        uint64_t least = 0,
                 most = 1 + ARRAY_SUM(node, input->topology->nodes, input->topology->n_nodes,
                                      node->memory_bytes / page_size_bytes);

        if (!plan_find(today, instance))
                return 0;

        while (most - least > 1) {
                uint64_t middle = least + (most - least) / 2;

                if (is_served(input, today, instance, page_size_bytes, middle))
                        least = middle;
                else
                        most = middle;
        }
        return least;
}
