/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Finds databases by the programs that their units start, including instances of templates. Also runs all finders. */

#include "base/text.h"
#include "engines/finder.h"
#include "model/name_check.h"
#include "read/unit_file.h"

#include <string.h>

/* ---- what a unit starts ---- */

/* Programs that may precede the server on a command line. */
static const char wrappers[] =
        "numactl taskset nice ionice chrt prlimit setpriv env nohup stdbuf runuser su sudo gosu chpst";
static const char shells[] = "sh bash dash ksh zsh";

/* Returns which of NAMES the line starts; NULL: none. A later path, such as the data directory, may be named like a
 * server; words behind a program that is no wrapper or shell do not count. */
static const char *started_by_line(Arena *arena, const char *line, const char *names) {
        const char *rest = line + strspn(line, "-@:+!|"), *before = NULL, *word;
        bool is_wrapped = false, is_shell = false;

        while ((!before || is_wrapped || is_shell) &&
               (word = text_next_word(arena, &rest, " \t\"'"))) {
                const char *begin = text_base_name(word);
                const char *name = arena_strndup(arena, begin, strcspn(begin, ";&"));
                /* Whether a command begins here; in a shell's line also behind these words. */
                bool may_be = !before || (is_wrapped && *word == '/') ||
                              text_has_word("exec && || then", before) ||
                              text_ends_with(before, ";") ||
                              (*before == '-' && text_ends_with(before, "c")) ||
                              text_has_word(shells, text_base_name(before));

                if (may_be && text_has_word(names, name))
                        return name;
                is_wrapped = is_wrapped || (!before && text_has_word(wrappers, name));
                is_shell = is_shell || (may_be && text_has_word(shells, name));
                before = word;
        }
        return NULL;
}

const char *started_by_unit(const UnitFile *unit, const char *names) {
        const UnitAssignments starts = unit_file_list(unit, "Service", "ExecStart");
        const char *found = NULL;

        for (size_t i = 0; i < starts.n && names && !found; i++)
                found = started_by_line(unit->arena, starts.items[i]->value, names);
        return found;
}

/* Returns the server or supervisor of ENGINE that UNIT starts; NULL: none. */
static const char *starts_server(const UnitFile *unit, const Engine *engine) {
        const char *server = started_by_unit(unit, engine->servers);

        return server ? server : started_by_unit(unit, engine->supervisors);
}

/* ---- units ---- */

static const char container_suffix[] = ".container";

/* Returns the unit of that name if it has a file and is not masked; an alias is found under the unit's own name. */
static const UnitFile *find_unit(const Finder *finder, const char *name) {
        const UnitFile *unit = unit_file_read(finder->arena, finder->sources, name);

        return unit->fragment_path && !unit->is_masked && text_equals(unit->name, name) ? unit
                                                                                        : NULL;
}

static void add_unit(Finder *finder, const Engine *engine, const UnitFile *unit,
                     const char *program) {
        Candidate candidate = {
                .engine = engine,
                .name = finder_stem(finder, unit->name),
                .title = engine->title,
                .found = unit->fragment_path,
                .target = {.unit = unit->name},
        };

        if (engine_finder(engine)->describe)
                engine_finder(engine)->describe(finder, &candidate, unit, program);
        finder_add(finder, &candidate);
}

/* ---- containers ---- */

/* "docker.io/library/postgres:16" -> "docker.io", "library", "postgres", "16". */
static const Engine *find_engine_of_image(const Finder *finder, const char *image) {
        TEXT_FOREACH(part, finder->arena, image, "/:@")
                for (size_t i = 0; i < n_engines; i++)
                        if (text_fits(engines[i]->images, part))
                                return engines[i];
        return NULL;
}

static void find_image(Finder *finder, const Engine *engine, const char *name, const char *image,
                       const char *found, const char *unit) {
        finder_add(finder,
                   &(Candidate){
                           .engine = engine,
                           .name = name,
                           .title = arena_printf(finder->arena, "%s, image %s", engine->title,
                                                 text_excerpt(finder->arena, image, 80)),
                           .found = found,
                           .target = {.unit = unit},
                           .is_elsewhere = true,
                   });
}

/* ---- by the programs that they start ---- */

#define PAGES_OF_ALL "ask the servers there for their sizes, and describe this unit with Pages="

static const char of_compose[] =
        "starts containers by a compose file, which is not read; " PAGES_OF_ALL;

/* Programs that stand for servers whose size cannot be read, why, and what to do. */
static const struct {
        const char *programs, *why;
} passed_over[] = {
        {"sapstartsrv sapinit",
         "SAP HANA takes transparent huge pages only; describe it with Engine=hana, which states its preference"},
        {"db2start db2fmcd db2gcf",
         "Db2's files are not read; describe the unit that starts it with Engine=db2 and Memory=auto: what it maps is measured"},
        {"mysqld_multi", "starts several servers; start each by a unit of its own, or "
                         "describe this unit with Engine=generic and Memory=auto: what they "
                         "map is measured"},
        {"docker-compose podman-compose", of_compose},
        {"lxc-start",
         "starts a container, whose files are not this host's and are not read; " PAGES_OF_ALL},
};

/* Passes over a unit that is named like the product's but starts another program. Debian's postgresql.service, which
 * groups the units of the clusters, starts none. */
static void pass_namesake(Finder *finder, const Engine *engine, const UnitFile *unit) {
        const char *start = unit_file_value(unit, "Service", "ExecStart");
        const char *program = start ? text_next_word(finder->arena, &start, " \t") : NULL;
        const EngineTarget target = {.unit = unit->name};

        if (!program || !engine->is_started_by_name || !text_fits(engine->units, unit->name) ||
            text_equals(text_base_name(program), "true"))
                return;
        const char *why = engine_reader(engine)->find_absent(engine, finder->arena, &target,
                                                             finder->sources, false);

        if (!why)
                why = arena_printf(
                        finder->arena,
                        "starts %s, which is not a known database server; if it starts one, set Unit= and Memory=auto",
                        text_excerpt(finder->arena, program, 80));
        finder_pass(finder, unit->name, text_printable(finder->arena, why));
}

/* "docker run --rm -v pg:/var/lib/postgresql/data postgres:16": the image is a word that is no option, path, assignment
 * or volume. */
static bool find_container(Finder *finder, const UnitFile *unit) {
        const char *rest = unit_file_value(unit, "Service", "ExecStart");
        const char *first = rest ? text_next_word(finder->arena, &rest, " \t") : "";

        if (!text_has_word("docker podman nerdctl", text_base_name(first)))
                return false;
        TEXT_FOREACH(word, finder->arena, rest, " \t\"'") {
                const Engine *engine = *word == '-' || *word == '/' || strchr(word, '=') ||
                                                       strstr(word, ":/")
                                               ? NULL
                                               : find_engine_of_image(finder, word);

                if (text_equals(word, "compose"))
                        finder_pass(finder, unit->name, of_compose);
                if (!engine)
                        continue;
                find_image(finder, engine, finder_stem(finder, unit->name), word,
                           unit->fragment_path, unit->name);
                return true;
        }
        return false;
}

/* Returns a missing path without which systemd does not start the unit; NULL: none is missing. */
static const char *find_unmet(const Finder *finder, const UnitFile *unit) {
        UnitAssignments conditions = unit_file_list(unit, "Unit", "ConditionPathExists");

        VEC_FOREACH(condition, &conditions) {
                const char *path = (*condition)->value, *name = text_base_name(path);
                SourceNames names = source_list(finder->sources, finder->arena,
                                                arena_strdup_to(finder->arena, path, name));

                if (*path == '/' && *name && !source_names_have(&names, name))
                        return path;
        }
        return NULL;
}

static void find_in_unit(Finder *finder, const UnitFile *unit) {
        bool is_any = find_container(finder, unit);
        const typeof(*passed_over) *stand_in =
                is_any ? NULL
                       : ARRAY_FIND(passed, passed_over, ARRAY_LEN(passed_over),
                                    started_by_unit(unit, passed->programs));

        if (stand_in)
                finder_pass(finder, unit->name, stand_in->why);
        is_any = is_any || stand_in;
        for (size_t i = 0; i < n_engines; i++) {
                const char *program = starts_server(unit, engines[i]);
                const char *unmet = program ? find_unmet(finder, unit) : NULL;

                if (unmet)
                        finder_pass(finder, unit->name,
                                    arena_printf(finder->arena,
                                                 "not started as long as %s is missing",
                                                 text_excerpt(finder->arena, unmet, 200)));
                else if (program)
                        add_unit(finder, engines[i], unit, program);
                is_any = is_any || program;
        }
        for (size_t i = 0; i < n_engines && !is_any; i++)
                pass_namesake(finder, engines[i], unit);
}

/* ---- templates ---- */

static void find_in_templates(Finder *finder, const SourceNames *templates) {
        VEC_FOREACH(template, templates) {
                const UnitFile *unit = find_unit(finder, *template);
                const char *stem =
                        arena_strdup_to(finder->arena, *template, strchr(*template, '@') + 1);

                if (unit &&
                    ARRAY_ANY(engine, engines, n_engines, starts_server(unit, *engine) != NULL) &&
                    !VEC_ANY(candidate, &finder->candidates,
                             candidate->target.unit &&
                                     text_starts_with(candidate->target.unit, stem)))
                        finder_pass(finder, *template,
                                    "a template: no instance of it is enabled or runs");
        }
}

/* ---- quadlets ---- */

/* podman makes NAME.service of NAME.container. Source: podman-systemd.unit(5) (directories, Image=, ServiceName=). A
 * container's paths are those of its own root directory. */
static void find_in_quadlets(Finder *finder) {
        static const char *const directories[] = {
                "/etc/containers/systemd",
                "/run/containers/systemd",
                "/usr/share/containers/systemd",
        };
        Arena *arena = finder->arena;

        ARRAY_FOREACH(directory, directories, ARRAY_LEN(directories)) {
                SourceNames names = source_list(finder->sources, arena, *directory);

                VEC_FOREACH(name, &names) {
                        if (!text_ends_with(*name, container_suffix))
                                continue;
                        const char *path = arena_printf(arena, "%s/%s", *directory, *name);
                        SourceText text = source_read(finder->sources, arena, path);
                        const char *stem = arena_strndup(arena, *name,
                                                         strlen(*name) - strlen(container_suffix));
                        const UnitFile *quadlet = unit_file_parse(
                                arena, arena_printf(arena, "%s.service", stem), path, &text);
                        const char *image = unit_file_value(quadlet, "Container", "Image");
                        const char *service = unit_file_value(quadlet, "Container", "ServiceName");
                        const Engine *engine = image ? find_engine_of_image(finder, image) : NULL;

                        if (!service)
                                service = stem;
                        const char *unit = arena_printf(arena, "%s.service", service);

                        if (engine && text_ends_with(service, "@"))
                                finder_pass(finder, path, "a template: no instance of it runs");
                        else if (engine && !name_check_unit(unit))
                                find_image(finder, engine, service, image, path, unit);
                }
        }
}

static void find_in_units(Finder *finder) {
        Arena *arena = finder->arena;
        const SourceNames templates = unit_file_names(arena, finder->sources, "*@.service");
        const SourceNames dropins = unit_file_names(arena, finder->sources, "*@?*.service.d");
        SourceNames names = unit_file_names(arena, finder->sources, "*.service"), more = {};

        /* Instances that no unit enables: they run, or have drop-ins of their own. */
        VEC_FOREACH(directory, &dropins)
                *vec_push(arena, &more) =
                        arena_strdup_to(arena, *directory, strrchr(*directory, '.'));
        VEC_FOREACH(process, finder->processes) {
                const char *service = finder_service(process);

                if (service && strchr(service, '@'))
                        *vec_push(arena, &more) = service;
        }
        VEC_FOREACH(name, &more)
                if (!source_names_have(&names, *name))
                        *vec_push(arena, &names) = *name;
        /* hugeplan's own units have the names of their databases. */
        VEC_KEEP(name, &names, !text_starts_with(*name, "hugeplan-"));
        VEC_FOREACH(name, &names) {
                const UnitFile *unit = find_unit(finder, *name);

                if (unit)
                        find_in_unit(finder, unit);
        }
        find_in_templates(finder, &templates);
}

/* ---- all ---- */

void engines_find(Finder *finder) {
        typeof(finder->candidates) sorted = {};

        find_in_units(finder);
        for (size_t i = 0; i < n_engines; i++)
                if (engine_finder(engines[i])->find_installed)
                        engine_finder(engines[i])->find_installed(finder, engines[i]);
        find_in_quadlets(finder);
        find_in_processes(finder);
        for (size_t i = 0; i < n_engines; i++)
                if (engine_finder(engines[i])->find_rest)
                        engine_finder(engines[i])->find_rest(finder, engines[i]);
        /* By engine, and in the order in which an engine's databases were found. */
        for (size_t i = 0; i < n_engines; i++)
                VEC_FOREACH(candidate, &finder->candidates)
                        if (candidate->engine == engines[i])
                                *vec_push(finder->arena, &sorted) = *candidate;
        finder->candidates = sorted;
        VEC_KEEP(passed, &finder->passed_over,
                 !VEC_ANY(candidate, &finder->candidates,
                          text_equals(candidate->target.unit, passed->name)));
}
