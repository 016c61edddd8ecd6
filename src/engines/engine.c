/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The registry of engines, and the reading of settings that they share. */

#include "engines/engine.h"

#include "base/text.h"
#include "engines/engine_rows.h"

#include <string.h>
#include <strings.h>

const Engine *const engines[] = {
        &engine_generic, &engine_postgresql, &engine_oracle,    &engine_mariadb,
        &engine_mysql,   &engine_jvm,        &engine_mongodb,   &engine_redis,
        &engine_mssql,   &engine_clickhouse, &engine_memcached,
};

const size_t n_engines = ARRAY_LEN(engines);

const Engine *engine_find(const char *name) {
        for (size_t i = 0; i < n_engines; i++)
                if (text_equals(engines[i]->name, name))
                        return engines[i];
        return NULL;
}

char *engine_names(Arena *arena) {
        Text names = text_in(arena);

        for (size_t i = 0; i < n_engines; i++)
                text_add_item(&names, engines[i]->name);
        return names.string;
}

int engine_thp_wish(const Engine *engine, const char *version, ThpPolicy *ret) {
        uint64_t major, minor;

        *ret = engine->thp_wish;
        if (!version || !*version)
                return 0;
        if (parse_version(version, &major, &minor) < 0)
                return -EINVAL;
        if (engine->thp_by_version)
                *ret = engine->thp_by_version(major, minor);
        return 0;
}

/* ---- settings ---- */

static char fold(char c) {
        if (c >= 'A' && c <= 'Z')
                return (char) (c - 'A' + 'a');
        return c == '-' ? '_' : c;
}

static bool is_same_name(const char *a, const char *b) {
        for (; *a && fold(*a) == fold(*b); a++)
                b++;
        return fold(*a) == fold(*b);
}

const Setting *settings_find(const Settings *settings, const char *name) {
        for (size_t i = settings->n; i > 0; i--)
                if (is_same_name(settings->items[i - 1].name, name))
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

const char *setting_refuse(Arena *arena, const Setting *setting, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        const char *text = arena_vprintf(arena, format, arguments);

        va_end(arguments);
        if (!setting->origin)
                return arena_printf(arena, "%s: %s", setting->name, text);
        return arena_printf(arena, "%s (%s): %s", setting->name, setting->origin, text);
}

/* ---- names that are nearly right ---- */

enum { NAME_COMPARED_MAX = 64, NAME_DISTANCE_MAX = 3, NAME_PART_MIN = 4 };

/* How many letters must be changed, added or dropped (Levenshtein). */
static size_t name_distance(const char *a, const char *b) {
        size_t row[NAME_COMPARED_MAX + 1], n = strlen(b);

        if (n > NAME_COMPARED_MAX)
                return SIZE_MAX;
        for (size_t j = 0; j <= n; j++)
                row[j] = j;
        for (size_t i = 0; a[i]; i++) {
                size_t diagonal = row[0];

                row[0] = i + 1;
                for (size_t j = 0; j < n; j++) {
                        size_t change = diagonal + (fold(a[i]) != fold(b[j]));
                        size_t add_or_drop = MIN(row[j], row[j + 1]) + 1;

                        diagonal = row[j + 1];
                        row[j + 1] = MIN(change, add_or_drop);
                }
        }
        return row[n];
}

/* A part of the whole name is near too: "buffer_pool_size". */
static bool is_part_of_name(const char *part, const char *name) {
        size_t length = strlen(part);

        for (; length >= NAME_PART_MIN && *name; name++) {
                size_t i = 0;

                while (i < length && fold(part[i]) == fold(name[i]))
                        i++;
                if (i == length)
                        return true;
        }
        return false;
}

static const Parameter *nearest_parameter(const ParameterTable *table, const char *name) {
        const Parameter *nearest = NULL;
        size_t least = NAME_DISTANCE_MAX + 1;

        for (const Parameter *row = table->rows; row < table->rows + table->n; row++) {
                bool is_part = !row->takes_nothing && is_part_of_name(name, row->name);
                size_t distance = is_part ? NAME_DISTANCE_MAX : name_distance(name, row->name);

                /* Short names are all near to each other. */
                if (distance < least && distance < strlen(row->name) - 1) {
                        nearest = row;
                        least = distance;
                }
        }
        return nearest;
}

static const char *refuse_unknown(Arena *arena, const ParameterTable *table,
                                  const Setting *setting) {
        const Parameter *nearest = nearest_parameter(table, setting->name);
        Text names = text_in(arena);

        if (nearest)
                return setting_refuse(arena, setting,
                                      "not a setting that %s is sized by; did you mean %s?",
                                      table->engine->title, nearest->name);
        for (size_t i = 0; i < table->n; i++)
                if (!table->rows[i].takes_nothing)
                        text_add_item(&names, table->rows[i].name);
        return setting_refuse(arena, setting, "not a setting that %s is sized by; write one of %s",
                              table->engine->title, names.string);
}

/* ---- parameters ---- */

static const Parameter *parameter_find(const ParameterTable *table, const char *name) {
        for (size_t i = 0; i < table->n; i++)
                if (is_same_name(table->rows[i].name, name))
                        return &table->rows[i];
        return NULL;
}

bool parameters_have(const ParameterTable *table, const char *name) {
        return parameter_find(table, name) != NULL;
}

static const char *read_given(Arena *arena, const ParameterTable *table, const Parameter *row,
                              uint64_t major_version, ParameterValue *value) {
        const Setting *setting = value->setting;

        if (major_version > 0 && major_version < row->since)
                return setting_refuse(arena, setting,
                                      "this setting is new in %s %" PRIu64
                                      "; leave it out or correct server_version",
                                      table->engine->title, row->since);
        int r = row->parse(setting->value, &value->number);

        if (r < 0)
                return setting_refuse(arena, setting, "'%s' is %s; %s", setting->value,
                                      r == -ERANGE ? "out of range" : "not valid", row->expects);
        if (value->number < row->minimum)
                return setting_refuse(arena, setting, "'%s' is too small; %s", setting->value,
                                      row->expects);
        return NULL;
}

static const char *read_row(Arena *arena, const ParameterTable *table, const Parameter *row,
                            const Settings *settings, ParameterValue *values) {
        ParameterValue *value = &values[row - table->rows];

        *value = (ParameterValue){row->initial, settings_find(settings, row->name)};
        if (row->takes_nothing)
                return NULL;
        if (value->setting)
                return read_given(arena, table, row, values[0].number, value);
        if (row->is_required)
                return arena_printf(arena, "%s is missing; %s", row->name, row->expects);
        return NULL;
}

const char *parameters_read(Arena *arena, const ParameterTable *table, const Settings *settings,
                            ParameterValue *ret_values) {
        for (size_t i = 0; i < settings->n; i++) {
                const Setting *setting = &settings->items[i];

                if (!setting->origin && !parameter_find(table, setting->name))
                        return refuse_unknown(arena, table, setting);
        }
        for (size_t i = 0; i < table->n; i++) {
                const char *wrong = read_row(arena, table, &table->rows[i], settings, ret_values);

                if (wrong)
                        return wrong;
        }
        return NULL;
}

/* ---- values ---- */

int parse_major_version(const char *value, uint64_t *ret) {
        char digits[24];
        size_t n = strspn(value, "0123456789");

        if (n >= sizeof(digits))
                return -ERANGE;
        for (const char *rest = value + n; *rest; rest++)
                if (!(fold(*rest) >= 'a' && fold(*rest) <= 'z') &&
                    !strchr("0123456789.+-~_ ()", *rest))
                        return -EINVAL;
        memcpy(digits, value, n);
        digits[n] = '\0';
        return parse_u64(digits, ret);
}

int parse_version(const char *value, uint64_t *ret_major, uint64_t *ret_minor) {
        const char *dot = strchr(value, '.');
        uint64_t major, minor = 0;
        int r = parse_major_version(value, &major);

        if (r >= 0 && dot && dot[1] >= '0' && dot[1] <= '9')
                r = parse_major_version(dot + 1, &minor);
        if (r < 0)
                return r;
        *ret_major = major;
        *ret_minor = minor;
        return 0;
}

int parse_suffixed_bytes(const char *value, const char *suffixes, uint64_t *ret_bytes) {
        const char *suffix = value + strspn(value, "0123456789");

        if (*suffix && (suffix[1] || (*suffix != 'B' && !strchr(suffixes, *suffix))))
                return -EINVAL;
        return parse_size_bytes(value, ret_bytes);
}

int parse_switch(const char *value, uint64_t *ret) {
        bool is_on;
        int r = parse_boolean(value, &is_on);

        if (r >= 0)
                *ret = is_on;
        return r;
}

int parse_as_text(const char *value, uint64_t *ret) {
        (void) value;
        *ret = 0;
        return 0;
}

int parse_word(const char *value, const char *const *words, size_t n, uint64_t *ret) {
        for (size_t i = 0; i < n; i++)
                if (strcasecmp(words[i], value) == 0) {
                        *ret = i;
                        return 0;
                }
        return -EINVAL;
}

/* ---- sizing ---- */

void sizing_add(Arena *arena, Sizing *sizing, const char *what, const char *formula,
                uint64_t bytes) {
        *vec_push(arena, &sizing->steps) = (SizingStep){what, formula, bytes};
        sizing->bytes = add_saturated(sizing->bytes, bytes);
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

void sizing_add_idle(Arena *arena, Sizing *sizing, const ParameterTable *table,
                     const Settings *settings) {
        for (const Parameter *row = table->rows; row < table->rows + table->n; row++) {
                const Setting *setting = settings_find(settings, row->name);

                if (row->takes_nothing && setting && !setting->origin)
                        sizing_add(arena, sizing, row->name, row->takes_nothing, 0);
        }
}

void sizing_finish(Sizing *sizing) {
        sizing->pages = div_round_up(sizing->bytes, sizing->page_size_bytes);
        sizing->bytes = mul_saturated(sizing->pages, sizing->page_size_bytes);
}
