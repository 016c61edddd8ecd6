/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What is learned about an instance with Memory=auto, or whose server can be asked: determined before each start of its
 * database, and kept in NAME.conf.d/90-learned.conf, an ordinary drop-in on the root file system, so that the next boot
 * can reserve the size before the database's own files are available. */

#include "config/config.h"
#include "demand/demand.h"
#include "demand/page_counts.h"
#include "engines/reader.h"

/* ---- what a running unit was found to have mapped ---- */

/* As the kernel counts it for its control group or, if nothing
 * counts, by its processes' mappings. It is kept in NAME.conf.d/90-learned.conf beside what was learned before the
 * start, and corrects the figure for the next start.
 *
 * What a unit takes does not follow from what was seen alone: a server may map more later, and one that was refused
 * huge pages has mapped small ones. So less than the rule says is believed only if nothing was refused, and the same
 * settings of the same version map everything at the start: of engines that always do (Engine.maps_all_at_start), and
 * of settings that do (engine_is_fixed()) if what was seen is as near to the rule as all servers ever measured, so that
 * it is not just a part. For the same settings by a rule never less than what was seen is reserved. */

/* Returns whether something was seen of INSTANCE's present unit. */
bool seen_is_known(const InstanceConfig *instance);

/* Returns what a look at INSTANCE's unit begins with: nothing seen yet, and what the unit was started for. What was
 * learned while it ran is left out: its settings may have changed since its start. */
Seen seen_of_unit(const InstanceConfig *instance);

/* Corrects *SIZING, the next start's figure for pages of its size, which was made from BASIS by the server (is_exact)
 * or by the rule; it has 0 pages if neither has a figure. If both are the same as when the unit was looked at, what was
 * seen counts: in place of a rule if it is all that the unit takes, and else if it is more. If not, what was seen is
 * scaled by the change (down only, for the server), and counts if that is more. Returns whether it counts. */
bool seen_apply(Arena *arena, const InstanceConfig *instance, const FigureBasis *basis,
                Sizing *sizing);

/* Returns what to keep of NOW and of what was seen before (INSTANCE's): for the same unit, version and settings the
 * most, except that an estimate, and more than the server says, gives way to all that the unit takes; else NOW. */
Seen seen_merge(const InstanceConfig *instance, const Seen *now);

/* Returns whether PAGES may be all that INSTANCE has mapped. If it maps everything at its start, a part of that, or
 * what others take, is far from the figure that it was started for, as far as that is known. */
bool seen_is_likely(const InstanceConfig *instance, uint64_t page_size_bytes, uint64_t pages);

/* Returns whether both are the same in the file. */
bool seen_is_same(const Seen *a, const Seen *b);

/* Returns "139 pages of 2M", or "memory for 139 pages of 2M, an estimate". */
char *seen_format_pages(Arena *arena, const Seen *seen);

/* ---- what was learned ---- */

enum { LEARNED_VERSION_BYTES_MAX = 40, LEARNED_SETTINGS_BYTES_MAX = 64 };

/* What has just been learned about an instance. */
typedef struct Lesson {
        const InstanceConfig *instance;
        const char *wrong; /* why nothing was learned; NULL: the rest is valid */
        /* One for each page size: by the server itself if it was asked, else by the engine's rule. None if the engine
         * reserves nothing. */
        Figures figures;
        Figures by_rule;          /* by the rule; none if only the server knows */
        const Gathered *gathered; /* the input of the figures; NULL: there was nothing to read */
        bool is_exact;
        bool is_of_running;  /* the unit runs, perhaps started with other settings */
        const char *unasked; /* why a server that can be asked was not; or NULL */
        const char *version; /* NULL: not known */
} Lesson;

typedef enum LessonUse {
        LESSON_SAME,    /* the same was learned before */
        LESSON_LEARN,   /* new, to be learned */
        LESSON_KEEP,    /* what was learned before counts; `wrong` or `unasked` says why */
        LESSON_UNKNOWN, /* nothing is known, now or from before; `wrong` says why */
} LessonUse;

/* Returns what to make of LESSON. A server that cannot be asked keeps its last exact figure as long as its version, its
 * settings and the rule's figure are the same. Otherwise the rule's figure counts, an upper bound, or the last figure
 * if that is larger (lesson_take_larger()). */
LessonUse lesson_use(const Lesson *lesson);

/* Replaces the rule's figures by larger last ones, if a server whose settings have changed was not asked. */
void lesson_take_larger(Arena *arena, Lesson *lesson);

/* Sets LESSON->wrong if a figure is not valid on TOPOLOGY's host: nothing was learned then. */
void lesson_hold_to(const Topology *topology, Lesson *lesson);

/* Returns why PAGES, which were learned of INSTANCE of CONFIG, are not kept: they exceed the host's memory, or the
 * bounds of learned sizes (demand/unit_policy.h). hugepland gets them all the same, so that the gate refuses what the server
 * could not have. REASON_NONE: they are within bounds. */
Reason learned_beyond(Arena *arena, const Config *config, const InstanceConfig *instance,
                      const Topology *topology, const PageCounts *pages);

/* Returns the pages of all page sizes. */
PageCounts figures_pages(Arena *arena, const Figures *figures);

/* Returns the figures that count after LESSON, with what was seen of the running unit; none if nothing is known. Each
 * has its source. */
Figures lesson_figures(Arena *arena, const Lesson *lesson);

/* Returns the pages of lesson_figures(). */
PageCounts lesson_pages(Arena *arena, const Lesson *lesson);

/* Returns the pages of LEARNED, determined before a start of INSTANCE, with what was seen of the running unit. */
PageCounts learned_pages(Arena *arena, const InstanceConfig *instance, const Learned *learned);

/* Adds LEARNED's figures, without what was seen. */
void learned_add_figures(Arena *arena, const Learned *learned, Figures *figures);

/* Corrects FIGURES, which were made from BASIS, by what was seen of INSTANCE while it ran. */
void figures_add_seen(Arena *arena, const InstanceConfig *instance, const FigureBasis *basis,
                      Figures *figures);

/* Returns COUNT as a figure that has precedence over the configuration. */
Figure learned_figure(const char *instance, const PageCount *count);

/* Returns the preference of VERSION (NULL: not known) for transparent huge pages if it differs from ENGINE's in
 * general; else THP_AUTO. */
ThpPolicy learned_thp(const Engine *engine, const char *version);

/* Converts PAGES to pages by the rule: fewer, if INSTANCE was found to take more than its rule says, by its server or
 * by what was seen of the running unit. */
uint64_t learned_by_rule(const InstanceConfig *instance, uint64_t page_size_bytes, uint64_t pages);

/* Returns what is known of the instance after LESSON. What was seen is unchanged. */
Learned learned_of(Arena *arena, const Lesson *lesson);

/* Returns whether INSTANCE's file has LEARNED already. */
bool learned_is_kept(const InstanceConfig *instance, const Learned *learned);

/* Returns "pg-main: learned its size: 1,081 pages of 2M, an estimate; before it was 540 pages of 2M". */
char *learned_describe(Arena *arena, const InstanceConfig *instance, const Learned *learned);

/* Returns the path of 90-learned.conf: always below /etc, wherever the instance's own file is. */
char *learned_path(Arena *arena, const InstanceConfig *instance);

/* Returns the text of 90-learned.conf: what is known of INSTANCE from now on. WHEN is the time as people write it. */
char *learned_format(Arena *arena, const InstanceConfig *instance, const Learned *learned,
                     const char *when);

/* ---- what a gate reports to hugepland about its instance before the start ---- */

/* Converts to `Learned` of the interface, without what was seen. */
json_t *learned_to_json(const Learned *learned);

/* Returns 0, or -EINVAL if JSON is not valid for INSTANCE on TOPOLOGY's host. The sender may be the database's owner,
 * and may send anything: every member is checked, and one that is invalid refuses all. */
int learned_from_json(Arena *arena, const json_t *json, const InstanceConfig *instance,
                      const Topology *topology, Learned *ret);
