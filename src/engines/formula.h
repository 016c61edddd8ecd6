/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* An engine's formula: computes from the product's own settings how many huge pages its shared memory takes, and how
 * that adds up. Pure: the settings are arguments. Sources are named beside each formula. */

#include "base/size.h"
#include "base/vec.h"
#include "engines/engine.h"

/* One setting under the product's own name, as it would stand in its configuration. */
typedef struct Setting {
        const char *name;   /* "shared_buffers" */
        const char *value;  /* "128GB" */
        const char *origin; /* "FILE:LINE", or another source; NULL: given by the caller */
} Setting;

typedef VEC(Setting) Settings;

/* One line of a derivation; lines run from top to bottom. */
typedef struct SizingStep {
        const char *what;    /* "buffer descriptors" */
        const char *formula; /* "for each buffer of 8K"; NULL: a setting's value as it is */
        uint64_t bytes;      /* what the step adds */
} SizingStep;

/* Where a figure comes from. */
typedef enum SizingSource {
        SIZING_RULE,    /* the engine's formula */
        SIZING_WORD,    /* the server itself */
        SIZING_SEEN,    /* the mappings of its processes */
        SIZING_LEARNED, /* one of the above, at the last start */
        SIZING_GIVEN,   /* the administrator */
} SizingSource;

/* "rule", "word", "seen", "learned", "given". */
const char *sizing_source_name(SizingSource source);

typedef struct Sizing {
        uint64_t page_size_bytes;
        uint64_t pages;
        uint64_t bytes; /* pages x page_size_bytes; UINT64_MAX on overflow */
        /* The smallest single mapping of the server's main memory: a chunk, the whole pool, the heap; 0: not known. */
        uint64_t mapping_bytes;
        bool is_exact; /* false: an upper bound or estimate; `caveat` says which */
        const char *caveat;
        SizingSource source;
        VEC(SizingStep) steps;
} Sizing;

typedef struct ParameterTable ParameterTable; /* engines/parameters.h */
typedef struct ParameterValue ParameterValue;

/* An engine without one takes its size from the setting `memory`; if it reserves nothing, all members are NULL. */
typedef struct EngineFormula {
        /* Adds to *SIZING what SETTINGS need, and sets its caveat. VALUES are SETTINGS as the table's rows parse them.
         * Returns NULL, or a sentence that says which setting is wrong and what to write. */
        const char *(*add)(Arena *arena, const Settings *settings, const ParameterValue *values,
                           Sizing *sizing);
        const ParameterTable *parameters; /* the settings that it reads */
        /* Returns the version in the name of a unit: "postgresql@16-main.service" -> "16". NULL: units name none. */
        const char *(*unit_version)(Arena *arena, const char *unit);
} EngineFormula;

typedef VEC(const char *) SettingNames;

/* Never NULL. */
const EngineFormula *engine_formula(const Engine *engine);

/* Sets *ret (allocated in ARENA) to the pages of PAGE_SIZE_BYTES (not 0) that SETTINGS need by FORMULA, ENGINE's;
 * missing settings have the product's default. Returns NULL, or a sentence that says which setting is wrong and what to
 * write, and leaves *ret unchanged. An unknown name is an error if the caller gave it, and is skipped if it has an
 * origin, because a product's own file contains many settings that do not affect the size. */
const char *formula_size(const EngineFormula *formula, const Engine *engine, Arena *arena,
                         const Settings *settings, uint64_t page_size_bytes, Sizing *ret);
const char *engine_size(const Engine *engine, Arena *arena, const Settings *settings,
                        uint64_t page_size_bytes, Sizing *ret);

/* Returns the settings that the formula uses, in the order of its table, without the version. */
SettingNames engine_settings(const Engine *engine, Arena *arena);

/* Returns a sentence about the first of SETTINGS that the caller gave and that ENGINE's formula does not have, which may
 * be a typing error; NULL: there is none. */
const char *settings_refuse_unknown(Arena *arena, const Engine *engine, const Settings *settings);

/* Returns a fingerprint of the effective values of those SETTINGS that ENGINE's formula uses; equal settings have equal
 * fingerprints. Returns NULL if the engine has no settings. */
const char *engine_fingerprint(const Engine *engine, Arena *arena, const Settings *settings);

/* Folds a character of a setting's name as the products compare names: case does not count, and "-" equals "_". */
char setting_fold(char c);

bool setting_is_named(const char *a, const char *b);

/* Returns the last setting of that name (later settings override), or NULL. */
const Setting *settings_find(const Settings *settings, const char *name);
void settings_add(Arena *arena, Settings *settings, const char *name, const char *value,
                  const char *origin);

/* Adds the pseudo-settings `host_cpus` and `host_base_page`, on which some products' sizes depend; other products skip
 * them. A value of 0 is not known, and is not added. */
void settings_add_host(Arena *arena, Settings *settings, unsigned n_cpus, uint64_t base_page_bytes);

/* Adds a step, and its bytes to SIZING->bytes, which saturates at UINT64_MAX. */
void sizing_add(Arena *arena, Sizing *sizing, const char *what, const char *formula,
                uint64_t bytes);

/* Rounds SIZING->bytes up to whole pages of page_size_bytes and sets SIZING->pages. */
void sizing_finish(Sizing *sizing);
