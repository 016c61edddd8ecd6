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
        const char **names = ARENA_ARRAY(arena, const char *, n_engines);

        for (size_t i = 0; i < n_engines; i++)
                names[i] = engines[i]->name;
        return arena_printf(arena, "there is no engine '%s'%s", name,
                            text_did_you_mean(arena, name, names, n_engines));
}

int engine_thp_preference(const Engine *engine, const char *version, ThpPolicy *ret) {
        uint64_t major, minor;

        *ret = engine->thp_preference;
        if (!version || !*version)
                return 0;
        if (parse_version(version, &major, &minor) < 0)
                return -EINVAL;
        if (engine->thp_by_version)
                *ret = engine->thp_by_version(major, minor);
        return 0;
}

/* ---- versions ---- */

int parse_major_version(const char *value, uint64_t *ret) {
        char digits[24];
        size_t n = strspn(value, "0123456789");

        if (n >= sizeof(digits))
                return -ERANGE;
        for (const char *rest = value + n; *rest; rest++)
                if (!(*rest >= 'a' && *rest <= 'z') && !(*rest >= 'A' && *rest <= 'Z') &&
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
