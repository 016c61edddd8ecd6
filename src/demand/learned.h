/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What is learned about an instance with Memory=auto: found out before each start of its database,
 * and kept in NAME.conf.d/90-learned.conf, an ordinary drop-in on the root file system, so that the
 * next boot can reserve the size before the database's own files are there. */

#include "demand/demand.h"

/* What was found out just now. */
typedef struct Lesson {
        const InstanceConfig *instance;
        const char *wrong; /* nothing was: why; NULL: the rest holds */
        /* One for each page size: the server's own word where it was had, else by the engine's rule.
         * None where the engine reserves nothing. */
        Figures figures;
        Figures by_rule;          /* by the rule in any case */
        const Gathered *gathered; /* what they were made from; NULL: there was nothing to read */
        bool is_exact;
        bool is_mapped;      /* exact, for the running server has mapped as much */
        const char *unasked; /* why the server's own word, which is to be had, is missing; or NULL */
        const char *version; /* NULL: not known */
} Lesson;

typedef enum LessonUse {
        LESSON_SAME,    /* it is what was learned before */
        LESSON_LEARN,   /* it is to be learned */
        LESSON_KEEP,    /* what was learned before counts, `wrong` or `unasked` say why */
        LESSON_UNKNOWN, /* nothing is known, now or from before; `wrong` says why */
} LessonUse;

/* A server that cannot be asked keeps its last exact figure as long as its version and what the rule
 * makes of its settings are those of then. Otherwise the rule counts, an upper bound. */
LessonUse lesson_use(const Lesson *lesson);

/* The pages of all page sizes. */
PageCounts figures_pages(Arena *arena, const Figures *figures);

/* The pages that count after that. */
PageCounts lesson_pages(Arena *arena, const Lesson *lesson);

/* "1,081 pages of 2M"; several sizes with commas between. */
char *page_counts_format(Arena *arena, const PageCounts *counts);

/* Where it is kept: always below /etc, wherever the instance's own file is. */
char *learned_path(Arena *arena, const InstanceConfig *instance);

/* The text of that file. WHEN is the time as people write it. */
char *learned_format(Arena *arena, const Lesson *lesson, const char *when);
