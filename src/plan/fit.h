/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Fit: the inverse of sizing. Finds how large the database's main setting may be (shared_buffers, the SGA, the buffer
 * pool, the heap) so that a number of pages holds it. */

#include "plan/plan.h"

typedef struct Fit {
        const char *value; /* as the product writes it: "2047MB" */
        uint64_t value_bytes;
        Sizing sizing; /* of that value: at most the given pages */
} Fit;

/* Finds the largest value, in whole MiB, for which PAGES of PAGE_SIZE_BYTES suffice; all other SETTINGS are unchanged.
 * Fills *RET and returns NULL, or returns a sentence that says why there is none. */
const char *fit_setting(Arena *arena, const Engine *engine, const EngineFormula *formula,
                        const Settings *settings, uint64_t page_size_bytes, uint64_t pages,
                        Fit *ret);

/* Returns the most pages of PAGE_SIZE_BYTES that the plan could give INSTANCE whole, on the nodes that it may use and
 * with all other instances served by their priorities; 0 if there are none. INPUT's demand is not changed. */
uint64_t fit_pages(Arena *arena, const PlanInput *input, const char *instance,
                   uint64_t page_size_bytes);
