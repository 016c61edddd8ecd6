/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* An engine's formula: from the product's own settings the number of huge pages that its shared memory takes,
 * and how it comes about. Pure: the settings come in as values. Sources stand beside each formula. */

#include "base/size.h"
#include "base/vec.h"
#include "engines/engine.h"

/* One setting under the product's own name, as it would stand in its configuration. */
typedef struct Setting {
        const char *name;   /* "shared_buffers" */
        const char *value;  /* "128GB" */
        const char *origin; /* "FILE:LINE", or what else it comes from; NULL: the caller's own */
} Setting;

typedef VEC(Setting) Settings;

/* One line of a derivation, top to bottom. */
typedef struct SizingStep {
        const char *what;    /* "buffer descriptors" */
        const char *formula; /* "for each buffer of 8K"; NULL where a value is taken as it is */
        uint64_t bytes;      /* what the step adds */
} SizingStep;

/* Whose figure it is. */
typedef enum SizingSource {
        SIZING_RULE,    /* the engine's formula's */
        SIZING_WORD,    /* the server's own word */
        SIZING_SEEN,    /* what its processes had mapped */
        SIZING_LEARNED, /* of one of these, at the last start */
        SIZING_GIVEN,   /* the administrator's */
} SizingSource;

/* "rule", "word", "seen", "learned", "given". */
const char *sizing_source_name(SizingSource source);

typedef struct Sizing {
        uint64_t page_size_bytes;
        uint64_t pages;
        uint64_t bytes; /* pages x page_size_bytes, UINT64_MAX where that overflows */
        /* The least that the server maps of its main memory in one piece: a chunk, the whole pool, the heap; 0: not
         * known. */
        uint64_t mapping_bytes;
        bool is_exact; /* false: an upper bound or estimate; `caveat` says which */
        const char *caveat;
        SizingSource source;
        VEC(SizingStep) steps;
} Sizing;

typedef struct ParameterTable ParameterTable; /* engines/parameters.h */
typedef struct ParameterValue ParameterValue;

/* Of an engine without one: what the user gives by `memory`; of one that reserves nothing, nothing but NULL. */
typedef struct EngineFormula {
        /* Adds to *SIZING what VALUES, SETTINGS as the table's rows have them, need, and says its caveat. Returns NULL,
         * or a sentence that says which setting is wrong and what to write. */
        const char *(*add)(Arena *arena, const Settings *settings, const ParameterValue *values,
                           Sizing *sizing);
        const ParameterTable *parameters; /* the settings that it reads */
        /* The version that the unit of this name is for: "postgresql@16-main.service" -> "16". NULL: for any. */
        const char *(*unit_version)(Arena *arena, const char *unit);
} EngineFormula;

typedef VEC(const char *) SettingNames;

/* Never NULL. */
const EngineFormula *engine_formula(const Engine *engine);

/* The pages of PAGE_SIZE_BYTES (not 0) that SETTINGS need by FORMULA, ENGINE's; what they leave out is the product's
 * default. Fills *ret (allocated in ARENA) and returns NULL, or leaves it and returns a sentence that says which
 * setting is wrong and what to write. A name the engine does not know is wrong where it is the caller's own, and
 * skipped where it has an origin, for a product's own file holds much that does not matter here. */
const char *formula_size(const EngineFormula *formula, const Engine *engine, Arena *arena,
                         const Settings *settings, uint64_t page_size_bytes, Sizing *ret);
const char *engine_size(const Engine *engine, Arena *arena, const Settings *settings,
                        uint64_t page_size_bytes, Sizing *ret);

/* The settings that its formula counts, in the order of its table; its version is none. */
SettingNames engine_settings(const Engine *engine, Arena *arena);

/* A fingerprint of those of SETTINGS that ENGINE's formula counts, by their last words: as long as it is the same, they
 * are. NULL where the engine has no settings. */
const char *engine_fingerprint(const Engine *engine, Arena *arena, const Settings *settings);

/* A character of a setting's name as the products compare it: case does not count, "-" is "_". */
char setting_fold(char c);

bool setting_is_named(const char *a, const char *b);

/* The last setting of that name (later wins), NULL where there is none. */
const Setting *settings_find(const Settings *settings, const char *name);
void settings_add(Arena *arena, Settings *settings, const char *name, const char *value,
                  const char *origin);

/* Adds the pseudo-settings `host_cpus` and `host_base_page`, for products whose sizes depend on them; the others skip
 * them. 0: it is not known, and not added. */
void settings_add_host(Arena *arena, Settings *settings, unsigned n_cpus, uint64_t base_page_bytes);

/* Adds a step and its bytes to *SIZING->bytes, stopping at UINT64_MAX. */
void sizing_add(Arena *arena, Sizing *sizing, const char *what, const char *formula,
                uint64_t bytes);

/* Rounds SIZING->bytes up to pages of page_size_bytes and fills pages and bytes. */
void sizing_finish(Sizing *sizing);
