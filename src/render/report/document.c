/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "render/report/document.h"

#include "base/text.h"

DocSection *document_add_section(Arena *arena, Document *document, const char *id,
                                 const char *title) {
        DocSection *section = vec_push(arena, &document->sections);

        section->id = id;
        section->title = title;
        return section;
}

void section_add_paragraph(Arena *arena, DocSection *section, const char *text) {
        vec_push(arena, &section->blocks)->paragraph = text;
}

void section_add_item(Arena *arena, DocSection *section, const DocItem *item) {
        vec_push(arena, &section->blocks)->item = arena_memdup(arena, item, sizeof(*item));
}

DocBars *section_add_bars(Arena *arena, DocSection *section, const DocBars *bars) {
        DocBars *copy = arena_memdup(arena, bars, sizeof(*bars));

        vec_push(arena, &section->blocks)->bars = copy;
        return copy;
}

DocTable *section_add_table(Arena *arena, DocSection *section, const char *name,
                            const char *columns) {
        DocTable *table = ARENA_NEW(arena, DocTable);

        table->name = name;
        for (const char *title; (title = text_next_word(arena, &columns, "|"));)
                *vec_push(arena, &table->columns) =
                        (DocColumn){title + (*title == '>'), *title == '>'};
        vec_push(arena, &section->blocks)->table = table;
        return table;
}

void doc_table_add_cell(Arena *arena, DocTable *table, const DocCell *cell) {
        DocCell *copy = vec_push(arena, &table->cells);

        *copy = *cell;
        if (!copy->text)
                copy->text = "-";
}

void doc_table_add(Arena *arena, DocTable *table, const char *text) {
        doc_table_add_cell(arena, table, &(DocCell){.text = text});
}

const char *doc_fill_name(DocFill fill) {
        static const char *const names[DOC_FILLS] = {
                [DOC_BEFORE] = "there before", [DOC_INSTANCES] = "for instances",
                [DOC_OTHERS] = "for others",   [DOC_USED] = "in use",
                [DOC_COST] = "page tables",
        };

        return names[fill];
}

uint64_t doc_bars_scale(const DocBars *bars) {
        uint64_t scale = 0;

        VEC_FOREACH(bar, &bars->list)
                scale = MAX(scale, MAX(bar->whole, VEC_SUM(part, &bar->parts, part->amount)));
        return scale;
}
