/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Seen: what a running unit was found to have mapped, as the kernel counts it for its control group or, if nothing
 * counts, by its processes' mappings. It is kept in NAME.conf.d/90-learned.conf beside what was learned before the
 * start, and corrects the figure for the next start.
 *
 * What a unit takes does not follow from what was seen alone: a server may map more later, and one that was refused
 * huge pages has mapped small ones. So less than the rule says is believed only if nothing was refused, and the same
 * settings of the same version map everything at the start: of engines that always do (Engine.maps_all_at_start), and
 * of settings that do (engine_is_fixed()) if what was seen is as near to the rule as all servers ever measured, so that
 * it is not just a part. For the same settings never less than what was seen is reserved. */

#include "config/config.h"
#include "engines/reader.h"

/* Returns whether something was seen of INSTANCE's present unit. */
bool seen_is_known(const InstanceConfig *instance);

/* Returns whether a look has found anything that is worth keeping. */
static inline bool seen_is_any(const Seen *seen) {
        return seen->pages.n > 0 || seen->small_tables.bytes > 0;
}

/* Returns what a look at INSTANCE's unit begins with: nothing seen yet, and what the unit was started for. What was
 * learned while it ran is left out: its settings may have changed since its start. */
Seen seen_of_unit(const InstanceConfig *instance);

/* Returns the size of the unit's page tables when it ran with small pages; NULL if it was not seen so. */
const SmallTables *seen_small_tables(const InstanceConfig *instance);

/* What a figure was made from: the server's version, and engine_fingerprint() of its settings; NULL: not known. */
typedef struct FigureBasis {
        const char *version, *settings;
} FigureBasis;

FigureBasis figure_basis(Arena *arena, const Engine *engine, const Gathered *gathered);

/* Corrects *SIZING, the next start's figure for pages of its size, which was made from BASIS by the server (is_exact)
 * or by the rule; it has 0 pages if neither has a figure. If both are the same as when the unit was looked at, what was
 * seen counts: in place of a rule if it is all that the unit takes, and else if it is more. If not, what was seen is
 * scaled by the change, and counts if that is more. Returns whether it counts. */
bool seen_apply(Arena *arena, const InstanceConfig *instance, const FigureBasis *basis,
                Sizing *sizing);

/* Returns what to keep of NOW and of what was seen before (INSTANCE's): for the same unit, version and settings the
 * most, except that an estimate gives way to less if that is all that the unit takes; else NOW. Page tables of small
 * pages stay until the unit runs with such again; with the same settings the largest stay. */
Seen seen_merge(const InstanceConfig *instance, const Seen *now);

/* Returns whether PAGES may be all that INSTANCE has mapped. If it maps everything at its start, a part of that, or
 * what others take, is far from the figure that it was started for, as far as that is known. */
bool seen_is_likely(const InstanceConfig *instance, uint64_t page_size_bytes, uint64_t pages);

/* Returns whether both are the same in the file. */
bool seen_is_same(const Seen *a, const Seen *b);

/* Returns what was seen, in words: "it has mapped 540 pages of 2M, an estimate". */
char *seen_describe(Arena *arena, const Seen *seen);
