/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A document: headline, sections, tables, bars; described once, and written as HTML or as Markdown.
 *
 * Texts come from anywhere (names of instances, paths, messages of strangers): whoever describes a document gives
 * them as they are, whoever writes it escapes all of them, and what is no printable UTF-8 becomes "?". The page takes
 * nothing from elsewhere and runs nothing; its policy (Content-Security-Policy) says so to browsers, too. It is also
 * well-formed XML. Sources: HTML Living Standard, CommonMark 0.31, GitHub Flavored Markdown 0.29 (tables). */

#include "base/vec.h"

typedef enum DocTone { DOC_PLAIN, DOC_GOOD, DOC_ATTENTION, DOC_BAD, DOC_MUTED } DocTone;

typedef struct DocFact {
        const char *name, *value;
        const char *note; /* NULL: none */
} DocFact;

typedef struct DocCell {
        const char *text;
        const char *note; /* less important; NULL: none */
        DocTone tone;
} DocCell;

typedef struct DocColumn {
        const char *title;
        bool is_right;
} DocColumn;

/* The first column names its rows. */
typedef struct DocTable {
        const char *name; /* what it shows, for those who cannot see it */
        VEC(DocColumn) columns;
        VEC(DocCell) cells;
} DocTable;

/* What a part of a bar stands for. */
typedef enum DocFill {
        DOC_BEFORE,
        DOC_INSTANCES,
        DOC_OTHERS,
        DOC_USED,
        DOC_COST,
        DOC_FILLS
} DocFill;

typedef struct DocPart {
        uint64_t amount;
        DocFill fill;
} DocPart;

typedef struct DocBar {
        const char *group; /* of bars that belong together: the same text one after the other */
        const char *name;
        uint64_t whole; /* of which the parts are parts; 0: of nothing */
        VEC(DocPart) parts;
        const char *text; /* the same in figures */
} DocBar;

typedef struct DocBars {
        const char *name;
        const char *rest; /* what is left of a whole, for the legend; NULL: there is no legend */
        VEC(DocBar) list; /* all to the same scale */
} DocBars;

/* Something to be read, and to be done. */
typedef struct DocItem {
        DocTone tone;
        const char *label; /* "error" */
        const char *text;
        const char *note;   /* NULL: none */
        const char *remedy; /* NULL: there is nothing to be done */
} DocItem;

/* One of these. */
typedef struct DocBlock {
        const char *paragraph;
        const DocTable *table;
        const DocBars *bars;
        const DocItem *item; /* those that follow each other are one list */
} DocBlock;

typedef struct DocSection {
        const char *id; /* of letters and "-"; no two have the same */
        const char *title;
        VEC(DocBlock) blocks;
} DocSection;

typedef struct Document {
        const char *title;
        DocTone tone;
        const char *verdict, *sentence;
        VEC(DocFact) facts;   /* small, beneath the headline */
        VEC(DocFact) figures; /* large */
        VEC(DocSection) sections;
        const char *footer;
} Document;

/* ---- describing one; in ARENA ---- */

DocSection *document_add_section(Arena *arena, Document *document, const char *id,
                                 const char *title);
void section_add_paragraph(Arena *arena, DocSection *section, const char *text);
void section_add_item(Arena *arena, DocSection *section, const DocItem *item);
DocBars *section_add_bars(Arena *arena, DocSection *section, const DocBars *bars);

/* COLUMNS as for table_new(): "NODE|>PAGES". Each cell is the next of its row. */
DocTable *section_add_table(Arena *arena, DocSection *section, const char *name,
                            const char *columns);
void doc_table_add(Arena *arena, DocTable *table, const char *text); /* NULL: "-" */
void doc_table_add_cell(Arena *arena, DocTable *table, const DocCell *cell);

/* What a bar's part is called. */
const char *doc_fill_name(DocFill fill);

/* The largest bar, to which all are drawn. */
uint64_t doc_bars_scale(const DocBars *bars);

/* ---- writing it ---- */

char *document_to_html(Arena *arena, const Document *document);
char *document_to_markdown(Arena *arena, const Document *document);
