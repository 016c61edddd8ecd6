/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "check/report.h"

#include "base/text.h"

enum { MISSING_MAX = 8 };

/* ---- findings ---- */

static void add_findings(Arena *arena, Report *report) {
        Diags problems = diags_in(arena);
        FindingList all = {};

        diags_add_all(&problems, &report->status->problems);
        VEC_FOREACH(proof, &report->proofs.list)
                proof_add_problems(proof, SEVERITY_ERROR, &problems);
        VEC_FOREACH(problem, &problems.list)
                *vec_push(arena, &all) = (Finding){.diag = *problem};
        vec_push_all(arena, &all, &report->checked.list);
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

/* Adds "; may not start: 2". */
static void say(Text *text, const char *what, uint64_t n) {
        if (n > 0)
                text_printf(text, "; %s: %" PRIu64, what, n);
}

static void judge_all(Arena *arena, Report *report) {
        const Status *status = report->status;
        uint64_t n_barred = ARRAY_SUM(each, status->instances, status->n_instances,
                                      !verdict_lets_start(each->verdict));
        uint64_t n_degraded =
                ARRAY_SUM(each, status->instances, status->n_instances,
                          verdict_lets_start(each->verdict) && each->verdict != VERDICT_READY);
        uint64_t n_wrong = VEC_SUM(proof, &report->proofs.list,
                                   proof->outcome != OUTCOME_UNKNOWN && !proof->is_as_planned);
        uint64_t n_unknown =
                VEC_SUM(proof, &report->proofs.list, proof->outcome == OUTCOME_UNKNOWN);
        uint64_t n_hurting = findings_count_hurting(&report->checked);
        Text text = text_in(arena);

        if (report->status->n_instances == 0) {
                report->verdict = REPORT_NOT_PLANNED;
                text_add(&text, "No instance is in effect on this host yet");
        } else {
                bool is_wrong = n_barred + n_wrong > 0 ||
                                VEC_ANY(finding, &report->findings,
                                        finding->diag.severity == SEVERITY_ERROR &&
                                                !rule_hurts(&finding->diag));
                bool is_fine = n_degraded + n_unknown + n_hurting == 0 &&
                               !VEC_ANY(finding, &report->findings,
                                        finding->diag.severity <= SEVERITY_WARNING) &&
                               report->wasted_bytes == 0;

                report->verdict = is_wrong  ? REPORT_NOT_AS_PLANNED
                                  : is_fine ? REPORT_AS_PLANNED
                                            : REPORT_ATTENTION;
                text_printf(&text, "Instances: %zu%s", report->status->n_instances,
                            report->verdict == REPORT_AS_PLANNED ? ", all as planned" : "");
        }
        say(&text, "may not start", n_barred);
        say(&text, "start without all of their pages", n_degraded);
        say(&text, "do not use their pages as planned", n_wrong);
        say(&text, "cannot be judged", n_unknown);
        if (report->wasted_bytes > 0)
                text_printf(&text, "; %s of huge pages are not used",
                            format_size(arena, report->wasted_bytes));
        say(&text, "findings that hurt at the next start", n_hurting);
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
        if (report->view.no_before)
                leave_out(arena, report, "Pages before hugeplan", report->view.no_before);
        if (report->view.history->missing)
                leave_out(arena, report, "History", report->view.history->missing);
        VEC_FOREACH(proof, &report->proofs.list) {
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
        report->wasted_bytes = VEC_SUM(row, &report->proofs.waste,
                                       mul_saturated(row->pages, row->page_size_bytes));
        add_findings(arena, report);
        judge_all(arena, report);
        add_left_out(arena, report);
}
