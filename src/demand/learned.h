/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What is learned about an instance with Memory=auto, or whose server can be asked: found out before each start of
 * its database, and kept in NAME.conf.d/90-learned.conf, an ordinary drop-in on the root file system, so that the
 * next boot can reserve the size before the database's own files are there. */

#include "demand/demand.h"
#include "demand/page_counts.h"
#include "demand/seen.h"

enum { LEARNED_VERSION_BYTES_MAX = 40, LEARNED_SETTINGS_BYTES_MAX = 64 };

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

/* Why PAGES, which were learned of INSTANCE of CONFIG, are not kept: they are more than the host's memory, or than
 * learned sizes may come to (demand/bound.h). hugepland hears of them all the same, so that the gate refuses what the
 * server could not have. REASON_NONE: they may be. */
Reason learned_beyond(Arena *arena, const Config *config, const InstanceConfig *instance,
                      const Topology *topology, const PageCounts *pages);

/* The pages of all page sizes. */
PageCounts figures_pages(Arena *arena, const Figures *figures);

/* The figures that count after that, with what was seen of it while it ran (demand/seen.h). Each tells whose it is;
 * none where nothing is known. */
Figures lesson_figures(Arena *arena, const Lesson *lesson);

/* Their pages. */
PageCounts lesson_pages(Arena *arena, const Lesson *lesson);

/* What LEARNED, found out before a start of INSTANCE, makes with what was seen of that while it ran. */
PageCounts learned_pages(Arena *arena, const InstanceConfig *instance, const Learned *learned);

/* Its figures, without what was seen. */
void learned_add_figures(Arena *arena, const Learned *learned, Figures *figures);

/* Corrects FIGURES, which were made from BASIS, by what was seen of INSTANCE while it ran. */
void figures_add_seen(Arena *arena, const InstanceConfig *instance, const FigureBasis *basis,
                      Figures *figures);

/* One of those as a figure that goes before what is in the configuration. */
Figure learned_figure(const char *instance, const PageCount *count);

/* The preference of that VERSION (NULL: not known) for transparent huge pages, where it is another than ENGINE's in
 * general; else THP_AUTO. */
ThpPolicy learned_thp(const Engine *engine, const char *version);

/* As many pages by the rule as PAGES are in truth: fewer, where INSTANCE was found to take more than its rule says, by
 * its server's word or by what was seen of it. */
uint64_t learned_by_rule(const InstanceConfig *instance, uint64_t page_size_bytes, uint64_t pages);

/* What LESSON makes of what was known of its instance. What was seen stays. */
Learned learned_of(Arena *arena, const Lesson *lesson);

/* Whether that is what stands in INSTANCE's file already. */
bool learned_is_kept(const InstanceConfig *instance, const Learned *learned);

/* LEARNED in words: "pg-main: learned that it takes 1,081 pages of 2M, an estimate; before it was 540 pages of 2M". */
char *learned_describe(Arena *arena, const InstanceConfig *instance, const Learned *learned);

/* Where it is kept: always below /etc, wherever the instance's own file is. */
char *learned_path(Arena *arena, const InstanceConfig *instance);
/* Where trees before this one kept what was seen: read once more, and removed when the other is written. */
char *learned_old_path(Arena *arena, const InstanceConfig *instance);

/* The text of that file: what is known of INSTANCE from now on. WHEN is the time as people write it. */
char *learned_format(Arena *arena, const InstanceConfig *instance, const Learned *learned,
                     const char *when);
