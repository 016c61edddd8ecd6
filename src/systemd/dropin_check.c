/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "systemd/dropin_check.h"

#include "base/text.h"
#include "model/names.h"
#include "model/problem.h"

#include <string.h>

/* Returns NULL if the administrator has no such file. */
static const char *find_file(const Root *root, Arena *arena, const char *unit) {
        char *target;
        const char *path = arena_printf(arena, PATH_UNITS_ETC "/%s.d/" NAME_DROPIN, unit);

        return root_exists(root, path) || root_read_link(root, arena, path, &target) == 0 ? path
                                                                                          : NULL;
}

/* systemd.unit(5): a file of the same name in /etc replaces the generated one, even one of the
 * unit's template. */
static const char *find_override(const Root *root, Arena *arena, const char *unit) {
        const char *at = strchr(unit, '@'), *path = find_file(root, arena, unit);

        /* "postgresql@15-main.service" -> "postgresql@.service" */
        return path || !at
                       ? path
                       : find_file(root, arena,
                                   arena_printf(arena, "%.*s@.service", (int) (at - unit), unit));
}

void dropin_check(const Root *root, const Dropins *dropins, Diags *problems) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        if (dropins->n == 0 || !root_is_directory(root, PATH_SYSTEMD_RUNS))
                return;
        VEC_FOREACH(dropin, dropins) {
                const char *path =
                        arena_printf(arena, PATH_GENERATOR_DIR "/%s.d/" NAME_DROPIN, dropin->unit);
                char *text = NULL;
                int r = root_read_file(root, arena, path, strlen(dropin->text) + 4096, &text, NULL);

                if ((r < 0 || !text_equals(text, dropin->text)) &&
                    !find_override(root, arena, dropin->unit))
                        diags_report(
                                problems,
                                problem_of(
                                        PROBLEM_DROPIN_MISSING, path,
                                        root_is_directory(root, PATH_EXTENSIONS) ||
                                                        root_is_directory(root, PATH_EXTENSIONS_ETC)
                                                ? "run 'systemctl daemon-reload'; if an extension brings hugeplan, it may be merged too late in each boot: see hugepland(8), System extensions"
                                                : "run 'systemctl daemon-reload'"),
                                r == 0 ? "the gate of %s is not that of the current configuration"
                                       : "%s does not wait for its pages: its gate is missing",
                                dropin->unit);
        }
}

char *dropin_key(const Root *root, Arena *arena, const SourceNames *units) {
        Text key = text_in(arena);

        text_printf(&key, "%s %s", root_identity(root, arena, PATH_GENERATOR_DIR),
                    root_identity(root, arena, PATH_UNITS_ETC));
        VEC_FOREACH(unit, units)
                text_printf(&key, " %s %s", *unit,
                            root_identity(root, arena,
                                          arena_printf(arena, PATH_UNITS_ETC "/%s.d", *unit)));
        return key.string;
}

void dropin_explain(const Root *root, Arena *arena, const Config *config, LoadedUnits *units) {
        VEC_FOREACH(unit, units)
                if (text_equals(unit->load_state, "loaded") && !loaded_unit_has_gates(config, unit))
                        unit->override = find_override(root, arena, unit->name);
}
