/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A product's settings as a table of parameters, read by one function: what formulas share. Only the engines
 * include this. */

#include "engines/engine_rows.h"
#include "engines/formula.h"

/* A setting that its product has. */
typedef struct Parameter {
        const char *name;
        /* Gives the value in the parameter's unit; -EINVAL, -ERANGE as in base/size.h. NULL: it is one of
         * `words`, or text that the engine itself reads from the setting. */
        int (*parse)(const char *value, uint64_t *ret);
        const char *expects;      /* the remedy for a wrong value: "write a size such as 12G" */
        uint64_t initial;         /* the product's own default */
        uint64_t minimum;         /* what is less is refused: most often a unit was forgotten */
        uint64_t maximum;         /* what is not between them is out of range; 0: there is none */
        bool is_power;            /* and a power of two */
        const char *const *words; /* up to NULL; the value is the index */
        uint64_t since;           /* the first major version that has it; 0: all that matter */
        bool is_required;         /* its default depends on the host, so it must be given */
        /* Why it takes no huge pages; such a setting is accepted, shown and not parsed. */
        const char *takes_nothing;
} Parameter;

/* Row 0 of every table, so that the others can depend on it: the pseudo-setting `server_version`,
 * of which the major version counts; 0 where it is not given. */
#define PARAMETER_SERVER_VERSION                                        \
        {                                                               \
                .name = "server_version", .parse = parse_major_version, \
                .expects = "write a version such as 15.18 or 19c"       \
        }

#define PARAMETER_WORDS(...)             \
        .words = (const char *const[]) { \
                __VA_ARGS__, NULL        \
        }

struct ParameterTable {
        const Parameter *rows;
        size_t n;
        bool has_prefixes; /* "hot.key_buffer_size" is known as its row is */
};

struct ParameterValue {
        uint64_t number;
        const Setting *setting; /* NULL: the product's default */
};

/* Fills RET_VALUES, one for each row of ENGINE's TABLE. Returns NULL, or the sentence about the first
 * setting that is wrong. A setting without a row is refused when it is the caller's own (a DBA's
 * typing error must not pass) and skipped when it has an origin: a product's own file is full of
 * settings that do not matter here, and the product checks their names. */
const char *parameters_read(Arena *arena, const Engine *engine, const ParameterTable *table,
                            const Settings *settings, ParameterValue *ret_values);

/* Of row 0: as much of the version as is known. */
Version parameters_version(const ParameterValue *values);

/* Whether TABLE has a row of this name; or, where the table has_prefixes, of what stands behind its point. */
bool parameters_have(const ParameterTable *table, const char *name);

/* "NAME (ORIGIN): TEXT". */
const char *setting_refuse(Arena *arena, const Setting *setting, const char *format, ...)
        PRINTF_LIKE(3, 4);

/* Adds a step of 0 bytes for each setting the caller gave that takes no huge pages, so that none is
 * passed over in silence. */
void sizing_add_idle(Arena *arena, Sizing *sizing, const ParameterTable *table,
                     const Settings *settings);

/* Adds a step unless it is 0. */
void sizing_add_positive(Arena *arena, Sizing *sizing, const char *what, const char *formula,
                         uint64_t bytes);

/* Adds a memory mapping of its own, which takes whole pages; of less than MIN_PAGES pages the
 * product maps it with smaller ones, and it takes none of these. */
void sizing_add_mapping(Arena *arena, Sizing *sizing, const char *what, uint64_t bytes,
                        uint64_t min_pages);

/* Whole bytes with at most one of the letters SUFFIXES (either case) behind them, as MySQL, Oracle
 * and the JVM have it; "B" for plain bytes is taken too, which is how Memory= comes in. */
int parse_suffixed_bytes(const char *value, const char *suffixes, uint64_t *ret_bytes);

/* That with the letters from K to E, as MySQL, MariaDB and Oracle have them. */
int parse_lettered_bytes(const char *value, uint64_t *ret_bytes);

/* parse_boolean() as a number. */
int parse_switch(const char *value, uint64_t *ret);

/* The index of VALUE among WORDS, up to NULL, in any case. */
int parse_word(const char *value, const char *const *words, uint64_t *ret);

/* VALUE as ROW has it, 0, or -EINVAL, -ERANGE. */
int parameter_parse(const Parameter *row, const char *value, uint64_t *ret);

/* The next multiple of STEP (not 0), UINT64_MAX where there is none. */
static inline uint64_t round_up_saturated(uint64_t bytes, uint64_t step) {
        return mul_saturated(div_round_up(bytes, step), step);
}
