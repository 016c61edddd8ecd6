/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/formula.h"

#include "engines/parameters.h"
#include "model/names.h"

#include <string.h>
#include <strings.h>

/* ---- engines that only take a given amount of memory ---- */

enum { SERVER_VERSION, MEMORY };

static const Parameter plain_parameters[] = {
        [SERVER_VERSION] = PARAMETER_SERVER_VERSION,
        [MEMORY] = {.name = "memory",
                    .parse = parse_size_bytes,
                    .expects = "write a size such as 8G",
                    .minimum = 1,
                    .is_required = true},
};

static const ParameterTable plain_table = {plain_parameters, ARRAY_LEN(plain_parameters)};

static const char *add_plain(Arena *arena, const Settings *settings UNUSED,
                             const ParameterValue *values, Sizing *sizing) {
        sizing->is_exact = true;
        sizing->source = SIZING_GIVEN;
        sizing_add(arena, sizing, "memory", NULL, values[MEMORY].number);
        return NULL;
}

/* ---- by engine ---- */

const EngineFormula *engine_formula(const Engine *engine) {
        static const EngineFormula plain = {add_plain, &plain_table}, none = {};

#define ROW(name)                     \
        if (engine == &engine_##name) \
                return &formula_##name;
        ENGINE_FORMULAS(ROW)
#undef ROW
        return engine->reserves ? &plain : &none;
}

/* "orders.sga_max_size" belongs to the row sga_max_size, too. */
static bool is_of_row(const ParameterTable *table, const Parameter *row, const char *name) {
        const char *point = table->has_prefixes ? strchr(name, '.') : NULL;

        return setting_is_named(row->name, point ? point + 1 : name);
}

const char *formula_size(const EngineFormula *formula, const Engine *engine, Arena *arena,
                         const Settings *settings, uint64_t page_size_bytes, Sizing *ret) {
        Sizing sizing = {.page_size_bytes = page_size_bytes};

        if (!formula->add)
                return "this engine takes no reserved huge pages, and only has a "
                       "preference for transparent huge pages; remove Memory= and Pages=";
        ParameterValue *values = ARENA_ARRAY(arena, ParameterValue, formula->parameters->n);
        const char *wrong = parameters_read(arena, engine, formula->parameters, settings, values);

        if (!wrong)
                wrong = formula->add(arena, settings, values, &sizing);
        if (wrong)
                return wrong;
        sizing_finish(&sizing);
        *ret = sizing;
        return NULL;
}

const char *engine_size(const Engine *engine, Arena *arena, const Settings *settings,
                        uint64_t page_size_bytes, Sizing *ret) {
        return formula_size(engine_formula(engine), engine, arena, settings, page_size_bytes, ret);
}

/* ---- settings ---- */

char setting_fold(char c) {
        if (c >= 'A' && c <= 'Z')
                return (char) (c - 'A' + 'a');
        return c == '-' ? '_' : c;
}

bool setting_is_named(const char *a, const char *b) {
        for (; *a == *b || setting_fold(*a) == setting_fold(*b); a++, b++)
                if (!*a)
                        return true;
        return false;
}

const Setting *settings_find(const Settings *settings, const char *name) {
        for (size_t i = settings->n; i > 0; i--)
                if (setting_is_named(settings->items[i - 1].name, name))
                        return &settings->items[i - 1];
        return NULL;
}

void settings_add(Arena *arena, Settings *settings, const char *name, const char *value,
                  const char *origin) {
        *vec_push(arena, settings) = (Setting){
                .name = arena_strdup(arena, name),
                .value = arena_strdup(arena, value),
                .origin = arena_strdup(arena, origin),
        };
}

void settings_add_host(Arena *arena, Settings *settings, unsigned n_cpus,
                       uint64_t base_page_bytes) {
        if (n_cpus > 0)
                settings_add(arena, settings, "host_cpus", arena_printf(arena, "%u", n_cpus),
                             PATH_CPUS_ONLINE);
        if (base_page_bytes > 0)
                settings_add(arena, settings, "host_base_page",
                             arena_printf(arena, "%" PRIu64, base_page_bytes), PATH_SELF_SMAPS);
}

/* ---- sizing ---- */

void sizing_add(Arena *arena, Sizing *sizing, const char *what, const char *formula,
                uint64_t bytes) {
        *vec_push(arena, &sizing->steps) = (SizingStep){what, formula, bytes};
        sizing->bytes = add_saturated(sizing->bytes, bytes);
}

void sizing_finish(Sizing *sizing) {
        sizing->pages = div_round_up(sizing->bytes, sizing->page_size_bytes);
        sizing->bytes = mul_saturated(sizing->pages, sizing->page_size_bytes);
}

const char *setting_refuse(Arena *arena, const Setting *setting, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        const char *text = arena_vprintf(arena, format, arguments);

        va_end(arguments);
        if (!setting->origin)
                return arena_printf(arena, "%s: %s", setting->name, text);
        return arena_printf(arena, "%s (%s): %s", setting->name, setting->origin, text);
}

void sizing_add_positive(Arena *arena, Sizing *sizing, const char *what, const char *formula,
                         uint64_t bytes) {
        if (bytes > 0)
                sizing_add(arena, sizing, what, formula, bytes);
}

void sizing_add_mapping(Arena *arena, Sizing *sizing, const char *what, uint64_t bytes,
                        uint64_t min_pages) {
        uint64_t page_size_bytes = sizing->page_size_bytes;

        if (bytes == 0)
                return;
        if (bytes / page_size_bytes >= min_pages)
                sizing_add(arena, sizing, what, "rounded up to whole pages",
                           round_up_saturated(bytes, page_size_bytes));
        else
                sizing_add(arena, sizing, what, "too small for this page size", 0);
}

/* ---- parameters ---- */

bool parameters_have(const ParameterTable *table, const char *name) {
        return ARRAY_ANY(row, table->rows, table->n, is_of_row(table, row, name));
}

int parameter_parse(const Parameter *row, const char *value, uint64_t *ret) {
        uint64_t number = 0;
        int r = row->words   ? parse_word(value, row->words, &number)
                : row->parse ? row->parse(value, &number)
                             : 0;

        if (r < 0)
                return r;
        if (row->maximum > 0 && (number < row->minimum || number > row->maximum ||
                                 (row->is_power && !is_power_of_two(number))))
                return -ERANGE;
        *ret = number;
        return 0;
}

const char *parameters_read(Arena *arena, const Engine *engine, const ParameterTable *table,
                            const Settings *settings, ParameterValue *ret_values) {
        for (size_t i = 0; i < table->n; i++) {
                const Parameter *row = &table->rows[i];
                const Setting *setting = settings_find(settings, row->name);
                uint64_t major_version = i > 0 ? ret_values[0].number : 0;
                uint64_t *number = &ret_values[i].number;

                ret_values[i] = (ParameterValue){row->initial, setting};
                if (!setting && row->is_required)
                        return arena_printf(arena, "%s is missing; %s", row->name, row->expects);
                if (!setting)
                        continue;
                if (major_version > 0 && major_version < row->since)
                        return setting_refuse(arena, setting,
                                              "this setting is new in %s %" PRIu64
                                              "; remove it or correct server_version",
                                              engine->title, row->since);
                int r = parameter_parse(row, setting->value, number);

                if (r < 0)
                        return setting_refuse(arena, setting, "'%s' is %s; %s", setting->value,
                                              r == -ERANGE ? "out of range" : "not valid",
                                              row->expects);
                if (*number < row->minimum)
                        return setting_refuse(arena, setting, "'%s' is too small; %s",
                                              setting->value, row->expects);
        }
        return NULL;
}

Version parameters_version(const ParameterValue *values) {
        Version version = {};

        if (values[0].setting)
                parse_version(values[0].setting->value, &version);
        return version;
}

/* ---- values ---- */

int parse_suffixed_bytes(const char *value, const char *suffixes, uint64_t *ret_bytes) {
        const char *suffix = value + strspn(value, "0123456789");

        if (*suffix && (suffix[1] || (*suffix != 'B' && !strchr(suffixes, *suffix))))
                return -EINVAL;
        return parse_size_bytes(value, ret_bytes);
}

int parse_lettered_bytes(const char *value, uint64_t *ret_bytes) {
        return parse_suffixed_bytes(value, "KkMmGgTtPpEe", ret_bytes);
}

int parse_switch(const char *value, uint64_t *ret) {
        bool is_on;
        int r = parse_boolean(value, &is_on);

        if (r >= 0)
                *ret = is_on;
        return r;
}

int parse_word(const char *value, const char *const *words, uint64_t *ret) {
        for (size_t i = 0; words[i]; i++)
                if (strcasecmp(words[i], value) == 0) {
                        *ret = i;
                        return 0;
                }
        return -EINVAL;
}
