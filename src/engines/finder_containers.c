/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Databases in containers that a unit starts: podman makes NAME.service of NAME.container. Source:
 * podman-systemd.unit(5) (directories, Image=, ServiceName=). What runs there was made of another root directory. */

#include "base/text.h"
#include "engines/finder_inside.h"
#include "model/name_check.h"

#include <string.h>

static const char suffix[] = ".container";

/* "docker.io/library/postgres:16" -> "docker.io", "library", "postgres", "16". */
const Engine *find_engine_of_image(const Finder *finder, const char *image) {
        const char *part;

        while ((part = text_next_word(finder->arena, &image, "/:@")))
                for (size_t i = 0; i < n_engines; i++)
                        if (text_fits(engines[i]->images, part))
                                return engines[i];
        return NULL;
}

/* The last value of KEY in [Container]; NULL: none. */
static const char *container_value(const Finder *finder, const SourceText *text, const char *key) {
        SourceLines lines = source_lines(text);
        const char *value = NULL, *line;
        bool is_container = false;

        while ((line = source_line(finder->arena, &lines))) {
                const char *equals = strchr(line, '=');

                if (*text_strip(finder->arena, line) == '[')
                        is_container = text_equals(text_strip(finder->arena, line), "[Container]");
                else if (is_container && equals &&
                         text_equals(text_strip(finder->arena,
                                                arena_strdup_to(finder->arena, line, equals)),
                                     key))
                        value = text_strip(finder->arena, equals + 1);
        }
        return value && *value ? value : NULL;
}

static void read_quadlet(Finder *finder, const char *path) {
        Arena *arena = finder->arena;
        SourceText text = source_read(finder->sources, arena, path);
        const char *name = text_base_name(path);
        const char *image = container_value(finder, &text, "Image");
        const char *service = container_value(finder, &text, "ServiceName");
        const Engine *engine = image ? find_engine_of_image(finder, image) : NULL;

        if (!service)
                service = arena_strndup(arena, name, strlen(name) - strlen(suffix));
        if (!engine)
                return;
        const char *unit = arena_printf(arena, "%s.service", service);

        if (text_ends_with(service, "@"))
                finder_pass(finder, path, "a template: no instance of it runs");
        else if (!name_check_unit(unit))
                finder_add(finder,
                           &(Candidate){
                                   .engine = engine,
                                   .name = service,
                                   .title = arena_printf(arena, "%s, image %s", engine->title,
                                                         text_excerpt(arena, image, 80)),
                                   .found = path,
                                   .target = {.unit = unit},
                                   .is_elsewhere = true,
                           });
}

void find_in_quadlets(Finder *finder) {
        static const char *const directories[] = {
                "/etc/containers/systemd",
                "/run/containers/systemd",
                "/usr/share/containers/systemd",
        };
        size_t n = 0;

        for (size_t i = 0; i < ARRAY_LEN(directories); i++) {
                SourceNames names = source_list(finder->sources, finder->arena, directories[i]);

                VEC_FOREACH(name, &names)
                        if (text_ends_with(*name, suffix) && ++n)
                                read_quadlet(finder, arena_printf(finder->arena, "%s/%s",
                                                                  directories[i], *name));
        }
        finder_looked(finder, "podman quadlets", n);
}
