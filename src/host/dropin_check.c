/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "host/dropin_check.h"

#include "base/text.h"
#include "core/names.h"
#include "core/problem.h"
#include "host/host_plan_read.h"

#include <string.h>

DropinInput dropin_input(const Root *root, Arena *arena, const Config *config, const char *ctl) {
        const Accounts accounts = accounts_for_limits(root, arena, config);

        return (DropinInput){
                .config = config,
                .ctl = ctl,
                .systemd_version = systemd_version(root, config),
                .has_group = account_find_group(arena, &accounts, NAME_HUGETLB_GROUP),
        };
}

/* "postgresql@15-main.service" -> "postgresql@.service"; NULL for units that are no instance. */
static char *template_of(Arena *arena, const char *unit) {
        const char *at = strchr(unit, '@');

        return at ? arena_printf(arena, "%.*s@.service", (int) (at - unit), unit) : NULL;
}

static bool has_file(const Root *root, Arena *arena, const char *directory, const char *unit) {
        char *target;
        const char *path = arena_printf(arena, "%s/%s.d/" NAME_DROPIN, directory, unit);

        return root_exists(root, path) || root_read_link(root, arena, path, &target) == 0;
}

/* systemd.unit(5): a file of the same name in /etc replaces the generated one, even one of the
 * unit's template. */
static bool is_overridden(const Root *root, Arena *arena, const char *unit) {
        const char *template = template_of(arena, unit);

        return has_file(root, arena, PATH_UNITS_ETC, unit) ||
               (template && has_file(root, arena, PATH_UNITS_ETC, template));
}

static void check_one(const Root *root, Arena *arena, const Dropin *dropin, Diags *problems) {
        const char *path =
                arena_printf(arena, PATH_GENERATOR_DIR "/%s.d/" NAME_DROPIN, dropin->unit);
        char *text = NULL;
        int r = root_read_file(root, arena, path, strlen(dropin->text) + 4096, &text, NULL);

        if (r == 0 && text_equals(text, dropin->text))
                return;
        diags_add(problems,
                  &(Diag){.severity = SEVERITY_WARNING,
                          .id = problem_id(PROBLEM_DROPIN_MISSING),
                          .file = path,
                          .text = arena_printf(
                                  arena,
                                  r == 0 ? "the gate of %s is not that of today's configuration"
                                         : "%s does not wait for its pages: its gate is missing",
                                  dropin->unit),
                          .remedy = "run 'systemctl daemon-reload'"});
}

void dropin_check(const Root *root, const Dropins *dropins, Diags *problems) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        if (!root_is_directory(root, PATH_SYSTEMD_RUNS))
                return;
        VEC_FOREACH(dropin, dropins)
                if (!is_overridden(root, arena, dropin->unit))
                        check_one(root, arena, dropin, problems);
}
