/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "host/config_dirs.h"

#include "base/text.h"
#include "model/names.h"
#include "model/problem.h"

#include <stdlib.h>
#include <string.h>

enum { CONFIG_BYTES_MAX = 64 * 1024 };

static const char *const config_dirs[] = {
        PATH_CONFIG_ETC,
        PATH_CONFIG_RUN,
        PATH_CONFIG_LOCAL,
        PATH_CONFIG_USR,
};

typedef struct Finder {
        const Root *root;
        Arena *arena;
        Diags *problems;
        ConfigFiles *files;
        const char *draft;          /* a directory of still higher rank; may be NULL */
        VEC(const char *) extended; /* the names for which a NAME.conf.d/ was seen */
} Finder;

/* A file is known once its name was seen in a directory of higher rank, masks included. */
typedef struct Candidate {
        const char *name;
        const char *path;
} Candidate;

typedef VEC(Candidate) Candidates;

static bool is_known(const Candidates *candidates, const char *name) {
        VEC_FOREACH(candidate, candidates)
                if (text_equals(candidate->name, name))
                        return true;
        return false;
}

static void note_extended(Finder *finder, const char *name) {
        const char *base = arena_strndup(finder->arena, name, strlen(name) - strlen(".d"));

        VEC_FOREACH(known, &finder->extended)
                if (text_equals(*known, base))
                        return;
        *vec_push(finder->arena, &finder->extended) = base;
}

static void list_directory(Finder *finder, const char *directory, Candidates *candidates,
                           bool is_top) {
        Names names;
        int r = root_list(finder->root, finder->arena, directory, &names);

        if (r < 0) {
                if (r != -ENOENT)
                        diags_add(
                                finder->problems,
                                &(Diag){.severity = SEVERITY_ERROR,
                                        .id = problem_id(PROBLEM_CONFIG_UNREADABLE),
                                        .file = directory,
                                        .text = arena_printf(finder->arena, "cannot be listed: %s",
                                                             strerror(-r)),
                                        .remedy = "make it a directory that root can read"});
                return;
        }
        VEC_FOREACH(item, &names) {
                const char *name = *item;

                if (*name == '.')
                        continue;
                if (is_top && text_ends_with(name, NAME_EXTEND_SUFFIX))
                        note_extended(finder, name);
                else if (text_ends_with(name, NAME_CONFIG_SUFFIX) && !is_known(candidates, name))
                        *vec_push(finder->arena, candidates) = (Candidate){
                                name, arena_printf(finder->arena, "%s/%s", directory, name)};
        }
}

/* EXTENSION is "" for the directories themselves, else "/NAME.conf.d". */
static Candidates list_directories(Finder *finder, const char *extension) {
        Candidates candidates = {};

        if (finder->draft)
                list_directory(finder,
                               arena_printf(finder->arena, "%s%s", finder->draft, extension),
                               &candidates, !*extension);
        for (size_t i = 0; i < ARRAY_LEN(config_dirs); i++)
                list_directory(finder,
                               arena_printf(finder->arena, "%s%s", config_dirs[i], extension),
                               &candidates, !*extension);
        return candidates;
}

static int compare_candidates(const void *a, const void *b) {
        return strcmp(((const Candidate *) a)->name, ((const Candidate *) b)->name);
}

static bool is_masked(const Finder *finder, const char *path) {
        char *target;

        return root_read_link(finder->root, finder->arena, path, &target) == 0 &&
               text_equals(target, "/dev/null");
}

static void read_candidates(Finder *finder, Candidates *candidates, const char *extends) {
        if (candidates->n > 0)
                qsort(candidates->items, candidates->n, sizeof(Candidate), compare_candidates);
        VEC_FOREACH(candidate, candidates) {
                ConfigFile file = {
                        .path = candidate->path, .name = candidate->name, .extends = extends};
                char *text = NULL;

                if (is_masked(finder, candidate->path))
                        continue;
                file.error = root_read_file(finder->root, finder->arena, candidate->path,
                                            CONFIG_BYTES_MAX, &text, &file.size);
                file.text = text;
                *vec_push(finder->arena, finder->files) = file;
        }
}

ConfigFiles *config_dirs_read(const Root *root, Arena *arena, const char *draft, Diags *problems) {
        Finder finder = {.root = root,
                         .arena = arena,
                         .problems = problems,
                         .files = ARENA_NEW(arena, ConfigFiles),
                         .draft = draft};
        Candidates main_files = list_directories(&finder, "");

        read_candidates(&finder, &main_files, NULL);
        if (finder.extended.n > 0)
                qsort(finder.extended.items, finder.extended.n, sizeof(char *), text_compare);
        VEC_FOREACH(base, &finder.extended) {
                Candidates extensions =
                        list_directories(&finder, arena_printf(arena, "/%s.d", *base));

                read_candidates(&finder, &extensions, *base);
        }
        return finder.files;
}

ConfigFiles *config_dirs_read_one(const Root *root, Arena *arena, const char *path) {
        ConfigFiles *files = ARENA_NEW(arena, ConfigFiles);
        ConfigFile file = {.path = path, .name = text_base_name(path)};
        char *text = NULL;

        file.error = root_read_file(root, arena, path, CONFIG_BYTES_MAX, &text, &file.size);
        file.text = text;
        if (!text_ends_with(file.name, NAME_CONFIG_SUFFIX))
                file.name = arena_printf(arena, "%s%s", file.name, NAME_CONFIG_SUFFIX);
        *vec_push(arena, files) = file;
        return files;
}
