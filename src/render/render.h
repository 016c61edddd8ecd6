/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What people read, and what all of it shares: status, plan, problems and derivations as text. The
 * verdict first, the remedy last. */

#include "base/diag.h"
#include "base/table.h"
#include "base/text.h"
#include "status/status.h"

typedef struct RenderOptions {
        bool is_colored;
        bool is_ascii; /* the locale has no more: no marks beyond it */
        size_t width;  /* columns; 0: 100 */
} RenderOptions;

#define RENDER_RED    "\033[31m"
#define RENDER_GREEN  "\033[32m"
#define RENDER_YELLOW "\033[33m"
#define RENDER_DIM    "\033[2m"
#define RENDER_BOLD   "\033[1m"
#define RENDER_PLAIN  "\033[0m"

#define RENDER_FULL  "●"
#define RENDER_EMPTY "○"
#define RENDER_CROSS "×"

/* "● fine": one of these marks and what it says, in colour. */
void render_add_marked(Text *text, const RenderOptions *options, const char *color,
                       const char *mark, const char *words);

/* In columns. */
size_t render_width(const RenderOptions *options);

/* "● ready", as it looks. */
void render_add_verdict(Text *text, const RenderOptions *options, Verdict verdict);

/* Adds STRING between COLOR (an escape sequence) and its end, where colour is wanted. */
void render_colored(Text *text, const RenderOptions *options, const char *color,
                    const char *string);

/* "2.1G"; "-" for no pages. */
char *render_size(Arena *arena, uint64_t pages, uint64_t page_size_bytes);

/* "0:541 1:540"; "-" for none. */
char *render_nodes(Arena *arena, const NodePages *nodes, size_t n);

/* "1,081", or "40 of 1,081" when it is short; "-" where nothing is wanted. */
char *render_granted(Arena *arena, uint64_t granted, uint64_t wanted);

/* Five cells: VERDICT, INSTANCE, SIZE, PAGES, OF. */
void render_add_instance(Table *table, Arena *arena, Verdict verdict, const char *name,
                         uint64_t granted, uint64_t wanted, uint64_t page_size_bytes);

/* "125 pages of 2M (250M) on node 1, so that a.service takes none that b.service needs there." */
char *render_cover(Arena *arena, const Exposure *cover);

/* "error" SEPARATOR "FILE:LINE: KEY: text", and what to do. */
void render_problem(Text *text, const Diag *problem, const char *separator,
                    const RenderOptions *options);

/* "     Pages: 1,081 of 2M", with what does not fit below it; LABEL may be "". */
void render_field(Text *text, const RenderOptions *options, const char *label, const char *format,
                  ...) PRINTF_LIKE(4, 5);

/* One below the other, errors first. */
char *render_problems(Arena *arena, const Diags *problems, const RenderOptions *options);

/* One line on an instance's verdict, for a gate's log: "pg-main: ready: 1,081 pages ...". */
char *render_verdict(Arena *arena, const StatusInstance *instance);
