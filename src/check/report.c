/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "check/report.h"

#include "base/text.h"

enum { NAMES_MAX = 3, MISSING_MAX = 8 };

/* Returns "orders", "orders, sales", or "a, b, c and 7 more". */
static char *some_of(Arena *arena, const SourceNames *names) {
        size_t n_shown = names->n > NAMES_MAX + 1 ? NAMES_MAX : names->n;
        Text text = text_in(arena);

        for (size_t i = 0; i < n_shown; i++)
                text_add_item(&text, names->items[i]);
        if (n_shown < names->n)
                text_printf(&text, " and %zu more", names->n - n_shown);
        return arena_strdup(arena, text_string(&text));
}

/* ---- findings ---- */

static void add_findings(Arena *arena, Report *report) {
        Diags problems = diags_in(arena);
        FindingList all = {};

        diags_add_all(&problems, &report->status->problems);
        VEC_FOREACH(proof, &report->proofs->list)
                proof_add_problems(proof, SEVERITY_ERROR, &problems);
        VEC_FOREACH(problem, &problems.list)
                *vec_push(arena, &all) = (Finding){.diag = *problem};
        VEC_FOREACH(finding, &report->checked->list)
                *vec_push(arena, &all) = *finding;
        for (int severity = SEVERITY_ERROR; severity <= SEVERITY_NOTICE; severity++)
                VEC_FOREACH(finding, &all) {
                        const Diag *diag = &finding->diag;

                        /* A known finding may end with the text: "pg is refused: TEXT". */
                        if ((int) diag->severity == severity &&
                            !ARRAY_ANY(known, all.items, (size_t) (finding - all.items),
                                       known->diag.line == diag->line &&
                                               text_equals(known->diag.id, diag->id) &&
                                               text_equals(known->diag.file, diag->file) &&
                                               text_ends_with(known->diag.text, diag->text)))
                                *vec_push(arena, &report->findings) = *finding;
                }
}

/* ---- the verdict ---- */

typedef struct Counts {
        SourceNames barred;   /* may not start */
        SourceNames degraded; /* may start without all of their pages */
        SourceNames wrong;    /* do not run as planned */
        SourceNames unknown;  /* run, and cannot be judged */
        size_t n_hurting;
        bool has_error, has_warning;
} Counts;

static Counts count(Arena *arena, const Report *report) {
        Counts counts = {.n_hurting = findings_count_hurting(report->checked)};

        ARRAY_FOREACH(each, report->status->instances, report->status->n_instances) {
                if (!verdict_lets_start(each->verdict))
                        *vec_push(arena, &counts.barred) = each->name;
                else if (each->verdict != VERDICT_READY)
                        *vec_push(arena, &counts.degraded) = each->name;
        }
        VEC_FOREACH(proof, &report->proofs->list) {
                if (proof->outcome == OUTCOME_UNKNOWN)
                        *vec_push(arena, &counts.unknown) = proof->instance->name;
                else if (!proof->is_as_planned)
                        *vec_push(arena, &counts.wrong) = proof->instance->name;
        }
        VEC_FOREACH(finding, &report->findings) {
                Severity severity = finding->diag.severity;

                counts.has_error = counts.has_error ||
                                   (severity == SEVERITY_ERROR && !rule_hurts(&finding->diag));
                counts.has_warning = counts.has_warning || severity <= SEVERITY_WARNING;
        }
        return counts;
}

/* Adds "; may not start: orders, sales". */
static void say_names(Text *text, const char *what, const SourceNames *names) {
        if (names->n > 0)
                text_printf(text, "; %s: %s", what, some_of(text->arena, names));
}

static void say_first_look(Text *text, const HostView *look) {
        text_add(text, look->suggestions ? "No database is described to hugeplan on this host yet"
                                         : "No instance is in effect on this host yet");
        if (!look->suggestions)
                return;
        uint64_t n = VEC_SUM(each, look->suggestions, each->engine->reserves);
        const SetPagesList list = set_pages_find(text->arena, look);

        if (n > 0)
                text_printf(text, "; databases found that could use huge pages: %" PRIu64, n);
        VEC_FOREACH(set, &list)
                text_printf(
                        text, "; others set %s",
                        format_page_count_and_size(text->arena, set->pages, set->page_size_bytes));
}

static void judge_all(Arena *arena, Report *report) {
        const Counts counts = count(arena, report);
        Text text = text_in(arena);

        if (report->status->n_instances == 0) {
                report->verdict = REPORT_NOT_PLANNED;
                say_first_look(&text, report->view);
        } else {
                bool is_wrong = counts.barred.n > 0 || counts.wrong.n > 0 || counts.has_error;
                bool is_fine = counts.degraded.n == 0 && counts.unknown.n == 0 &&
                               !counts.has_warning && counts.n_hurting == 0 &&
                               report->wasted_bytes == 0;

                report->verdict = is_wrong  ? REPORT_NOT_AS_PLANNED
                                  : is_fine ? REPORT_AS_PLANNED
                                            : REPORT_ATTENTION;
                text_printf(&text, "Instances: %zu%s", report->status->n_instances,
                            report->verdict == REPORT_AS_PLANNED ? ", all as planned" : "");
                say_names(&text, "may not start", &counts.barred);
                say_names(&text, "start without all of their pages", &counts.degraded);
                say_names(&text, "do not use their pages as planned", &counts.wrong);
                say_names(&text, "cannot be judged", &counts.unknown);
        }
        if (report->wasted_bytes > 0)
                text_printf(&text, "; %s of huge pages are not used",
                            format_size(arena, report->wasted_bytes));
        if (counts.n_hurting > 0)
                text_printf(&text, "; findings that hurt at the next start: %zu", counts.n_hurting);
        text_add(&text, ".");
        report->sentence = text.string;
}

/* ---- what is not known ---- */

static void leave_out(Arena *arena, Report *report, const char *what, const char *why) {
        *vec_push(arena, &report->left_out) = arena_printf(arena, "%s: %s", what, why);
}

static void add_left_out(Arena *arena, Report *report) {
        size_t n_missing = 0;

        if (!report->host)
                leave_out(arena, report, "The host's name", "it cannot be read");
        if (!report->when)
                leave_out(arena, report, "Date and time",
                          "this is a captured host, and the time of its capture is not known");
        if (report->view->no_before)
                leave_out(arena, report, "Pages before hugeplan", report->view->no_before);
        if (report->view->history->missing)
                leave_out(arena, report, "History", report->view->history->missing);
        VEC_FOREACH(proof, &report->proofs->list) {
                /* The reason of an unknown outcome is among the findings. */
                if (proof->outcome == OUTCOME_UNKNOWN)
                        continue;
                VEC_FOREACH(missing, &proof->look->missing)
                        if (n_missing++ < MISSING_MAX)
                                leave_out(arena, report, proof->instance->name, *missing);
        }
        if (n_missing > MISSING_MAX)
                leave_out(arena, report, "More of this kind",
                          arena_printf(arena,
                                       "%zu; 'hugeplanctl verify NAME' shows all of an instance",
                                       n_missing - MISSING_MAX));
}

void report_judge(Arena *arena, Report *report) {
        report->wasted_bytes = VEC_SUM(row, &report->proofs->waste,
                                       mul_saturated(row->pages, row->page_size_bytes));
        add_findings(arena, report);
        judge_all(arena, report);
        add_left_out(arena, report);
}
