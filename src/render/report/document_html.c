/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/text.h"
#include "render/report/document.h"
#include "render/report/document_style.h"

/* Bars are drawn this wide, and stretched to the column. */
enum { BAR_WIDTH = 1000, BAR_HEIGHT = 10, PART_WIDTH_MIN = 3, SHORT_COLUMNS_MAX = 20 };

static const char *const tones[] = {
        [DOC_PLAIN] = "plain", [DOC_GOOD] = "good",   [DOC_ATTENTION] = "attention",
        [DOC_BAD] = "bad",     [DOC_MUTED] = "muted",
};

static const char *const fills[DOC_FILLS] = {
        [DOC_BEFORE] = "before", [DOC_INSTANCES] = "instances", [DOC_OTHERS] = "others",
        [DOC_USED] = "used",     [DOC_COST] = "cost",
};

/* ---- escaping ---- */

/* For text and for values of attributes between double quotes. */
static void add_escaped(Text *out, const char *string) {
        static const struct {
                char byte;
                const char *name;
        } names[] = {
                {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
        const char *text = text_printable(out->arena, string);

        for (size_t n; *text; text += n) {
                n = strcspn(text, "&<>\"'");
                text_add_n(out, text, n);
                if (!text[n])
                        break;
                text_add(out,
                         ARRAY_FIND(each, names, ARRAY_LEN(names), each->byte == text[n])->name);
                n++;
        }
}

/* STRING between BEFORE and AFTER, which are markup; NULL is nothing at all. */
static void add_between(Text *out, const char *before, const char *string, const char *after) {
        if (!string)
                return;
        text_add(out, before);
        add_escaped(out, string);
        text_add(out, after);
}

/* ---- tables ---- */

static void add_cell(Text *out, const DocCell *cell, const DocColumn *column, bool is_first) {
        const char *strong = arena_printf(out->arena, "<strong class=\"%s\">", tones[cell->tone]);
        bool is_toned = cell->tone != DOC_PLAIN;
        /* What is short is not broken: figures, words, dates, most names. */
        bool is_short = text_width(cell->text) <= SHORT_COLUMNS_MAX;

        text_printf(out, is_first ? "<th scope=\"row\"%s>" : "<td%s>",
                    column->is_right ? " class=\"right\""
                    : is_short       ? " class=\"short\""
                                     : "");
        add_between(out, is_toned ? strong : "", cell->text, is_toned ? "</strong>" : "");
        add_between(out, " <small>", cell->note, "</small>");
        text_add(out, is_first ? "</th>" : "</td>");
}

/* One that is wider than the page is scrolled, by keys as well. */
static void begin_table(Text *out, const char *class, const char *name) {
        add_between(out, "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"", name,
                    "\">\n");
        text_printf(out, "<table%s>", class);
        add_between(out, "<caption>", name, "</caption>\n");
}

static void add_table(Text *out, const DocTable *table) {
        begin_table(out, "", table->name);
        text_add(out, "<thead><tr>");
        VEC_FOREACH(column, &table->columns)
                add_between(out,
                            column->is_right ? "<th scope=\"col\" class=\"right\">"
                                             : "<th scope=\"col\">",
                            column->title, "</th>");
        text_add(out, "</tr></thead>\n<tbody>\n");
        VEC_FOREACH(cell, &table->cells) {
                size_t i = (size_t) (cell - table->cells.items) % table->columns.n;

                text_add(out, i == 0 ? "<tr>" : "");
                add_cell(out, cell, &table->columns.items[i], i == 0);
                text_add(out, i + 1 == table->columns.n ? "</tr>\n" : "");
        }
        text_add(out, "</tbody></table></div>\n");
}

/* ---- bars ---- */

static uint64_t width_of(uint64_t amount, uint64_t scale) {
        return scale == 0 ? 0 : mul_div(amount, BAR_WIDTH, scale);
}

static void add_rectangle(Text *out, const char *class, uint64_t x, uint64_t width,
                          const char *title) {
        text_printf(out,
                    "<rect class=\"%s\" x=\"%" PRIu64 "\" width=\"%" PRIu64 "\" height=\"%d\">",
                    class, x, width, BAR_HEIGHT);
        add_between(out, "<title>", title, "</title>");
        text_add(out, "</rect>");
}

static void add_drawing(Text *out, const DocBar *bar, uint64_t scale) {
        uint64_t x = 0;

        text_printf(out, "<svg viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" role=\"img\"",
                    BAR_WIDTH, BAR_HEIGHT);
        add_between(out, " aria-label=\"", bar->group, " ");
        add_between(out, "", bar->name, ": ");
        add_between(out, "", bar->text, "\">");
        if (bar->whole > 0)
                add_rectangle(out, "track", 0, width_of(bar->whole, scale), NULL);
        VEC_FOREACH(part, &bar->parts) {
                uint64_t width = part->amount == 0 ? 0
                                                   : MAX(width_of(part->amount, scale),
                                                         (uint64_t) PART_WIDTH_MIN);

                if (width > 0)
                        add_rectangle(out, fills[part->fill], MIN(x, (uint64_t) BAR_WIDTH - width),
                                      width,
                                      arena_printf(out->arena, "%s: %s", doc_fill_name(part->fill),
                                                   format_size(out->arena, part->amount)));
                x += width;
        }
        text_add(out, "</svg>");
}

static void add_swatch(Text *out, const char *fill, const char *name) {
        text_printf(out,
                    "<li><svg viewBox=\"0 0 10 10\" aria-hidden=\"true\"><rect class=\"%s\" "
                    "width=\"10\" height=\"10\"></rect></svg>",
                    fill);
        add_between(out, "", name, "</li>");
}

static void add_legend(Text *out, const DocBars *bars) {
        bool is_there[DOC_FILLS] = {};

        VEC_FOREACH(bar, &bars->list)
                VEC_FOREACH(part, &bar->parts)
                        is_there[part->fill] = true;
        text_add(out, "<ul class=\"legend\">");
        for (size_t fill = 0; fill < DOC_FILLS; fill++)
                if (is_there[fill])
                        add_swatch(out, fills[fill], doc_fill_name((DocFill) fill));
        add_swatch(out, "track", bars->rest);
        text_add(out, "</ul>\n");
}

/* How many bars from BAR on are of its group. */
static size_t group_size(const DocBars *bars, const DocBar *bar) {
        const DocBar *end = bars->list.items + bars->list.n, *next = bar;

        while (next < end && text_equals(next->group, bar->group))
                next++;
        return (size_t) (next - bar);
}

static void add_group(Text *out, const DocBars *bars, const DocBar *first, size_t n) {
        uint64_t scale = doc_bars_scale(bars);

        text_add(out, "<tbody>\n");
        ARRAY_FOREACH(bar, first, n) {
                text_add(out, "<tr>");
                if (bar == first && *bar->group) {
                        text_printf(out, "<th scope=\"rowgroup\" rowspan=\"%zu\">", n);
                        add_between(out, "", bar->group, "</th>");
                }
                add_between(out, "<th scope=\"row\"><small>", bar->name,
                            "</small></th><td class=\"bar\">");
                add_drawing(out, bar, scale);
                add_between(out, "</td><td>", bar->text, "</td></tr>\n");
        }
        text_add(out, "</tbody>\n");
}

static void add_bars(Text *out, const DocBars *bars) {
        const DocBar *end = bars->list.items + bars->list.n;

        begin_table(out, " class=\"bars\"", bars->name);
        for (const DocBar *bar = bars->list.items; bar < end;) {
                size_t n = group_size(bars, bar);

                add_group(out, bars, bar, n);
                bar += n;
        }
        text_add(out, "</table></div>\n");
        if (bars->rest)
                add_legend(out, bars);
}

/* ---- the document ---- */

static void add_item(Text *out, const DocItem *item) {
        text_add(out, item->label ? "<li>" : "<li class=\"plain\">");
        if (item->label) {
                text_printf(out, "<strong class=\"%s\">", tones[item->tone]);
                add_between(out, "", item->label, "</strong> ");
        }
        add_between(out, "<div>", item->text, "");
        add_between(out, " <small>[", item->note, "]</small>");
        add_between(out, "<div class=\"remedy\"><b>What to do:</b> ", item->remedy, "</div>");
        text_add(out, "</div></li>\n");
}

static void add_section(Text *out, const DocSection *section) {
        text_printf(out, "<section aria-labelledby=\"%s\">\n<h2 id=\"%s\">", section->id,
                    section->id);
        add_between(out, "", section->title, "</h2>\n");
        VEC_FOREACH(block, &section->blocks) {
                bool is_first = block == section->blocks.items || !block[-1].item;
                bool is_last = block + 1 == section->blocks.items + section->blocks.n ||
                               !block[1].item;

                add_between(out, "<p>", block->paragraph, "</p>\n");
                if (block->table)
                        add_table(out, block->table);
                if (block->bars)
                        add_bars(out, block->bars);
                if (!block->item)
                        continue;
                text_add(out, is_first ? "<ul class=\"items\">\n" : "");
                add_item(out, block->item);
                text_add(out, is_last ? "</ul>\n" : "");
        }
        text_add(out, "</section>\n");
}

static void add_header(Text *out, const Document *document) {
        add_between(out, "<header>\n<h1>", document->title, "</h1>\n");
        text_printf(out, "<p class=\"verdict %s\">", tones[document->tone]);
        add_between(out, "<strong>", document->verdict, "</strong> ");
        add_between(out, "", document->sentence, "</p>\n");
        text_add(out, "<dl class=\"facts\">\n");
        VEC_FOREACH(fact, &document->facts) {
                add_between(out, "<div><dt>", fact->name, "</dt>");
                add_between(out, "<dd>", fact->value, "");
                add_between(out, " <small>(", fact->note, ")</small>");
                text_add(out, "</dd></div>\n");
        }
        text_add(out, "</dl>\n<dl class=\"figures\">\n");
        VEC_FOREACH(figure, &document->figures) {
                add_between(out, "<div><dt>", figure->name, "</dt>");
                add_between(out, "<dd><strong>", figure->value, "</strong>");
                add_between(out, " ", figure->note, "");
                text_add(out, "</dd></div>\n");
        }
        text_add(out, "</dl>\n</header>\n<main>\n");
}

char *document_to_html(Arena *arena, const Document *document) {
        Text out = text_in(arena);

        text_add(
                &out,
                "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\" />\n"
                "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src &#39;none&#39;; "
                "style-src &#39;unsafe-inline&#39;\" />\n"
                "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\" />\n"
                "<meta name=\"color-scheme\" content=\"light dark\" />\n");
        add_between(&out, "<title>", document->title, "</title>\n");
        text_printf(&out, "<style>\n%s</style>\n</head>\n<body>\n", document_style);
        add_header(&out, document);
        VEC_FOREACH(section, &document->sections)
                add_section(&out, section);
        add_between(&out, "</main>\n<footer>", document->footer, "</footer>\n</body>\n</html>\n");
        return out.string;
}
