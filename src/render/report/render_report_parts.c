/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "render/render.h"
#include "render/render_explain.h"
#include "render/render_first_look.h"
#include "render/report/render_report.h"

#include <syslog.h>

enum { HISTORY_MAX = 25, TABLES_MAX = 20 };

/* ---- instances ---- */

/* "PostgreSQL, postgresql@15-main.service" */
static char *describe_instance(Arena *arena, const ReportInstance *row) {
        const char *engine = row->config && row->config->engine ? row->config->engine->title
                                                                : row->status->engine;
        Text text = text_in(arena);

        if (engine)
                text_add_item(&text, engine);
        text_add_item(&text, row->status->unit ? row->status->unit : "no unit waits for it");
        return text.string;
}

static DocCell verdict_cell(const StatusInstance *instance) {
        static const DocTone tones[] = {
                [VERDICT_READY] = DOC_PLAIN,       [VERDICT_DEGRADED] = DOC_ATTENTION,
                [VERDICT_PENDING] = DOC_ATTENTION, [VERDICT_REFUSED] = DOC_BAD,
                [VERDICT_INVALID] = DOC_BAD,       [VERDICT_LOST] = DOC_BAD,
        };

        return (DocCell){.text = verdict_name(instance->verdict), .tone = tones[instance->verdict]};
}

/* What became of it: "in use", and 139 mapped, 10 touched. */
static DocCell practice_cell(Arena *arena, const Proof *proof) {
        if (!proof)
                return (DocCell){};
        DocCell cell = {.text = proof_word(arena, proof)};
        Text note = text_in(arena);

        if (!proof->is_as_planned)
                cell.tone = proof->outcome == OUTCOME_FELL_BACK ? DOC_BAD : DOC_ATTENTION;
        if (!proof->look->is_running || proof->outcome == OUTCOME_UNKNOWN)
                return cell;
        if (proof->is_mapped_known)
                text_add_item(&note, arena_printf(arena, "%s mapped",
                                                  format_count(arena, proof->mapped_pages)));
        text_add_item(&note,
                      arena_printf(arena, "%s%s touched", proof->is_lower_bound ? "at least " : "",
                                   format_count(arena, proof->touched_pages)));
        cell.note = note.string;
        return cell;
}

static const char *exactness(const Sizing *sizing) {
        return !sizing ? NULL : sizing->is_exact ? "exact" : "an estimate";
}

/* The line of the configuration that gives the size. */
static DocCell given_cell(Arena *arena, const ReportInstance *row) {
        const InstanceConfig *config = row->config;
        const char *key = config->pages.n > 0         ? "Pages"
                          : config->n_node_memory > 0 ? "NodeMemory"
                                                      : "Memory";
        const ConfigOrigin *origin = config_find_origin(config, key);
        const char *how = exactness(row->sizing);

        if (!origin)
                return (DocCell){.note = how};
        return (DocCell){.text = arena_printf(arena, "%s=%s", key, origin->value),
                         .note = arena_printf(arena, "%s:%u%s%s", origin->file, origin->line,
                                              how ? ", " : "", how ? how : "")};
}

static DocCell source_cell(Arena *arena, const ReportInstance *row) {
        const InstanceConfig *config = row->config;
        const Setting *setting = row->setting;

        if (!config)
                return (DocCell){.text = "-", .note = "its file is gone"};
        if (config->refusal)
                return (DocCell){.text = "-", .note = "its file is broken"};
        if (!config->engine->reserves)
                return (DocCell){.text = "-", .note = "it reserves none"};
        if (config->memory_kind != MEMORY_AUTO)
                return given_cell(arena, row);
        return (DocCell){
                .text = row->sizing ? arena_printf(arena, "Memory=auto: %s, %s",
                                                   render_sizing_source(row->sizing->source),
                                                   exactness(row->sizing))
                                    : "Memory=auto: not known yet",
                .note = setting ? arena_printf(arena, "%s = %s in %s", setting->name,
                                               setting->value,
                                               setting->origin ? setting->origin : "its settings")
                                : NULL,
        };
}

void report_add_instances(Arena *arena, Document *document, const Report *report) {
        if (report->instances.n == 0)
                return;
        DocSection *section = document_add_section(arena, document, "instances", "Instances");
        DocTable *table = section_add_table(
                arena, section, "Instances with their sizes, and where these come from",
                "Instance|Verdict|In practice|>Size|>Pages|Nodes|Size from");

        VEC_FOREACH(row, &report->instances) {
                const StatusInstance *instance = row->status;
                const DocCell cells[] = {
                        {.text = instance->name, .note = describe_instance(arena, row)},
                        verdict_cell(instance),
                        practice_cell(arena, row->proof),
                        {.text = render_size(arena, instance->pages_wanted,
                                             instance->page_size_bytes)},
                        {.text = render_granted(arena, instance->pages_granted,
                                                instance->pages_wanted),
                         .note = instance->pages_wanted == 0
                                         ? NULL
                                         : arena_printf(arena, "of %s",
                                                        format_page_size(
                                                                arena, instance->page_size_bytes))},
                        {.text = render_nodes(arena, instance->nodes, instance->n_nodes),
                         .note = instance->until_restart ? "from its next start on" : NULL},
                        source_cell(arena, row),
                };

                ARRAY_FOREACH(cell, cells, ARRAY_LEN(cells))
                        doc_table_add_cell(arena, table, cell);
        }
}

/* ---- page tables ---- */

static void add_cost(Arena *arena, DocBars *bars, const char *name, uint64_t bytes) {
        if (bytes == 0) /* not known */
                return;
        DocBar *bar = vec_push(arena, &bars->list);

        *bar = (DocBar){.group = "", .name = name, .text = format_size(arena, bytes)};
        *vec_push(arena, &bar->parts) = (DocPart){bytes, DOC_COST};
}

static char *size_or_nothing(Arena *arena, uint64_t bytes) {
        return bytes > 0 ? format_size(arena, bytes) : NULL;
}

static void add_tables_of(Arena *arena, DocTable *table, const Proof *proof) {
        const ServerLook *look = proof->look;

        doc_table_add(arena, table, proof->instance->name);
        doc_table_add(arena, table, format_count(arena, look->n_processes));
        doc_table_add(arena, table, format_size(arena, look->page_table_bytes));
        doc_table_add(arena, table, size_or_nothing(arena, proof->small_tables_bytes));
        doc_table_add(arena, table, size_or_nothing(arena, proof->worst_tables_bytes));
        doc_table_add(arena, table,
                      proof->n_sessions_max > 0 ? format_count(arena, proof->n_sessions_max)
                                                : NULL);
}

void report_add_tables(Arena *arena, Document *document, const Report *report) {
        const ReportTables *tables = &report->tables;
        size_t n = 0;

        if (tables->n == 0)
                return;
        DocSection *section = document_add_section(arena, document, "page-tables",
                                                   "Page tables: what huge pages save");

        section_add_paragraph(
                arena, section,
                "With small pages: what page tables come to once every process has touched all of the "
                "memory that its database shares; with all sessions: as many as the database allows.");
        DocBars *bars =
                section_add_bars(arena, section, &(DocBars){.name = "Page tables of all that run"});

        add_cost(arena, bars, "now", tables->bytes);
        add_cost(arena, bars, "with small pages, up to", tables->small_bytes);
        add_cost(arena, bars, "likewise, with all sessions", tables->worst_bytes);
        DocTable *table = section_add_table(
                arena, section, "Page tables by instance",
                "Instance|>Processes|>Now|>With small pages|>With all sessions|>Sessions");

        VEC_FOREACH(proof, &report->input->proofs->list)
                if (proof->look->page_table_bytes > 0 && n++ < TABLES_MAX)
                        add_tables_of(arena, table, proof);
        if (n > TABLES_MAX)
                section_add_paragraph(
                        arena, section,
                        arena_printf(arena, "%zu more: 'hugeplanctl verify' has all of them.",
                                     n - TABLES_MAX));
}

/* ---- waste ---- */

void report_add_waste(Arena *arena, Document *document, const Report *report) {
        const WasteList *waste = &report->input->proofs->waste;

        if (waste->n == 0)
                return;
        DocSection *section = document_add_section(arena, document, "waste", "Waste");
        DocTable *table = section_add_table(arena, section, "Huge pages that serve nobody",
                                            "Whose|>Huge pages|>For|What|What gives them back");

        VEC_FOREACH(row, waste) {
                doc_table_add(arena, table, row->instance ? row->instance : "nobody's");
                doc_table_add_cell(
                        arena, table,
                        &(DocCell){.text = render_size(arena, row->pages, row->page_size_bytes),
                                   .note = format_page_count(arena, row->pages,
                                                             row->page_size_bytes)});
                doc_table_add(arena, table,
                              row->age_usec > 0 ? proof_format_age(arena, row->age_usec) : NULL);
                doc_table_add(arena, table, row->what);
                doc_table_add(arena, table, row->command);
        }
}

/* ---- history ---- */

static DocTone entry_tone(const HistoryEntry *entry) {
        return !entry->level.is_known              ? DOC_PLAIN
               : entry->level.value <= LOG_ERR     ? DOC_BAD
               : entry->level.value <= LOG_WARNING ? DOC_ATTENTION
                                                   : DOC_PLAIN;
}

void report_add_history(Arena *arena, Document *document, const Report *report) {
        const HistoryEntries *history = report->input->history;
        size_t n_shown = MIN(history->n, (size_t) HISTORY_MAX);

        if (report->input->no_history)
                return;
        DocSection *section =
                document_add_section(arena, document, "history", "History of this boot");

        if (history->n == 0) {
                section_add_paragraph(arena, section, "Nothing is recorded.");
                return;
        }
        if (n_shown < history->n)
                section_add_paragraph(
                        arena, section,
                        arena_printf(arena,
                                     "The last %zu of %zu entries; 'journalctl -b -u hugeplan' "
                                     "has all of them.",
                                     n_shown, history->n));
        DocTable *table = section_add_table(arena, section, "What happened in this boot",
                                            "When|Event|Instance|What happened");

        ARRAY_FOREACH(entry, history->items + (history->n - n_shown), n_shown) {
                doc_table_add(arena, table, entry->at);
                doc_table_add_cell(arena, table,
                                   &(DocCell){.text = entry->event, .tone = entry_tone(entry)});
                doc_table_add(arena, table,
                              entry->instances.n > 0 ? report_names(arena, &entry->instances)
                                                     : NULL);
                doc_table_add(arena, table, entry->text);
        }
}

/* ---- a host of which nothing is described ---- */

static void add_set_pages(Arena *arena, DocSection *section, const FirstLook *look) {
        VEC_FOREACH(set, look->set_pages) {
                Text text = text_in(arena);

                text_printf(&text, "Set by others: %s",
                            format_page_count_and_size(arena, set->pages, set->page_size_bytes));
                VEC_FOREACH(source, &set->sources)
                        text_printf(&text, "%s%s", source == set->sources.items ? ": " : "; ",
                                    setting_source_format(arena, *source));
                section_add_paragraph(arena, section, text.string);
        }
}

void report_add_first_look(Arena *arena, Document *document, const Report *report) {
        const FirstLook *look = report->input->first_look;

        if (!look)
                return;
        const FirstLookNext next = first_look_next(look);
        DocSection *section =
                document_add_section(arena, document, "databases", "Databases of this host");
        DocTable *table = NULL;

        VEC_FOREACH(suggestion, look->suggestions) {
                const FirstLookRow row = first_look_row(arena, look, suggestion);

                if (!suggestion->engine->reserves)
                        continue;
                if (!table)
                        table = section_add_table(
                                arena, section, "Databases that could use huge pages",
                                "Database|>Needs|Memory now|>Tables now|Tables at worst");
                doc_table_add_cell(arena, table,
                                   &(DocCell){.text = suggestion->title, .note = suggestion->unit});
                doc_table_add(arena, table, row.needs);
                doc_table_add(arena, table, row.memory);
                doc_table_add(arena, table, row.tables);
                doc_table_add(arena, table, row.tables_at_worst);
        }
        section_add_paragraph(
                arena, section,
                table ? "Tables: page tables, next to nothing with huge pages; at worst, where every "
                        "session touches all of the memory that the database shares."
                      : "No databases were found that take huge pages and that hugeplan knows.");
        add_set_pages(arena, section, look);
        section_add_paragraph(
                arena, section,
                next.command ? arena_printf(arena, "Next: '%s' shows %s.", next.command, next.what)
                             : arena_printf(arena, "Next: %s.", next.what));
}
