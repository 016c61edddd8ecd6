/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What is learned about an instance with Memory=auto, or whose server can be asked: found out before each start of
 * its database, and kept in NAME.conf.d/90-learned.conf, an ordinary drop-in on the root file system, so that the
 * next boot can reserve the size before the database's own files are there. */

#include "demand/demand.h"
#include "demand/page_counts.h"

/* What was found out just now. */
typedef struct Lesson {
        const InstanceConfig *instance;
        const char *wrong; /* nothing was: why; NULL: the rest holds */
        /* One for each page size: the server's own word where it was had, else by the engine's rule.
         * None where the engine reserves nothing. */
        Figures figures;
        Figures by_rule; /* by the rule; none where it does not know, and the server does */
        const Gathered *gathered; /* what they were made from; NULL: there was nothing to read */
        bool is_exact;
        bool is_of_running;  /* it runs, and may have been started with other settings */
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
 * makes of its settings are those of then. Otherwise the rule counts, an upper bound, or that figure where it is
 * larger (lesson_take_larger()). */
LessonUse lesson_use(const Lesson *lesson);

/* Where a server whose settings have changed was not asked, its last figure where that is larger than the rule's. */
void lesson_take_larger(Arena *arena, Lesson *lesson);

/* Says of a LESSON what is wrong with it where a figure is none that TOPOLOGY's host could count: then nothing was
 * found out. */
void lesson_hold_to(const Topology *topology, Lesson *lesson);

/* Why what is to be learned from LESSON is not kept: it is more than its instance may come to (demand/bound.h).
 * REASON_NONE: it may be. hugepland hears of it all the same, so that the gate refuses what the server could not have. */
Reason lesson_beyond(Arena *arena, const Config *config, const Topology *topology,
                     const Lesson *lesson);

/* The pages of all page sizes. */
PageCounts figures_pages(Arena *arena, const Figures *figures);

/* The figures that count after that, with what was seen of it while it ran (demand/seen.h). Each tells whose it is;
 * none where nothing is known. */
Figures lesson_figures(Arena *arena, const Lesson *lesson);

/* Their pages. */
PageCounts lesson_pages(Arena *arena, const Lesson *lesson);

/* As many pages by the rule as PAGES are in truth: fewer, where INSTANCE was found to take more than its rule says, by
 * its server's word or by what was seen of it. */
uint64_t learned_by_rule(const InstanceConfig *instance, uint64_t page_size_bytes, uint64_t pages);

/* What LESSON makes of what was known of its instance. What was seen stays. */
Learned learned_of(Arena *arena, const Lesson *lesson);

/* Where it is kept: always below /etc, wherever the instance's own file is. */
char *learned_path(Arena *arena, const InstanceConfig *instance);
/* Where trees before this one kept what was seen: read once more, and removed when the other is written. */
char *learned_old_path(Arena *arena, const InstanceConfig *instance);

/* The text of that file: what is known of INSTANCE from now on. WHEN is the time as people write it. */
char *learned_format(Arena *arena, const InstanceConfig *instance, const Learned *learned,
                     const char *when);
