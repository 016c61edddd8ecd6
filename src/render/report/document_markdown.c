/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A document as Markdown: tables as GitHub, GitLab and most ticket systems know them. A backslash before a character
 * that means something takes that away; what means something only where a line begins is taken care of everywhere,
 * for who knows what begins a line where this is pasted. */
#include "base/text.h"
#include "render/report/document.h"

enum { BAR_COLUMNS = 40 };

/* ---- escaping ---- */

static bool is_word(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               (unsigned char) c >= 0x80;
}

/* At the beginning of a line: a heading, a quotation, a list, a line across; "+64" and "-" alone are figures. */
static bool begins_block(const char *text, const char *at) {
        if (at == text)
                return strchr("#>", *at) || (strchr("+-=", *at) && strchr(" +-=", at[1]) && at[1]);
        return strchr(".)", *at) && (at[1] == ' ' || !at[1]) &&
               strspn(text, "0123456789") == (size_t) (at - text);
}

/* "huge_pages" and "a & b" are left as they are: an underscore within a word means nothing, nor does "&" but before
 * the name of a character. */
static bool is_special(const char *text, const char *at) {
        if (*at == '_')
                return at == text || !is_word(at[-1]) || !is_word(at[1]);
        if (*at == '&')
                return is_word(at[1]) || at[1] == '#';
        return strchr("\\`*[<|~$", *at) || begins_block(text, at);
}

static void add_escaped(Text *out, const char *string) {
        const char *text = text_printable(out->arena, string);

        for (const char *at = text; *at; at++)
                text_printf(out, "%s%c", is_special(text, at) ? "\\" : "", *at);
}

static void add_strong(Text *out, const char *string) {
        text_add(out, "**");
        add_escaped(out, string);
        text_add(out, "**");
}

/* ---- tables ---- */

static void add_noted(Text *out, const char *text, const char *note) {
        add_escaped(out, text);
        if (note) {
                text_add(out, " (");
                add_escaped(out, note);
                text_add(out, ")");
        }
}

static void add_cell(Text *out, const DocCell *cell) {
        bool is_strong = cell->tone == DOC_BAD || cell->tone == DOC_ATTENTION;

        if (is_strong)
                add_strong(out, cell->text);
        else
                add_escaped(out, cell->text);
        if (cell->note)
                add_noted(out, "", cell->note);
}

static void add_heading(Text *out, const char *title) {
        text_add(out, "| ");
        add_escaped(out, title);
        text_add(out, " ");
}

static void add_table(Text *out, const DocTable *table) {
        VEC_FOREACH(column, &table->columns)
                add_heading(out, column->title);
        text_add(out, "|\n");
        VEC_FOREACH(column, &table->columns)
                text_add(out, column->is_right ? "|--:" : "|:--");
        text_add(out, "|\n");
        VEC_FOREACH(cell, &table->cells) {
                size_t i = (size_t) (cell - table->cells.items);

                text_add(out, "| ");
                add_cell(out, cell);
                text_add(out, (i + 1) % table->columns.n == 0 ? " |\n" : " ");
        }
        text_add(out, "\n");
}

static void add_figures(Text *out, const Document *document) {
        if (document->figures.n == 0)
                return;
        VEC_FOREACH(figure, &document->figures)
                add_heading(out, figure->name);
        text_add(out, "|\n");
        VEC_FOREACH(figure, &document->figures)
                text_add(out, "|:--");
        text_add(out, "|\n");
        VEC_FOREACH(figure, &document->figures) {
                text_add(out, "| ");
                add_strong(out, figure->value);
                text_add(out, figure->note ? ", " : "");
                add_escaped(out, figure->note ? figure->note : "");
                text_add(out, " ");
        }
        text_add(out, "|\n\n");
}

/* ---- bars, in a block of code, where nothing has a meaning but a line of backticks ---- */

static const char *const fills[DOC_FILLS] = {
        [DOC_BEFORE] = "░", [DOC_INSTANCES] = "█", [DOC_OTHERS] = "▒",
        [DOC_USED] = "▓",   [DOC_COST] = "█",
};

static void add_code(Text *out, const char *string, size_t width) {
        char *text = text_printable(out->arena, string);

        for (char *at = text; *at; at++)
                if (*at == '`')
                        *at = '\'';
        text_add(out, text);
        text_repeat(out, ' ', sub_floored(width, text_width(text)));
}

static size_t columns_of(uint64_t amount, uint64_t scale) {
        return scale == 0 ? 0 : (size_t) mul_div_up(amount, BAR_COLUMNS, scale);
}

static void add_bar(Text *out, const DocBar *bar, uint64_t scale) {
        size_t n = 0;

        VEC_FOREACH(part, &bar->parts)
                for (size_t i = columns_of(part->amount, scale); i > 0 && n < BAR_COLUMNS; i--, n++)
                        text_add(out, fills[part->fill]);
        for (size_t end = columns_of(bar->whole, scale); n < end; n++)
                text_add(out, "·");
        text_repeat(out, ' ', BAR_COLUMNS - n + 2);
}

static void add_legend(Text *out, const DocBars *bars) {
        bool is_there[DOC_FILLS] = {};
        const char *between = "";

        VEC_FOREACH(bar, &bars->list)
                VEC_FOREACH(part, &bar->parts)
                        is_there[part->fill] = true;
        text_add(out, "\n");
        for (size_t fill = 0; fill < DOC_FILLS; fill++)
                if (is_there[fill]) {
                        text_printf(out, "%s%s %s", between, fills[fill],
                                    doc_fill_name((DocFill) fill));
                        between = "   ";
                }
        text_printf(out, "%s· ", between);
        add_code(out, bars->rest, 0);
        text_add(out, "\n");
}

static void add_bars(Text *out, const DocBars *bars) {
        uint64_t scale = doc_bars_scale(bars);
        size_t group_width = 0, name_width = 0;
        const char *group = NULL;

        VEC_FOREACH(bar, &bars->list) {
                group_width = MAX(group_width, text_width(bar->group));
                name_width = MAX(name_width, text_width(bar->name));
        }
        text_add(out, "```\n");
        VEC_FOREACH(bar, &bars->list) {
                add_code(out, text_equals(group, bar->group) ? "" : bar->group,
                         group_width > 0 ? group_width + 2 : 0);
                add_code(out, bar->name, name_width + 2);
                add_bar(out, bar, scale);
                add_code(out, bar->text, 0);
                text_add(out, "\n");
                group = bar->group;
        }
        if (bars->rest)
                add_legend(out, bars);
        text_add(out, "```\n\n");
}

/* ---- the document ---- */

static void add_item(Text *out, const DocItem *item) {
        text_add(out, "- ");
        if (item->label) {
                add_strong(out, item->label);
                text_add(out, ": ");
        }
        add_noted(out, item->text, item->note);
        if (item->remedy) {
                text_add(out, "\\\n  *What to do:* ");
                add_escaped(out, item->remedy);
        }
        text_add(out, "\n");
}

static void add_section(Text *out, const DocSection *section) {
        text_add(out, "## ");
        add_escaped(out, section->title);
        text_add(out, "\n\n");
        VEC_FOREACH(block, &section->blocks) {
                bool is_last = block + 1 == section->blocks.items + section->blocks.n;

                if (block->paragraph) {
                        add_escaped(out, block->paragraph);
                        text_add(out, "\n\n");
                } else if (block->table) {
                        add_table(out, block->table);
                } else if (block->bars) {
                        add_bars(out, block->bars);
                } else if (block->item) {
                        add_item(out, block->item);
                        text_add(out, is_last || !block[1].item ? "\n" : "");
                }
        }
}

char *document_to_markdown(Arena *arena, const Document *document) {
        Text out = text_in(arena);

        text_add(&out, "# ");
        add_escaped(&out, document->title);
        text_add(&out, "\n\n");
        add_strong(&out, document->verdict);
        text_add(&out, ": ");
        add_escaped(&out, document->sentence);
        text_add(&out, "\n\n");
        VEC_FOREACH(fact, &document->facts) {
                text_add(&out, "- ");
                add_escaped(&out, fact->name);
                text_add(&out, ": ");
                add_noted(&out, fact->value, fact->note);
                text_add(&out, "\n");
        }
        text_add(&out, "\n");
        add_figures(&out, document);
        VEC_FOREACH(section, &document->sections)
                add_section(&out, section);
        add_escaped(&out, document->footer);
        text_add(&out, "\n");
        return out.string;
}
