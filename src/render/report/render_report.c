/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "render/report/render_report.h"

#include "render/render.h"

/* Two pages of paper hold no more; what is left out is said, and where it is. */
enum { FINDINGS_MAX = 10, NODES_MAX = 16 };

static const struct {
        const char *word;
        DocTone tone;
} verdicts[] = {
        [REPORT_NOT_PLANNED] = {"Not planned yet", DOC_PLAIN},
        [REPORT_AS_PLANNED] = {"As planned", DOC_GOOD},
        [REPORT_ATTENTION] = {"Needs attention", DOC_ATTENTION},
        [REPORT_NOT_AS_PLANNED] = {"Not as planned", DOC_BAD},
};

/* ---- the headline ---- */

static void add_fact(Arena *arena, Document *document, const char *name, const char *value,
                     const char *note) {
        if (value)
                *vec_push(arena, &document->facts) = (DocFact){name, value, note};
}

/* Who says all this. */
static const char *told_by(const Status *status) {
        return text_equals(status->phase, "no daemon")
                       ? "hugepland cannot be reached; this is what the files say"
               : text_equals(status->phase, "idle") ? NULL
                                                    : status->phase;
}

static void add_facts(Arena *arena, Document *document, const Report *report) {
        const ReportInput *input = report->input;
        size_t n = report->nodes.n;

        add_fact(arena, document, "Date", input->when, NULL);
        add_fact(arena, document, "Linux", input->topology->kernel_release, NULL);
        add_fact(arena, document, "Memory",
                 arena_printf(arena, "%s on %zu %s", format_size(arena, report->memory_bytes), n,
                              n == 1 ? "node" : "nodes"),
                 NULL);
        add_fact(arena, document, "Transparent huge pages",
                 input->status->thp ? input->status->thp : "none", NULL);
        add_fact(arena, document, "hugeplan", HUGEPLAN_VERSION, told_by(input->status));
}

static void add_figure(Arena *arena, Document *document, const char *name, uint64_t bytes,
                       const char *note) {
        *vec_push(arena, &document->figures) = (DocFact){
                name, bytes > 0 ? format_size(arena, bytes) : arena_strdup(arena, "none"), note};
}

/* "16%"; NULL where that says nothing. */
static char *percent_of(Arena *arena, uint64_t part, uint64_t whole) {
        if (whole == 0)
                return NULL;
        if (part > 0 && mul_div(part, 100, whole) == 0)
                return arena_strdup(arena, "less than 1%");
        return arena_printf(arena, "%" PRIu64 "%%", mul_div(part, 100, whole));
}

static void add_figures(Arena *arena, Document *document, const Report *report) {
        const ReportInput *input = report->input;
        const ReportTables *tables = &report->tables;
        const char *of_memory = percent_of(arena, report->now_bytes, report->memory_bytes);
        const char *of_pages = percent_of(arena, report->used_bytes, report->now_bytes);
        const char *before = input->no_before ? "before: not known"
                             : report->before_bytes > 0
                                     ? arena_printf(arena, "before: %s",
                                                    format_size(arena, report->before_bytes))
                                     : "before: none";

        add_figure(arena, document, "Huge pages", report->now_bytes,
                   of_memory && report->now_bytes > 0
                           ? arena_printf(arena, "%s of the memory; %s", of_memory, before)
                           : before);
        add_figure(
                arena, document, "In use", report->used_bytes,
                report->used_bytes > 0 && of_pages
                        ? arena_printf(arena, "%s of them, the rest is free or reserved", of_pages)
                : report->now_bytes > 0 ? "all are free or reserved"
                                        : NULL);
        add_figure(arena, document, "Wasted", report->wasted_bytes,
                   report->wasted_bytes > 0 ? "huge pages that serve nobody" : NULL);
        if (tables->n > 0)
                add_figure(arena, document, "Page tables of databases", tables->bytes,
                           tables->small_bytes == 0
                                   ? NULL
                                   : arena_printf(arena, "with small pages up to %s",
                                                  format_size(arena, tables->small_bytes)));
        else if (input->tables_bytes > 0)
                add_figure(arena, document, "Page tables", input->tables_bytes,
                           "of the whole host");
}

/* ---- findings ---- */

static void add_findings(Arena *arena, Document *document, const Report *report) {
        static const DocTone tones[] = {
                [SEVERITY_ERROR] = DOC_BAD,
                [SEVERITY_WARNING] = DOC_ATTENTION,
                [SEVERITY_NOTICE] = DOC_MUTED,
        };
        DocSection *section = document_add_section(arena, document, "findings", "What to look at");
        size_t n = report->findings.n, n_shown = MIN(n, (size_t) FINDINGS_MAX);

        ARRAY_FOREACH(finding, report->findings.items, n_shown) {
                Diag diag = finding->diag;

                diag.remedy = NULL;
                section_add_item(arena, section,
                                 &(DocItem){.tone = tones[diag.severity],
                                            .label = severity_name(diag.severity),
                                            .text = diag_format(arena, &diag),
                                            .note = diag.id,
                                            .remedy = finding->diag.remedy});
        }
        if (n > n_shown)
                section_add_paragraph(
                        arena, section,
                        arena_printf(arena,
                                     "%zu more: 'hugeplanctl status', 'hugeplanctl verify' and "
                                     "'hugeplanctl check' have all of them.",
                                     n - n_shown));
        if (n == 0)
                section_add_paragraph(arena, section,
                                      report->wasted_bytes > 0
                                              ? "Nothing but what is wasted; see below."
                                              : "Nothing was found.");
}

/* ---- before and after ---- */

static void add_bar(Arena *arena, DocBars *bars, const ReportNode *node, const DocBar *bar,
                    uint64_t bytes, const char *of) {
        DocBar *copy = vec_push(arena, &bars->list);

        *copy = *bar;
        copy->group = arena_printf(arena, "node %u", node->id);
        copy->whole = node->memory_bytes;
        copy->text =
                arena_printf(arena, "%s%s", bytes > 0 ? format_size(arena, bytes) : "none", of);
}

static void add_node(Arena *arena, DocBars *bars, const Report *report, const ReportNode *node) {
        uint64_t now_bytes = add_saturated(node->instances_bytes, node->others_bytes);
        DocBar before = {.name = "before"}, now = {.name = "now"}, used = {.name = "in use"};

        *vec_push(arena, &before.parts) = (DocPart){node->before_bytes, DOC_BEFORE};
        *vec_push(arena, &now.parts) = (DocPart){node->instances_bytes, DOC_INSTANCES};
        *vec_push(arena, &now.parts) = (DocPart){node->others_bytes, DOC_OTHERS};
        *vec_push(arena, &used.parts) = (DocPart){node->used_bytes, DOC_USED};
        if (!report->input->no_before)
                add_bar(arena, bars, node, &before, node->before_bytes, "");
        add_bar(arena, bars, node, &now, now_bytes,
                node->memory_bytes > 0
                        ? arena_printf(arena, " of %s", format_size(arena, node->memory_bytes))
                        : "");
        add_bar(arena, bars, node, &used, node->used_bytes, "");
}

/* "+1,064"; "-" where it is the same, or not known. */
static char *change_of(Arena *arena, HistoryNumber before, uint64_t now) {
        if (!before.is_known || before.value == now)
                return NULL;
        return now > before.value
                       ? arena_printf(arena, "+%s", format_count(arena, now - before.value))
                       : arena_printf(arena, "-%s", format_count(arena, before.value - now));
}

static void add_pools(Arena *arena, DocSection *section, const Report *report) {
        const Exposures *covers = &report->input->status->covers;
        DocTable *table = section_add_table(
                arena, section, "Pools by node and page size, before and now",
                covers->n > 0 ? "Node|>Page|>Before|>Now|>Change|>For instances|>Cover|>For others|"
                                ">Free|>Surplus|>Memory"
                              : "Node|>Page|>Before|>Now|>Change|>For instances|>For others|>Free|"
                                ">Surplus|>Memory");

        VEC_FOREACH(row, &report->pools) {
                const StatusPool *pool = row->now;

                doc_table_add(arena, table, arena_printf(arena, "%u", pool->node));
                doc_table_add(arena, table, format_page_size(arena, pool->page_size_bytes));
                doc_table_add(arena, table,
                              row->before_pages.is_known
                                      ? format_count(arena, row->before_pages.value)
                                      : NULL);
                doc_table_add(arena, table, format_count(arena, pool->total_pages));
                doc_table_add(arena, table, change_of(arena, row->before_pages, pool->total_pages));
                doc_table_add(arena, table, format_count(arena, pool->owned_pages));
                if (covers->n > 0)
                        doc_table_add(arena, table, format_count(arena, pool->cover_pages));
                doc_table_add(arena, table, format_count(arena, pool->foreign_pages));
                doc_table_add(arena, table, format_count(arena, pool->free_pages));
                doc_table_add(arena, table, format_count(arena, pool->surplus_pages));
                doc_table_add(arena, table,
                              render_size(arena, pool->total_pages, pool->page_size_bytes));
        }
        VEC_FOREACH(cover, covers)
                section_add_paragraph(arena, section,
                                      arena_printf(arena, "Cover: %s", render_cover(arena, cover)));
}

static void add_before_after(Arena *arena, Document *document, const Report *report) {
        DocSection *section =
                document_add_section(arena, document, "before-after", "Before and after");
        size_t n_drawn = MIN(report->nodes.n, (size_t) NODES_MAX);

        if (report->pools.n == 0) {
                section_add_paragraph(arena, section,
                                      report->input->status->n_pools == 0
                                              ? "This kernel has no huge pages."
                                      : report->input->no_before
                                              ? "All huge page pools are empty."
                                              : "All huge page pools are empty, and were before.");
                return;
        }
        if (!report->input->no_before)
                section_add_paragraph(
                        arena, section,
                        "Before: what was in the pools when hugeplan first looked in this boot, or "
                        "what others have added since. The table counts pages.");
        DocBars *bars = section_add_bars(
                arena, section,
                &(DocBars){.name = "Huge pages by node", .rest = "rest of the node's memory"});

        ARRAY_FOREACH(node, report->nodes.items, n_drawn)
                add_node(arena, bars, report, node);
        if (n_drawn < report->nodes.n)
                section_add_paragraph(arena, section,
                                      arena_printf(arena, "%zu more nodes are in the table.",
                                                   report->nodes.n - n_drawn));
        add_pools(arena, section, report);
}

/* ---- all ---- */

static void add_left_out(Arena *arena, Document *document, const Report *report) {
        if (report->left_out.n == 0)
                return;
        DocSection *section =
                document_add_section(arena, document, "left-out", "What is left out, and why");

        VEC_FOREACH(sentence, &report->left_out)
                section_add_item(arena, section, &(DocItem){.text = *sentence});
}

Document *render_report(Arena *arena, const Report *report) {
        Document *document = ARENA_NEW(arena, Document);
        const char *host = report->input->host, *when = report->input->when;

        *document = (Document){
                .title = host   ? arena_printf(arena, "Huge pages on %s", host)
                         : when ? "Huge pages of this host"
                                : "Huge pages of a captured host",
                .tone = verdicts[report->verdict].tone,
                .verdict = verdicts[report->verdict].word,
                .sentence = report->sentence,
                .footer = "Made by hugeplanctl " HUGEPLAN_VERSION
                          ", report. Sizes are binary: 1G is 1,024M.",
        };
        add_facts(arena, document, report);
        add_figures(arena, document, report);
        report_add_first_look(arena, document, report);
        add_findings(arena, document, report);
        add_before_after(arena, document, report);
        report_add_instances(arena, document, report);
        report_add_tables(arena, document, report);
        report_add_waste(arena, document, report);
        report_add_history(arena, document, report);
        add_left_out(arena, document, report);
        return document;
}
