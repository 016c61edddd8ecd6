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

static bool has_same_cause(const Proof *a, const Proof *b) {
        return a->outcome == b->outcome && text_equals(a->why, b->why) &&
               text_equals(a->remedy, b->remedy);
}

static void add_findings(Arena *arena, Report *report) {
        const Proof *list = report->proofs->list.items;
        size_t n = report->proofs->list.n;
        Diags problems = diags_in(arena);
        FindingList all = {};

        diags_add_all(&problems, &report->status->problems);
        /* The same cause of several instances is reported once. */
        for (size_t i = 0; i < n; i++) {
                bool is_unknown = list[i].outcome == OUTCOME_UNKNOWN;
                Proof proof = list[i];
                SourceNames names = {};

                if (proof.why && !ARRAY_ANY(earlier, list, i, has_same_cause(earlier, &proof)))
                        ARRAY_FOREACH(each, list + i, n - i)
                                if (has_same_cause(each, &proof))
                                        *vec_push(arena, &names) = each->instance->name;
                if (names.n > 1)
                        diags_report(
                                &problems,
                                (Diag){.severity = is_unknown ? SEVERITY_WARNING : SEVERITY_ERROR,
                                       .remedy = proof.remedy},
                                "%s %s: %s", some_of(arena, &names),
                                is_unknown ? "cannot be judged" : "fell back to small pages",
                                proof.why);
                if (names.n != 1)
                        proof.why = NULL;
                proof_add_problems(&proof, SEVERITY_ERROR, &problems);
        }
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
        size_t n_running;
        bool reserves; /* an instance wants pages */
        size_t n_hurting;
        bool has_error, has_warning;
} Counts;

static Counts count(Arena *arena, const Report *report) {
        Counts counts = {.n_hurting = findings_count_hurting(report->checked)};

        ARRAY_FOREACH(each, report->status->instances, report->status->n_instances) {
                counts.reserves = counts.reserves || each->pages_wanted > 0;
                if (!verdict_lets_start(each->verdict))
                        *vec_push(arena, &counts.barred) = each->name;
                else if (each->verdict != VERDICT_READY)
                        *vec_push(arena, &counts.degraded) = each->name;
        }
        VEC_FOREACH(proof, &report->proofs->list) {
                counts.n_running += proof->look->is_running;
                if (proof->outcome == OUTCOME_UNKNOWN)
                        *vec_push(arena, &counts.unknown) = proof->instance->name;
                else if (!proof->is_as_planned)
                        *vec_push(arena, &counts.wrong) = proof->instance->name;
        }
        VEC_FOREACH(finding, &report->findings) {
                Severity severity = finding->diag.severity;

                counts.has_error = counts.has_error ||
                                   (severity == SEVERITY_ERROR && !finding->hurts);
                counts.has_warning = counts.has_warning || severity <= SEVERITY_WARNING;
        }
        return counts;
}

static void say_who_starts(Text *text, const Counts *counts, size_t n) {
        const SourceNames *names = counts->barred.n > 0 ? &counts->barred : &counts->degraded;
        const char *pages = counts->reserves ? " with its huge pages" : "";

        if (names->n > 0)
                text_printf(text, "%zu of %zu %s %s (%s)", names->n, n,
                            n == 1 ? "instance" : "instances",
                            counts->barred.n > 0 ? "may not start"
                            : names->n == 1      ? "starts without all of its pages"
                                                 : "start without all of their pages",
                            some_of(text->arena, names));
        else if (n == 1)
                text_printf(text, "The instance may start%s", pages);
        else
                text_printf(text, "Each of the %zu instances may start%s", n, pages);
}

/* Adds "; of the 5 databases that run, 3 do not use theirs as planned (a, b, c) and 1 cannot be judged (d)". */
static void say_who_runs(Text *text, const Counts *counts) {
        size_t n = counts->n_running;
        const SourceNames *wrong = &counts->wrong, *unknown = &counts->unknown;
        bool is_fine = wrong->n == 0 && unknown->n == 0;

        if (!counts->reserves)
                return;
        if (n == 0) {
                text_add(text, "; none of the databases that are described runs");
                return;
        }
        if (n == 1)
                text_printf(text, "; the database that runs %s", is_fine ? "uses its own" : "");
        else
                text_printf(text,
                            is_fine ? "; the %zu databases that run use theirs"
                                    : "; of the %zu databases that run, ",
                            n);
        if (wrong->n > 0 && n == 1)
                text_add(text, "does not use its own");
        else if (wrong->n > 0)
                text_printf(text,
                            wrong->n == 1 ? "%zu does not use its own" : "%zu do not use theirs",
                            wrong->n);
        if (wrong->n > 0)
                text_printf(text, " as planned (%s)", some_of(text->arena, wrong));
        if (unknown->n > 0 && n > 1)
                text_printf(text, "%s%zu ", wrong->n > 0 ? " and " : "", unknown->n);
        if (unknown->n > 0)
                text_printf(text, "cannot be judged (%s)", some_of(text->arena, unknown));
}

static void say_first_look(Text *text, const HostView *look) {
        text_add(text, look->suggestions ? "No database is described to hugeplan on this host yet"
                                         : "No instance is in effect on this host yet");
        if (!look->suggestions)
                return;
        uint64_t n = VEC_SUM(each, look->suggestions, each->engine->reserves);
        const SetPagesList list = set_pages_find(text->arena, look);

        if (n > 0)
                text_printf(text, "; %" PRIu64 " that could use huge pages %s found", n,
                            n == 1 ? "was" : "were");
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
                say_who_starts(&text, &counts, report->status->n_instances);
                say_who_runs(&text, &counts);
        }
        if (report->wasted_bytes > 0)
                text_printf(&text, "; %s of huge pages are not used",
                            format_size(arena, report->wasted_bytes));
        if (counts.n_hurting > 0)
                text_printf(&text, "; %zu %s at the next start", counts.n_hurting,
                            counts.n_hurting == 1 ? "finding hurts" : "findings hurt");
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
