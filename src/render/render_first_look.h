/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "check/first_look.h"
#include "render/render.h"

/* As tables and sentences, with the next command at the end. */
char *render_first_look(Arena *arena, const FirstLook *look, const RenderOptions *options);

json_t *first_look_to_json(Arena *arena, const FirstLook *look);
/* What is said of one database. */
typedef struct FirstLookRow {
        const char *needs;           /* "2.1G" */
        const char *memory;          /* "1.9G small" */
        const char *tables;          /* page tables now: "4.4M" */
        const char *tables_at_worst; /* "4.1G (1,000 sessions)" */
} FirstLookRow;

/* SUGGESTION is one of LOOK's, of an engine that reserves pages. */
FirstLookRow first_look_row(Arena *arena, const FirstLook *look, const Suggestion *suggestion);

/* The next command, and what it does. */
typedef struct FirstLookNext {
        const char *command; /* NULL: there is none */
        const char *what;
} FirstLookNext;

FirstLookNext first_look_next(const FirstLook *look);
