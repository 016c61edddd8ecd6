/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What a unit was seen to have mapped while it ran, kept in NAME.conf.d/90-learned.conf beside what was found out
 * before its start; and what that makes of the next start's figure.
 *
 * What it takes does not follow from what is seen of it alone: a server may map more later on, and one that was
 * refused huge pages has mapped small ones. So less than the rule says is believed only where the same settings of
 * the same version map everything at the start (engine_is_fixed()), and nothing was refused: of engines that map it as
 * shared memory (Engine.maps_all_at_start) that is seen at once, as are small pages in their place; of others at the
 * last look before they stop, if all that the rule says was there for them (Seen.is_whole). Never less than what
 * was seen is reserved for the same settings. */

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

/* Corrects *SIZING, the figure for the next start, for pages of its size: the server's own word
 * (is_exact) or the rule's, made from BASIS; of 0 pages where nothing tells. As long as both are what they were when the
 * unit was looked at, what was seen counts: in place of a rule, and beside the server's word where it is more. Otherwise
 * what was seen is scaled by what has changed, and counts where that is more. Whether it did. */
bool seen_apply(Arena *arena, const InstanceConfig *instance, const FigureBasis *basis,
                Sizing *sizing);

/* What is to be kept of NOW beside what was seen before (INSTANCE's): for the same unit, command, version and
 * settings the most; else NOW. IS_LAST: it is about to stop, and took what it takes, so that less than an
 * estimate is more than that. What was seen of small pages stays until it runs with such again; with the same settings
 * the most of it does. */
Seen seen_merge(const InstanceConfig *instance, const Seen *now, bool is_last);

/* Whether that is what stands in the file already. */
bool seen_is_same(const Seen *a, const Seen *b);

/* What was seen, in words: "it has mapped 540 pages of 2M, an estimate". */
char *seen_describe(Arena *arena, const Seen *seen);
