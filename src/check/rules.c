/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "check/rules.h"

#include "base/text.h"
#include "check/rule_run.h"
#include "engines/engine_rows.h"

#define FAMILIES(ROW) ENGINE_RULES(ROW) ROW(thp) ROW(hugetlb_limit) ROW(host) ROW(pools)

#define ROW(name) extern const RuleFamily rules_##name;
FAMILIES(ROW)
#undef ROW

#define ROW(name) &rules_##name,
static const RuleFamily *const families[] = {FAMILIES(ROW)};
#undef ROW

/* ---- running the rules ---- */

static const Figure *find_figure(const Figures *figures, const char *instance,
                                 uint64_t page_size_bytes) {
        const Figure *any = NULL;

        VEC_FOREACH(figure, figures)
                if (text_equals(figure->instance, instance)) {
                        if (!figure->wrong && figure->sizing.page_size_bytes == page_size_bytes)
                                return figure;
                        any = figure;
                }
        return any;
}

static const PageUser *find_page_user(const PageUsers *page_users, const char *unit,
                                      uint64_t page_size_bytes) {
        if (unit && page_users)
                VEC_FOREACH(page_user, &page_users->list)
                        if (text_equals(page_user->unit, unit) &&
                            (page_user->page_size_bytes == page_size_bytes ||
                             page_user->page_size_bytes == 0))
                                return page_user;
        return NULL;
}

static RuleInstance make_instance(const RuleInput *input, size_t i) {
        const InstanceConfig *config = &input->config->instances[i];
        const PlanInstance *planned = &input->plan->instances[i];
        const Figure *figure = find_figure(input->figures, config->name, planned->page_size_bytes);
        RuleInstance instance = {
                .config = config,
                .planned = planned,
                .facts = &input->facts->instances[i],
                .page_user =
                        find_page_user(input->page_users, config->unit, planned->page_size_bytes),
        };

        if (figure && figure->gathered &&
            (figure->gathered->config_file || figure->gathered->settings.n > 0))
                instance.gathered = figure->gathered;
        if (figure && !figure->wrong && figure->sizing.page_size_bytes == planned->page_size_bytes)
                instance.sizing = &figure->sizing;
        return instance;
}

static bool is_for_engine(const RuleRow *row, const Engine *engine) {
        return row->engines ? text_has_word(row->engines, engine->name) : engine->reserves;
}

static void run_row(RuleRun *run) {
        if (run->row->find)
                run->row->find(run);
        for (size_t i = 0; run->row->find_in_instance && i < run->n_instances; i++)
                if (is_for_engine(run->row, run->instances[i].config->engine)) {
                        run->instance = &run->instances[i];
                        run->row->find_in_instance(run, run->instance);
                }
        run->instance = NULL;
}

static bool is_mistake(const Finding *finding) {
        return finding->diag.severity == SEVERITY_ERROR && !finding->hurts;
}

/* Mistakes, of which the rest may be the consequence; then errors, warnings, notices, of each those
 * that hurt first; else in the order of finding. */
static int rank(const Finding *finding) {
        return is_mistake(finding) ? 0 : 2 * (int) finding->diag.severity + !finding->hurts + 1;
}

static void sort_findings(Arena *arena, Findings *findings) {
        size_t n = findings->list.n, at = 0;
        Finding *sorted = ARENA_ARRAY(arena, Finding, n);

        for (int wanted = 0; wanted <= 2 * SEVERITY_NOTICE + 2; wanted++)
                VEC_FOREACH(finding, &findings->list)
                        if (rank(finding) == wanted)
                                sorted[at++] = *finding;
        findings->list.items = sorted;
        findings->list.capacity = n;
}

Findings rules_judge(Arena *arena, const RuleInput *input) {
        Findings findings = {};
        RuleInstance *instances =
                ARENA_ARRAY(arena, RuleInstance, MAX(input->config->n_instances, (size_t) 1));
        RuleRun run = {
                .arena = arena, .input = input, .instances = instances, .findings = &findings};

        VEC_FOREACH(problem, &input->problems->list)
                rule_add_problem(&run, problem);
        for (size_t i = 0; i < input->config->n_instances; i++)
                if (!input->config->instances[i].refusal)
                        instances[run.n_instances++] = make_instance(input, i);
        for (size_t i = 0; i < ARRAY_LEN(families); i++)
                for (size_t k = 0; k < families[i]->n; k++) {
                        run.row = &families[i]->rows[k];
                        run_row(&run);
                }
        sort_findings(arena, &findings);
        return findings;
}

size_t findings_count_hurting(const Findings *findings) {
        size_t n = 0;

        VEC_FOREACH(finding, &findings->list)
                n += finding->hurts;
        return n;
}

size_t findings_count_mistakes(const Findings *findings) {
        size_t n = 0;

        VEC_FOREACH(finding, &findings->list)
                n += is_mistake(finding);
        return n;
}
