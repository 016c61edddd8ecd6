/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "check/rules.h"

#include "base/text.h"
#include "check/rule_run.h"
#include "engines/engine_rows.h"

#define FAMILIES(ROW) ENGINE_RULES(ROW) ROW(host) ROW(pools)

#define ROW(name) extern const RuleFamily rules_##name;
FAMILIES(ROW)
#undef ROW

#define ROW(name) &rules_##name,
static const RuleFamily *const families[] = {FAMILIES(ROW)};
#undef ROW

/* ---- running the rules ---- */

static RuleInstance make_instance(const HostView *input, size_t i) {
        const InstanceConfig *config = &input->config->instances[i];
        const PlanInstance *planned = &input->plan->instances[i];
        const Figure *figure = NULL;
        RuleInstance instance = {
                .config = config,
                .planned = planned,
                .facts = &input->facts->instances[i],
        };

        /* The figure of the planned page size, or else the last one. */
        VEC_FOREACH(each, input->figures)
                if (text_equals(each->instance, config->name) &&
                    !(figure && !figure->wrong &&
                      figure->sizing.page_size_bytes == planned->page_size_bytes))
                        figure = each;
        if (config->unit && input->page_users)
                instance.page_user =
                        VEC_FIND(user, &input->page_users->list,
                                 text_equals(user->unit, config->unit) &&
                                         (user->page_size_bytes == planned->page_size_bytes ||
                                          user->page_size_bytes == 0));
        if (figure && figure->gathered && figure->gathered->is_read)
                instance.gathered = figure->gathered;
        if (figure && !figure->wrong && figure->sizing.page_size_bytes == planned->page_size_bytes)
                instance.sizing = &figure->sizing;
        return instance;
}

/* ---- findings of the same kind ---- */

static bool is_of_kind(const Finding *a, const Finding *b) {
        return a->instances.n > 0 && b->instances.n > 0 && text_equals(a->diag.id, b->diag.id) &&
               a->diag.severity == b->diag.severity && a->hurts == b->hurts;
}

static void fold_kinds(Arena *arena, FindingList *list) {
        FindingList folded = {};

        VEC_FOREACH(finding, list) {
                Finding *first = VEC_FIND(each, &folded, is_of_kind(each, finding));

                if (!first ||
                    VEC_SUM(each, list, is_of_kind(each, finding)) <= FINDINGS_OF_KIND_MAX) {
                        *vec_push(arena, &folded) = *finding;
                        continue;
                }
                first->is_of_many = true;
                vec_push_all(arena, &first->instances, &finding->instances);
        }
        *list = folded;
}

/* Only as many names as people read; the JSON has all. */
static void name_others(Arena *arena, Finding *finding) {
        static const size_t n_named_max = 8;
        size_t n = finding->instances.n, n_named = n > n_named_max + 2 ? n_named_max : n;
        Text names = text_in(arena);

        if (n < 2)
                return;
        for (size_t i = 1; i < n_named; i++)
                text_add_item(&names, finding->instances.items[i]);
        finding->diag.text = arena_printf(
                arena, "%s; %s %s%s", finding->diag.text,
                finding->is_of_many ? "so it is with" : "the same holds for", names.string,
                n > n_named ? arena_printf(arena, " and %zu more", n - n_named) : "");
}

static void finish(Arena *arena, FindingList *list) {
        fold_kinds(arena, list);
        VEC_FOREACH(finding, list)
                name_others(arena, finding);
}

static bool is_mistake(const Finding *finding) {
        return finding->diag.severity == SEVERITY_ERROR && !finding->hurts;
}

/* Sorts mistakes first, because other findings may follow from them; then errors, warnings and notices, and within each
 * those that hurt first. Otherwise the order is kept. */
static void sort_findings(Arena *arena, Findings *findings) {
        FindingList sorted = {};

        for (int wanted = 0; wanted <= 2 * SEVERITY_NOTICE + 2; wanted++)
                VEC_FOREACH(finding, &findings->list) {
                        int rank = 2 * (int) finding->diag.severity + !finding->hurts + 1;

                        if ((is_mistake(finding) ? 0 : rank) == wanted)
                                *vec_push(arena, &sorted) = *finding;
                }
        findings->list = sorted;
}

Findings rules_judge(Arena *arena, const HostView *view, const Diags *problems) {
        Findings findings = {};
        RuleInstance *instances =
                ARENA_ARRAY(arena, RuleInstance, MAX(view->config->n_instances, (size_t) 1));
        RuleRun run = {
                .arena = arena, .input = view, .instances = instances, .findings = &findings};

        VEC_FOREACH(problem, &problems->list)
                rule_add_problem(&run, problem);
        for (size_t i = 0; i < view->config->n_instances; i++)
                if (!view->config->instances[i].refusal)
                        instances[run.n_instances++] = make_instance(view, i);
        ARRAY_FOREACH(family, families, ARRAY_LEN(families))
                ARRAY_FOREACH(row, (*family)->rows, (*family)->n) {
                        run.row = row;
                        run.instance = NULL;
                        if (row->find)
                                row->find(&run);
                        for (size_t i = 0; row->find_in_instance && i < run.n_instances; i++) {
                                const Engine *engine = instances[i].config->engine;

                                run.instance = &instances[i];
                                if (row->engines ? text_has_word(row->engines, engine->name)
                                                 : engine->reserves)
                                        row->find_in_instance(&run, run.instance);
                        }
                }
        finish(arena, &findings.list);
        finish(arena, &findings.silenced);
        sort_findings(arena, &findings);
        return findings;
}

size_t findings_count_hurting(const Findings *findings) {
        return VEC_SUM(finding, &findings->list, finding->hurts);
}

size_t findings_count_mistakes(const Findings *findings) {
        return VEC_SUM(finding, &findings->list, is_mistake(finding));
}
