/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A product's settings as a table of parameters, read by one function; shared by the formulas. Only the engines include
 * this. */

#include "engines/engine_rows.h"
#include "engines/formula.h"

/* A setting of the product. */
typedef struct Parameter {
        const char *name;
        /* Parses the value into the parameter's unit; returns -EINVAL or -ERANGE as in base/size.h. NULL: the value is
         * one of `words`, or text that the engine reads from the setting. */
        int (*parse)(const char *value, uint64_t *ret);
        const char *expects;      /* the remedy for a wrong value: "write a size such as 12G" */
        uint64_t initial;         /* the product's own default */
        uint64_t minimum;         /* smaller values are refused: usually the unit is missing */
        uint64_t maximum;         /* values above it or below `minimum` are out of range; 0: none */
        bool is_power;            /* the value must be a power of two */
        const char *const *words; /* ends with NULL; the value is the index */
        uint64_t since;           /* the first major version that has it; 0: all supported ones */
        bool is_required;         /* its default depends on the host, so it must be given */
} Parameter;

/* Row 0 of every table, so that the other rows can depend on it: the pseudo-setting `server_version`, whose value is
 * the major version; 0 if not given. */
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
        bool has_prefixes; /* "hot.key_buffer_size" belongs to the row key_buffer_size */
};

struct ParameterValue {
        uint64_t number;
        const Setting *setting; /* NULL: the product's default */
};

/* Sets RET_VALUES, one for each row of ENGINE's TABLE. Returns NULL, or a sentence about the first wrong setting. A
 * setting without a row is skipped: a product's own file has many that do not affect the size, and the product checks
 * their names. */
const char *parameters_read(Arena *arena, const Engine *engine, const ParameterTable *table,
                            const Settings *settings, ParameterValue *ret_values);

/* Returns the version of row 0, as much of it as is known. */
Version parameters_version(const ParameterValue *values);

/* Returns whether TABLE has a row of this name, or, if it has_prefixes, of the part behind the first point. */
bool parameters_have(const ParameterTable *table, const char *name);

/* Returns "NAME (ORIGIN): TEXT". */
const char *setting_refuse(Arena *arena, const Setting *setting, const char *format, ...)
        PRINTF_LIKE(3, 4);

/* Adds a step unless BYTES is 0. */
void sizing_add_positive(Arena *arena, Sizing *sizing, const char *what, const char *formula,
                         uint64_t bytes);

/* Adds a separate memory mapping, rounded up to whole pages. The product maps less than MIN_PAGES pages with smaller
 * pages instead: then the step has 0 bytes. */
void sizing_add_mapping(Arena *arena, Sizing *sizing, const char *what, uint64_t bytes,
                        uint64_t min_pages);

/* Parses whole bytes with at most one of the letters SUFFIXES (either case) behind them, as MySQL, Oracle and the JVM
 * do; "B" for plain bytes is accepted too, because Memory= is passed like that. */
int parse_suffixed_bytes(const char *value, const char *suffixes, uint64_t *ret_bytes);

/* parse_suffixed_bytes() with the letters from K to E, as in MySQL, MariaDB and Oracle. */
int parse_lettered_bytes(const char *value, uint64_t *ret_bytes);

/* parse_boolean() with a number as its result. */
int parse_switch(const char *value, uint64_t *ret);

/* Sets *ret to the index of VALUE among WORDS, which end with NULL; the case does not count. */
int parse_word(const char *value, const char *const *words, uint64_t *ret);

/* Parses VALUE as ROW requires. Returns 0, -EINVAL or -ERANGE. */
int parameter_parse(const Parameter *row, const char *value, uint64_t *ret);
