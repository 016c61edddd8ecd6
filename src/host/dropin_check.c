/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "host/dropin_check.h"

#include "base/size.h"
#include "base/text.h"
#include "core/limits.h"
#include "core/names.h"
#include "core/problem.h"
#include "host/host_sources.h"

#include <string.h>

/* "libsystemd-shared-252.so", "libsystemd-shared-257.9-1~deb13u1.so". */
static unsigned version_in(const Root *root, Arena *arena, const char *directory) {
        static const char prefix[] = "libsystemd-shared-";
        unsigned version = 0;
        Names names = {};

        root_list(root, arena, directory, &names);
        VEC_FOREACH(name, &names) {
                uint64_t found;

                if (!text_starts_with(*name, prefix))
                        continue;
                const char *number = *name + strlen(prefix);

                if (parse_u64(arena_strndup(arena, number, strspn(number, "0123456789")), &found) ==
                            0 &&
                    found < 10000)
                        version = MAX(version, (unsigned) found);
        }
        return version;
}

/* In /usr/lib/systemd, or below the architecture's directory as Debian has it. */
unsigned systemd_version(const Root *root) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        unsigned version = version_in(root, arena, PATH_SYSTEMD_LIBRARIES);
        Names names = {};

        if (version == 0)
                root_list(root, arena, PATH_USR_LIB, &names);
        VEC_FOREACH(name, &names)
                if (strstr(*name, "-linux-"))
                        version = MAX(
                                version,
                                version_in(root, arena,
                                           arena_printf(arena, PATH_USR_LIB "/%s/systemd", *name)));
        return version;
}

DropinInput dropin_input(const Root *root, Arena *arena, const Config *config, const char *ctl) {
        DropinInput input = {
                .config = config, .ctl = ctl, .systemd_version = systemd_version(root)};

        if (limits_is_group_needed(config)) {
                HostSources sources = host_sources(root);
                Accounts accounts = accounts_read(arena, &sources.sources);

                input.has_group = account_find_group(arena, &accounts, NAME_HUGETLB_GROUP);
        }
        return input;
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
