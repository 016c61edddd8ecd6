/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/formula.h"

#include "base/text.h"
#include "engines/parameters.h"
#include "model/names.h"

/* ---- of which no more is known than the memory that the user gives ---- */

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

const char *formula_size(const EngineFormula *formula, const Engine *engine, Arena *arena,
                         const Settings *settings, uint64_t page_size_bytes, Sizing *ret) {
        Sizing sizing = {.page_size_bytes = page_size_bytes};

        if (!formula->add)
                return "this engine takes no reserved huge pages, it has a preference for transparent ones only; "
                       "leave out Memory= and Pages=";
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

void settings_add_cpus(Arena *arena, Settings *settings, unsigned n) {
        if (n > 0)
                settings_add(arena, settings, "host_cpus", arena_printf(arena, "%u", n),
                             PATH_CPUS_ONLINE);
}

void settings_add_base_page(Arena *arena, Settings *settings, uint64_t bytes) {
        if (bytes > 0)
                settings_add(arena, settings, "host_base_page",
                             arena_printf(arena, "%" PRIu64, bytes), PATH_SELF_SMAPS);
}

/* ---- sizing ---- */

const char *sizing_source_name(SizingSource source) {
        static const char *const names[] = {
                [SIZING_RULE] = "rule",       [SIZING_WORD] = "word",   [SIZING_SEEN] = "seen",
                [SIZING_LEARNED] = "learned", [SIZING_GIVEN] = "given",
        };

        return names[source];
}

void sizing_add(Arena *arena, Sizing *sizing, const char *what, const char *formula,
                uint64_t bytes) {
        *vec_push(arena, &sizing->steps) = (SizingStep){what, formula, bytes};
        sizing->bytes = add_saturated(sizing->bytes, bytes);
}

void sizing_finish(Sizing *sizing) {
        sizing->pages = div_round_up(sizing->bytes, sizing->page_size_bytes);
        sizing->bytes = mul_saturated(sizing->pages, sizing->page_size_bytes);
}
