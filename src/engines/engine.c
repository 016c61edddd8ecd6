/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/engine.h"

#include "base/size.h"
#include "base/text.h"
#include "engines/engine_rows.h"

#include <errno.h>
#include <string.h>

#define ROW(name) &engine_##name,
const Engine *const engines[] = {ENGINES(ROW)};
#undef ROW

const size_t n_engines = ARRAY_LEN(engines);

const Engine *engine_find(const char *name) {
        for (size_t i = 0; i < n_engines; i++)
                if (text_equals(engines[i]->name, name))
                        return engines[i];
        return NULL;
}

char *engine_refuse(Arena *arena, const char *name) {
        NearMiss miss = {name, 3};

        for (size_t i = 0; i < n_engines; i++)
                near_miss_try(&miss, engines[i]->name);
        if (!miss.name)
                return arena_printf(arena, "there is no engine '%s'", name);
        return arena_printf(arena, "there is no engine '%s' (did you mean %s?)", name, miss.name);
}

bool engine_uses_sysv(const Engine *engine, const char *version) {
        Version known = {};

        parse_version(version ? version : "", &known);
        return engine->uses_sysv ||
               (engine->sysv_before.n_known > 0 && !version_may_follow(known, engine->sysv_before));
}

int engine_thp_preference(const Engine *engine, const char *version, ThpPolicy *ret) {
        Version parsed;

        *ret = engine->thp_preference;
        if (!version || !*version)
                return 0;
        int r = parse_version(version, &parsed);

        if (r >= 0 && engine->thp_changed_in.n_known > 0 &&
            version_side(parsed, engine->thp_changed_in) > 0)
                *ret = engine->thp_since;
        return r < 0 ? -EINVAL : 0;
}

/* ---- versions ---- */

int parse_major_version(const char *value, uint64_t *ret) {
        uint64_t major;
        int r = take_digits(&value, &major);

        for (; r >= 0 && *value; value++)
                if (!(*value >= 'a' && *value <= 'z') && !(*value >= 'A' && *value <= 'Z') &&
                    !strchr("0123456789.+-~_ ()", *value))
                        return -EINVAL;
        if (r >= 0)
                *ret = major;
        return r;
}

int parse_version(const char *value, Version *ret) {
        Version version = {};
        int r = 0;

        do {
                r = parse_major_version(value, &version.numbers[version.n_known++]);
                value += strspn(value, "0123456789");
        } while (r >= 0 && version.n_known < ARRAY_LEN(version.numbers) && *value++ == '.' &&
                 text_is_digit(*value));
        if (r >= 0)
                *ret = version;
        return r;
}

int version_side(Version version, Version limit) {
        for (size_t i = 0; i < ARRAY_LEN(version.numbers); i++) {
                if (i >= version.n_known && limit.numbers[i] > 0)
                        return 0;
                if (version.numbers[i] != limit.numbers[i])
                        return version.numbers[i] < limit.numbers[i] ? -1 : 1;
        }
        return 1;
}
