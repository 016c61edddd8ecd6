/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Fit: sizing the other way round. How large may the database's main setting be (shared_buffers,
 * the SGA, the buffer pool, the heap) so that a number of pages holds it? */

#include "plan/plan.h"

typedef struct Fit {
        const char *setting; /* "shared_buffers" */
        const char *value;   /* as the product writes it: "2047MB" */
        uint64_t value_bytes;
        Sizing sizing; /* of that value: its pages are at most those that were given */
} Fit;

/* The largest value, in whole MiB, with which PAGES of PAGE_SIZE_BYTES suffice; all other SETTINGS
 * stay as they are. Fills *ret and returns NULL, or returns a sentence on why there is none. */
const char *fit_setting(Arena *arena, const Engine *engine, const EngineFormula *formula,
                        const Settings *settings, uint64_t page_size_bytes, uint64_t pages,
                        Fit *ret);

/* The most pages of PAGE_SIZE_BYTES that the plan could give INSTANCE whole, where it may lie and
 * with all other instances served as their priorities have it. 0 where it can get none. INPUT's
 * demand is not changed. */
uint64_t fit_pages(Arena *arena, const PlanInput *input, const char *instance,
                   uint64_t page_size_bytes);
