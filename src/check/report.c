/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "check/report.h"

#include "base/text.h"

enum { MISSING_MAX = 8 };

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
        size_t n_barred;   /* may not start */
        size_t n_degraded; /* may start without all of their pages */
        size_t n_wrong;    /* do not run as planned */
        size_t n_unknown;  /* run, and cannot be judged */
        size_t n_hurting;
        bool has_error, has_warning;
} Counts;

static Counts count(const Report *report) {
        Counts counts = {.n_hurting = findings_count_hurting(report->checked)};

        ARRAY_FOREACH(each, report->status->instances, report->status->n_instances) {
                counts.n_barred += !verdict_lets_start(each->verdict);
                counts.n_degraded += verdict_lets_start(each->verdict) &&
                                     each->verdict != VERDICT_READY;
        }
        VEC_FOREACH(proof, &report->proofs->list) {
                counts.n_unknown += proof->outcome == OUTCOME_UNKNOWN;
                counts.n_wrong += proof->outcome != OUTCOME_UNKNOWN && !proof->is_as_planned;
        }
        VEC_FOREACH(finding, &report->findings) {
                Severity severity = finding->diag.severity;

                counts.has_error = counts.has_error ||
                                   (severity == SEVERITY_ERROR && !rule_hurts(&finding->diag));
                counts.has_warning = counts.has_warning || severity <= SEVERITY_WARNING;
        }
        return counts;
}

/* Adds "; may not start: 2". */
static void say(Text *text, const char *what, size_t n) {
        if (n > 0)
                text_printf(text, "; %s: %zu", what, n);
}

static void judge_all(Arena *arena, Report *report) {
        const Counts counts = count(report);
        Text text = text_in(arena);

        if (report->status->n_instances == 0) {
                report->verdict = REPORT_NOT_PLANNED;
                text_add(&text, "No instance is in effect on this host yet");
        } else {
                bool is_wrong = counts.n_barred + counts.n_wrong > 0 || counts.has_error;
                bool is_fine = counts.n_degraded + counts.n_unknown + counts.n_hurting == 0 &&
                               !counts.has_warning && report->wasted_bytes == 0;

                report->verdict = is_wrong  ? REPORT_NOT_AS_PLANNED
                                  : is_fine ? REPORT_AS_PLANNED
                                            : REPORT_ATTENTION;
                text_printf(&text, "Instances: %zu%s", report->status->n_instances,
                            report->verdict == REPORT_AS_PLANNED ? ", all as planned" : "");
        }
        say(&text, "may not start", counts.n_barred);
        say(&text, "start without all of their pages", counts.n_degraded);
        say(&text, "do not use their pages as planned", counts.n_wrong);
        say(&text, "cannot be judged", counts.n_unknown);
        if (report->wasted_bytes > 0)
                text_printf(&text, "; %s of huge pages are not used",
                            format_size(arena, report->wasted_bytes));
        say(&text, "findings that hurt at the next start", counts.n_hurting);
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
