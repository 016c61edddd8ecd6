/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Engines: what each database product needs, one file and one row each.
 *
 * An engine turns the product's own settings into the number of huge pages its shared memory
 * takes, and says how it got there. Pure: the settings come in as values. Sources of the formulas
 * stand beside each of them. */

#include "base/vec.h"
#include "core/thp.h"

/* One setting under the product's own name, as it would stand in its configuration. */
typedef struct Setting {
        const char *name;   /* "shared_buffers" */
        const char *value;  /* "128GB" */
        const char *origin; /* "FILE:LINE", or what else it comes from; NULL: the caller's wish */
} Setting;

typedef VEC(Setting) Settings;

/* One line of a derivation, top to bottom. */
typedef struct SizingStep {
        const char *what;    /* "buffer descriptors and hash" */
        const char *formula; /* "2.8 % of shared_buffers"; NULL where a value is taken as it is */
        uint64_t bytes;      /* what the step adds */
} SizingStep;

typedef struct Sizing {
        uint64_t page_size_bytes;
        uint64_t pages;
        uint64_t bytes; /* pages x page_size_bytes, UINT64_MAX where that overflows */
        bool is_exact;  /* false: an upper bound or estimate; `caveat` says which */
        const char *caveat;
        VEC(SizingStep) steps;
} Sizing;

typedef struct Engine {
        const char *name;         /* as in Engine= */
        const char *title;        /* "PostgreSQL" */
        const char *default_unit; /* where it is the same everywhere, else NULL */
        ThpPolicy thp_wish;       /* THP_AUTO: none */
        bool reserves;            /* false: it has a THP wish only */
        bool uses_default_size;   /* it maps pages of the host's default size only */
        /* The setting that Memory= stands for; NULL: plain bytes ("memory"). */
        const char *memory_setting;
        /* The pages of PAGE_SIZE_BYTES (not 0) that SETTINGS need; what they leave out is the
         * product's default. Fills *ret (allocated in ARENA) and returns NULL, or leaves it and
         * returns a sentence that says which setting is wrong and what to write. A name the engine
         * does not know is wrong where it is the caller's wish, and skipped where it has an
         * origin, for a product's own file holds much that does not matter here. */
        const char *(*size)(Arena *arena, const Settings *settings, uint64_t page_size_bytes,
                            Sizing *ret);
} Engine;

/* All engines, in the order they are listed to users. */
extern const Engine *const engines[];
extern const size_t n_engines;

/* NULL for a name that is none. */
const Engine *engine_find(const char *name);

/* "generic, postgresql, oracle, ...": for messages. */
char *engine_names(Arena *arena);

/* The last setting of that name (later wins), NULL where there is none. As for the products, case
 * does not count and "-" is "_". */
const Setting *settings_find(const Settings *settings, const char *name);
void settings_add(Arena *arena, Settings *settings, const char *name, const char *value,
                  const char *origin);

/* Adds a step and its bytes to *SIZING->bytes, stopping at UINT64_MAX. */
void sizing_add(Arena *arena, Sizing *sizing, const char *what, const char *formula,
                uint64_t bytes);

/* Rounds SIZING->bytes up to pages of page_size_bytes and fills pages and bytes. */
void sizing_finish(Sizing *sizing);
