/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What a unit was seen to have mapped while it ran, as the kernel counts it for its control group or, where nothing
 * counts, by its processes' mappings; kept in NAME.conf.d/90-learned.conf beside what was found out before its start;
 * and what that makes of the next start's figure.
 *
 * What it takes does not follow from what is seen of it alone: a server may map more later on, and one that was
 * refused huge pages has mapped small ones. So less than the rule says is believed only where nothing was refused, and
 * the same settings of the same version map everything at the start: of engines that always do
 * (Engine.maps_all_at_start), and of settings that do (engine_is_fixed()) where what was seen is as near to the rule as
 * all that was ever measured, so that it is no part of it. Never less than what was seen is reserved for the same
 * settings. */

#include "config/config.h"
#include "engines/reader.h"

/* Whether something was seen of INSTANCE: of the unit that it has now. */
bool seen_is_known(const InstanceConfig *instance);

/* Whether a look has seen anything that is worth to be kept. */
static inline bool seen_is_any(const Seen *seen) {
        return seen->pages.n > 0 || seen->small_tables.bytes > 0;
}

/* What a look at INSTANCE's unit begins with: nothing seen yet, and what its start was made for. What was found out
 * while it ran is not that: its settings may have been changed since it was started. */
Seen seen_of_unit(const InstanceConfig *instance);

/* What the page tables of its unit came to when that ran with small pages; NULL: it was not seen so. */
const SmallTables *seen_small_tables(const InstanceConfig *instance);

/* What a figure was made from: the server's version, and engine_fingerprint() of its settings; NULL: not known. */
typedef struct FigureBasis {
        const char *version, *settings;
} FigureBasis;

FigureBasis figure_basis(Arena *arena, const Engine *engine, const Gathered *gathered);

/* Corrects *SIZING, the figure for the next start, for pages of its size: the server's own word (is_exact) or the
 * rule's, made from BASIS; of 0 pages where nothing tells. As long as both are what they were when the unit was looked
 * at, what was seen counts: in place of a rule, and beside the server's word where it is more. Otherwise what was seen
 * is scaled by what has changed, and counts where that is more. Whether it did. */
bool seen_apply(Arena *arena, const InstanceConfig *instance, const FigureBasis *basis,
                Sizing *sizing);

/* What is to be kept of NOW beside what was seen before (INSTANCE's): for the same unit, version and settings the most,
 * but that an estimate gives way to less where that is all that it takes; else NOW. What was seen of small pages stays
 * until it runs with such again; with the same settings the most of it does. */
Seen seen_merge(const InstanceConfig *instance, const Seen *now);

/* Whether PAGES may be all that INSTANCE, which maps everything at its start, has mapped of what it was started for, as
 * far as that is known: a part of it, or what others take, is far from its figure. */
bool seen_is_likely(const InstanceConfig *instance, uint64_t page_size_bytes, uint64_t pages);

/* Whether that is what stands in the file already. */
bool seen_is_same(const Seen *a, const Seen *b);

/* What was seen, in words: "it has mapped 540 pages of 2M, an estimate". */
char *seen_describe(Arena *arena, const Seen *seen);
