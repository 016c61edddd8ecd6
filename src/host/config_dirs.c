/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "host/config_dirs.h"

#include "base/index.h"
#include "base/text.h"
#include "model/names.h"
#include "model/problem.h"
#include "read/source.h"

#include <string.h>

enum { CONFIG_BYTES_MAX = 64 * 1024 };

typedef struct Finder {
        const Root *root;
        Arena *arena;
        Diags *problems;
        ConfigFiles *files;
        const char *draft;    /* a directory of still higher rank; may be NULL */
        SourceNames extended; /* the names for which a NAME.conf.d/ was seen */
} Finder;

/* A file is known once its name was seen in a directory of higher rank, masks included. */
typedef struct Candidate {
        const char *name;
        const char *path;
} Candidate;

typedef VEC(Candidate) Candidates;

static void list_directory(Finder *finder, const char *directory, Candidates *candidates,
                           Index *known, bool is_top) {
        Names names;
        int r = root_list(finder->root, finder->arena, directory, &names);

        if (r < 0) {
                if (r != -ENOENT)
                        problem_add(
                                finder->problems, SEVERITY_ERROR, PROBLEM_CONFIG_UNREADABLE,
                                directory,
                                arena_printf(finder->arena, "cannot be listed: %s", strerror(-r)),
                                "make it a directory that root can read");
                return;
        }
        VEC_FOREACH(item, &names) {
                const char *name = *item;

                if (*name == '.')
                        continue;
                if (is_top && text_ends_with(name, NAME_EXTEND_SUFFIX)) {
                        name = arena_strndup(finder->arena, name, strlen(name) - strlen(".d"));
                        *vec_push(finder->arena, &finder->extended) = name;
                } else if (text_ends_with(name, NAME_CONFIG_SUFFIX) && !index_find(known, name)) {
                        *vec_push(finder->arena, candidates) = (Candidate){
                                name, arena_printf(finder->arena, "%s/%s", directory, name)};
                        index_add(known, name, name);
                }
        }
}

/* EXTENSION is "" for the directories themselves, else "/NAME.conf.d". */
static Candidates list_directories(Finder *finder, const char *extension) {
        const char *const directories[] = {finder->draft, PATH_CONFIG_ETC, PATH_CONFIG_RUN,
                                           PATH_CONFIG_LOCAL, PATH_CONFIG_USR};
        Index *known = index_new(finder->arena);
        Candidates candidates = {};

        ARRAY_FOREACH(directory, directories, ARRAY_LEN(directories))
                if (*directory)
                        list_directory(finder,
                                       arena_printf(finder->arena, "%s%s", *directory, extension),
                                       &candidates, known, !*extension);
        return candidates;
}

static void add_file(const Root *root, Arena *arena, ConfigFiles *files, ConfigFile file) {
        char *text = NULL, *target;

        file.error = root_read_file(root, arena, file.path, CONFIG_BYTES_MAX, &text, &file.size);
        /* A mask: no file, and one that takes the place of others. */
        if (file.error < 0 && root_read_link(root, arena, file.path, &target) == 0 &&
            text_equals(target, "/dev/null"))
                return;
        file.text = text;
        *vec_push(arena, files) = file;
}

static int compare_candidates(const void *a, const void *b) {
        return strcmp(((const Candidate *) a)->name, ((const Candidate *) b)->name);
}

static void read_candidates(Finder *finder, Candidates *candidates, const char *extends) {
        vec_sort(candidates, compare_candidates);
        VEC_FOREACH(candidate, candidates)
                add_file(finder->root, finder->arena, finder->files,
                         (ConfigFile){.path = candidate->path,
                                      .name = candidate->name,
                                      .extends = extends});
}

ConfigFiles *config_dirs_read(const Root *root, Arena *arena, const char *draft, Diags *problems) {
        Finder finder = {.root = root,
                         .arena = arena,
                         .problems = problems,
                         .files = ARENA_NEW(arena, ConfigFiles),
                         .draft = draft};
        Candidates main_files = list_directories(&finder, "");

        read_candidates(&finder, &main_files, NULL);
        vec_sort(&finder.extended, text_compare);
        VEC_FOREACH(base, &finder.extended) {
                /* In several directories. */
                if (base > finder.extended.items && text_equals(base[0], base[-1]))
                        continue;
                Candidates extensions =
                        list_directories(&finder, arena_printf(arena, "/%s.d", *base));

                read_candidates(&finder, &extensions, *base);
        }
        return finder.files;
}

Names config_dirs_list(const Root *root, Arena *arena) {
        const char *const directories[] = {PATH_CONFIG_ETC, PATH_CONFIG_RUN, PATH_CONFIG_LOCAL,
                                           PATH_CONFIG_USR};
        Names paths = {}, names;

        ARRAY_FOREACH(directory, directories, ARRAY_LEN(directories))
                *vec_push(arena, &paths) = arena_strdup(arena, *directory);
        for (size_t i = 0; i < paths.n; i++) {
                const char *directory = paths.items[i];
                bool is_extension = text_ends_with(directory, NAME_EXTEND_SUFFIX);

                if ((i >= ARRAY_LEN(directories) && !is_extension) ||
                    root_list(root, arena, directory, &names) < 0)
                        continue;
                VEC_FOREACH(name, &names)
                        if (**name != '.' && (text_ends_with(*name, NAME_CONFIG_SUFFIX) ||
                                              text_ends_with(*name, NAME_EXTEND_SUFFIX)))
                                *vec_push(arena, &paths) =
                                        arena_printf(arena, "%s/%s", directory, *name);
        }
        return paths;
}

ConfigFiles *config_dirs_read_one(const Root *root, Arena *arena, const char *path) {
        ConfigFiles *files = ARENA_NEW(arena, ConfigFiles);
        const char *name = text_base_name(path);

        if (!text_ends_with(name, NAME_CONFIG_SUFFIX))
                name = arena_printf(arena, "%s%s", name, NAME_CONFIG_SUFFIX);
        add_file(root, arena, files, (ConfigFile){.path = path, .name = name});
        return files;
}
