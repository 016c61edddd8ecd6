/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Text for people: status, plan, problems and derivations, and what these views share. The verdict comes first, the
 * remedy last. */

#include "base/diag.h"
#include "base/table.h"
#include "base/text.h"
#include "status/status.h"

typedef struct RenderOptions {
        bool is_colored;
        bool is_ascii; /* no characters beyond ASCII: the locale has none */
        size_t width;  /* in columns; 0: 100 */
} RenderOptions;

#define RENDER_RED    "\033[31m"
#define RENDER_GREEN  "\033[32m"
#define RENDER_YELLOW "\033[33m"
#define RENDER_DIM    "\033[2m"
#define RENDER_BOLD   "\033[1m"
#define RENDER_PLAIN  "\033[0m"

/* How a verdict looks: a sign in a color. */
typedef enum Mark {
        MARK_GOOD,   /* a green dot */
        MARK_DOUBT,  /* a yellow dot */
        MARK_UNDONE, /* a yellow ring */
        MARK_BAD,    /* a red cross */
} Mark;

/* Adds "● fine": MARK and WORDS, in its color. */
void render_add_marked(Text *text, const RenderOptions *options, Mark mark, const char *words);

/* Adds PARAGRAPH, wrapped as text_add_wrapped() does; NULL adds nothing. */
void render_paragraph(Text *text, const RenderOptions *options, const char *first,
                      const char *indent, const char *paragraph);

/* Adds an empty line and TABLE; if that has no rows EMPTY in its place, or nothing (NULL). */
void render_table(Text *text, const RenderOptions *options, const Table *table, const char *empty);

/* Adds "● ready" with the mark and color of the verdict. */
void render_add_verdict(Text *text, const RenderOptions *options, Verdict verdict);

/* Adds STRING between COLOR (an escape sequence) and RENDER_PLAIN if OPTIONS ask for color, else STRING alone. */
void render_colored(Text *text, const RenderOptions *options, const char *color,
                    const char *string);

/* Returns "2.1G"; "-" for no pages. */
char *render_size(Arena *arena, uint64_t pages, uint64_t page_size_bytes);

/* Returns "0:541 1:540"; "-" for none. */
char *render_nodes(Arena *arena, const PagesByNode *nodes);

/* Returns "1,081", or "40 of 1,081" if fewer are granted than wanted; "-" if none are wanted. */
char *render_granted(Arena *arena, uint64_t granted, uint64_t wanted);

/* Adds five cells: VERDICT, INSTANCE, SIZE, PAGES, OF. */
void render_add_instance(Table *table, Arena *arena, const StatusInstance *instance);

/* Adds "Cover: 125 pages of 2M (250M) on node 1, so that a.service takes none that b.service needs there." of each. */
void render_covers(Text *text, const RenderOptions *options, const Exposures *covers);

/* Adds "error" SEPARATOR "FILE:LINE: KEY: text" and the remedy. */
void render_problem(Text *text, const Diag *problem, const char *separator,
                    const RenderOptions *options);

/* Adds "     Pages: 1,081 of 2M", wrapped below the value; LABEL may be "". A VALUE of NULL adds nothing. */
void render_field(Text *text, const RenderOptions *options, const char *label, const char *value);

/* Returns one problem below the other, errors first; of many of one kind only some. IS_CHECKED: as findings, each with
 * its id and whether it hurts, and an empty line before it. */
char *render_problems(Arena *arena, const Diags *problems, bool is_checked,
                      const RenderOptions *options);

/* Returns an instance's verdict in one line, for a gate's log: "pg-main: ready: 1,081 pages ...". */
char *render_verdict(Arena *arena, const StatusInstance *instance);
