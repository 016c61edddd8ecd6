/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "render/render.h"

#include "base/size.h"
#include "model/rule.h"

static const struct {
        const char *color, *sign, *ascii;
} looks[] = {
        [MARK_GOOD] = {RENDER_GREEN, "●", "*"},
        [MARK_DOUBT] = {RENDER_YELLOW, "●", "*"},
        [MARK_UNDONE] = {RENDER_YELLOW, "○", "o"},
        [MARK_BAD] = {RENDER_RED, "×", "x"},
};

static const Mark marks[] = {
        [VERDICT_READY] = MARK_GOOD,     [VERDICT_DEGRADED] = MARK_DOUBT,
        [VERDICT_PENDING] = MARK_UNDONE, [VERDICT_REFUSED] = MARK_BAD,
        [VERDICT_INVALID] = MARK_BAD,    [VERDICT_LOST] = MARK_BAD,
        [VERDICT_ASIDE] = MARK_UNDONE,
};

void render_add_marked(Text *text, const RenderOptions *options, Mark mark, const char *words) {
        render_colored(text, options, looks[mark].color,
                       arena_printf(text->arena, "%s %s",
                                    options->is_ascii ? looks[mark].ascii : looks[mark].sign,
                                    words));
}

void render_add_verdict(Text *text, const RenderOptions *options, Verdict verdict) {
        render_add_marked(text, options, marks[verdict], verdict_name(verdict));
}

void render_paragraph(Text *text, const RenderOptions *options, const char *first,
                      const char *indent, const char *paragraph) {
        if (paragraph)
                text_add_wrapped(text, first, indent, paragraph,
                                 options->width > 0 ? options->width : 100);
}

void render_table(Text *text, const RenderOptions *options, const Table *table, const char *empty) {
        bool is_empty = table_rows(table) == 0;

        text_add(text, is_empty && !empty ? "" : "\n");
        if (!is_empty)
                table_print(table, text, "", options->is_colored);
        else if (empty)
                text_add(text, empty);
}

void render_colored(Text *text, const RenderOptions *options, const char *color,
                    const char *string) {
        if (options->is_colored)
                text_printf(text, "%s%s%s", color, string, RENDER_PLAIN);
        else
                text_add(text, string);
}

void render_add_instance(Table *table, Arena *arena, const StatusInstance *instance) {
        uint64_t wanted = instance->pages_wanted, size_bytes = instance->page_size_bytes;

        table_add_colored(table, verdict_name(instance->verdict),
                          looks[marks[instance->verdict]].color);
        table_add(table, instance->name);
        table_add(table, render_size(arena, wanted, size_bytes));
        table_add(table, render_granted(arena, instance->pages_granted, wanted));
        table_add(table, size_bytes > 0 ? format_page_size(arena, size_bytes) : NULL);
}

void render_problem(Text *text, const Diag *problem, const char *separator,
                    const RenderOptions *options) {
        static const char *const colors[] = {
                [SEVERITY_ERROR] = RENDER_RED,
                [SEVERITY_WARNING] = RENDER_YELLOW,
                [SEVERITY_NOTICE] = RENDER_DIM,
        };
        Diag shown = *problem;

        shown.remedy = NULL;
        render_colored(text, options, colors[problem->severity], severity_name(problem->severity));
        render_paragraph(text, options, separator, "       ",
                         text_printable(text->arena, diag_format(text->arena, &shown)));
        render_paragraph(text, options, "       what to do: ", "       ", problem->remedy);
}

void render_field(Text *text, const RenderOptions *options, const char *label, const char *value) {
        render_paragraph(text, options,
                         arena_printf(text->arena, "%10s%c ", label, *label ? ':' : ' '),
                         "            ", value);
}

/* With more problems of a kind than MAX, only SHOWN of them are printed. */
enum { PROBLEMS_OF_KIND_MAX = 12, PROBLEMS_OF_KIND_SHOWN = 8 };

static bool is_of_kind(const Diag *a, const Diag *b) {
        return a->severity == b->severity && a->id && text_equals(a->id, b->id);
}

char *render_problems(Arena *arena, const Diags *problems, bool is_checked,
                      const RenderOptions *options) {
        Text text = text_in(arena);

        for (int severity = SEVERITY_ERROR; severity <= SEVERITY_NOTICE; severity++)
                VEC_FOREACH(problem, &problems->list) {
                        if ((int) problem->severity != severity)
                                continue;
                        uint64_t n = VEC_SUM(each, &problems->list, is_of_kind(each, problem));
                        uint64_t n_before = VEC_SUM(each, &problems->list,
                                                    each < problem && is_of_kind(each, problem));

                        if (is_checked &&
                            (n <= PROBLEMS_OF_KIND_MAX || n_before <= PROBLEMS_OF_KIND_SHOWN))
                                text_add(&text, "\n");
                        if (n <= PROBLEMS_OF_KIND_MAX || n_before < PROBLEMS_OF_KIND_SHOWN)
                                render_problem(
                                        &text, problem,
                                        is_checked ? arena_printf(arena, " [%s]%s: ", problem->id,
                                                                  rule_hurts(problem) ? " (hurts)"
                                                                                      : "")
                                                   : ": ",
                                        options);
                        else if (n_before == PROBLEMS_OF_KIND_SHOWN) {
                                const Diag rest = {
                                        .severity = problem->severity,
                                        .text = arena_printf(arena,
                                                             "%" PRIu64 " more of this kind (%s)",
                                                             n - n_before, problem->id),
                                        .remedy = "--json has all of them",
                                };

                                render_problem(&text, &rest, ": ", options);
                        }
                }
        return arena_strdup(arena, text_string(&text));
}

void render_covers(Text *text, const RenderOptions *options, const Exposures *covers) {
        Arena *arena = text->arena;

        VEC_FOREACH(cover, covers) {
                const char *purpose = "for pages that are reserved and not planned";

                if (cover->unit)
                        purpose = arena_printf(arena, "so that %s takes %s that %s needs there",
                                               cover->taker ? cover->taker
                                               : cover->taker_pages > 0
                                                       ? "no process of an unknown unit"
                                                       : "nobody",
                                               cover->taker ? "none" : "any", cover->unit);
                render_paragraph(text, options, "Cover: ", "       ",
                                 arena_printf(arena, "%s on %s, %s.",
                                              format_page_count_and_size(arena, cover->pages,
                                                                         cover->page_size_bytes),
                                              topology_format_nodes(arena, &cover->nodes),
                                              purpose));
        }
}
