/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "host/config_load.h"

#include "base/index.h"
#include "base/text.h"
#include "model/names.h"
#include "model/problem.h"

#include <string.h>
#include <strings.h>

enum { CONFIG_BYTES_MAX = 64 * 1024 };

/* A file that may be in effect: no directory of higher rank has that name, not even as a mask. */
typedef struct Candidate {
        const char *name;
        const char *path;
        size_t rank; /* of its directory; 0 is the highest */
        const RootFolder *folder;
} Candidate;

typedef VEC(Candidate) Candidates;

typedef struct Finder {
        const Root *root;
        Arena *arena, *scratch;
        Diags *problems;
        ConfigFiles *files;
        ConfigTrace *trace;
        const char *draft;         /* a directory above all others; may be NULL */
        const char *only;          /* read only files of this name, their number aside; NULL: all */
        Candidates extended;       /* each NAME.conf.d/ that was found, as NAME.conf */
        VEC(RootFolder *) folders; /* the open ones */
} Finder;

/* ---- trace ---- */

/* ST is the status of the file or directory that was opened; NULL: there is none. */
static void trace_path(const Finder *finder, const char *path, const struct stat *st) {
        if (!finder->trace)
                return;
        *vec_push(finder->arena, &finder->trace->paths) = path;
        root_stamp_add(&finder->trace->stamp, st);
}

/* ---- directories ---- */

/* Returns true for "20-pg.conf" or "20-pg.conf.d" and "pg". */
static bool is_called(const char *file, const char *name) {
        size_t digits = strspn(file, "0123456789");

        file += digits > 0 && file[digits] == '-' ? digits + 1 : 0;
        return text_starts_with(file, name) &&
               TEXT_IS_ANY(file + strlen(name), NAME_CONFIG_SUFFIX, NAME_EXTEND_SUFFIX);
}

static void list_directory(Finder *finder, const char *directory, size_t rank,
                           Candidates *candidates, Index *known, bool is_top) {
        RootFolder *folder = ARENA_NEW(finder->scratch, RootFolder);

        int r = root_open_folder(finder->root, finder->scratch, directory, folder);

        trace_path(finder, directory, r < 0 ? NULL : &folder->st);
        *vec_push(finder->scratch, &finder->folders) = folder;

        if (r < 0) {
                if (r != -ENOENT)
                        diags_report(finder->problems,
                                     problem_of(PROBLEM_CONFIG_UNREADABLE, directory,
                                                r == -EACCES
                                                        ? CONFIG_DENIED_REMEDY
                                                        : "make it a directory that root can read"),
                                     "cannot be listed%s: %s", r == -EACCES ? " by this user" : "",
                                     strerror(-r));
                return;
        }
        VEC_FOREACH(item, &folder->names) {
                const char *name = *item;

                if (*name == '.' || (is_top && finder->only && !is_called(name, finder->only)))
                        continue;
                Candidate found = {name, arena_printf(finder->arena, "%s/%s", directory, name),
                                   rank, folder};

                if (is_top && text_ends_with(name, NAME_EXTEND_SUFFIX)) {
                        found.name =
                                arena_strndup(finder->scratch, name, strlen(name) - strlen(".d"));
                        *vec_push(finder->scratch, &finder->extended) = found;
                } else if (text_ends_with(name, NAME_CONFIG_SUFFIX) && !index_find(known, name)) {
                        *vec_push(finder->scratch, candidates) = found;
                        index_add(known, name, name);
                } else if (strncasecmp(name, "README", strlen("README")) != 0 &&
                           !strstr(name, NAME_CONFIG_SUFFIX)) {
                        /* Unlike "20-pg.conf.dpkg-old" and "20-pg.conf~", it may be meant to be read. */
                        Diag diag = problem_of(PROBLEM_CONFIG_ORPHAN, found.path,
                                               "rename it, or move it elsewhere");

                        diag.severity = SEVERITY_NOTICE;
                        diags_report(finder->problems, diag,
                                     "is not read: its name does not end in .conf");
                }
        }
}

static Candidates list_directories(Finder *finder) {
        const char *const directories[] = {finder->draft, PATH_CONFIG_ETC, PATH_CONFIG_RUN,
                                           PATH_CONFIG_LOCAL, PATH_CONFIG_USR};
        Index *known = index_new(finder->scratch);
        Candidates candidates = {};

        for (size_t i = 0; i < ARRAY_LEN(directories); i++)
                if (directories[i])
                        list_directory(finder, directories[i], i, &candidates, known, true);
        return candidates;
}

/* ---- files ---- */

static void add_file(const Finder *finder, ConfigFile file, const RootFolder *folder) {
        struct stat st = {};
        char *text = NULL, *target;

        file.error = root_read_in(finder->root, finder->scratch, folder, file.path,
                                  CONFIG_BYTES_MAX, &st, &text, &file.size);
        bool has_status = st.st_mode || root_stat(finder->root, file.path, &st) == 0;

        trace_path(finder, file.path, has_status ? &st : NULL);
        /* A mask is no file itself, but replaces files of lower rank. */
        if (file.error < 0 &&
            root_read_link(finder->root, finder->arena, file.path, &target) == 0 &&
            text_equals(target, "/dev/null"))
                return;
        file.text = text;
        *vec_push(finder->arena, finder->files) = file;
}

static int compare_candidates(const void *a, const void *b) {
        const Candidate *first = a, *second = b;
        int order = strcmp(first->name, second->name);

        return order ? order : (first->rank > second->rank) - (first->rank < second->rank);
}

/* Reads the candidates, and closes the folders. */
static void read_candidates(Finder *finder, Candidates *candidates, const char *extends) {
        vec_sort(candidates, compare_candidates);
        VEC_FOREACH(candidate, candidates)
                add_file(finder,
                         (ConfigFile){.path = candidate->path,
                                      .name = candidate->name,
                                      .extends = extends},
                         candidate->folder);
        VEC_FOREACH(folder, &finder->folders)
                root_close_folder(*folder);
        finder->folders.n = 0;
}

ConfigFiles *config_dirs_read(const Root *root, Arena *arena, Arena *scratch, const char *draft,
                              const char *only, Diags *problems, ConfigTrace *trace) {
        Finder finder = {.root = root,
                         .arena = arena,
                         .scratch = scratch,
                         .problems = problems,
                         .files = ARENA_NEW(arena, ConfigFiles),
                         .trace = trace,
                         .draft = draft,
                         .only = only};
        Candidates main_files = list_directories(&finder);

        read_candidates(&finder, &main_files, NULL);
        vec_sort(&finder.extended, compare_candidates);
        for (size_t i = 0; i < finder.extended.n;) {
                const char *base = finder.extended.items[i].name;
                Index *known = index_new(scratch);
                Candidates extensions = {};

                for (; i < finder.extended.n && text_equals(finder.extended.items[i].name, base);
                     i++)
                        list_directory(&finder, finder.extended.items[i].path,
                                       finder.extended.items[i].rank, &extensions, known, false);
                read_candidates(&finder, &extensions, base);
        }
        return finder.files;
}

ConfigFiles *config_dirs_read_one(const Root *root, Arena *arena, const char *path) {
        ConfigTrace trace = {};
        const Finder finder = {.root = root,
                               .arena = arena,
                               .scratch = arena,
                               .files = ARENA_NEW(arena, ConfigFiles),
                               .trace = &trace};
        const char *name = text_base_name(path);

        if (!text_ends_with(name, NAME_CONFIG_SUFFIX))
                name = arena_printf(arena, "%s%s", name, NAME_CONFIG_SUFFIX);
        add_file(&finder, (ConfigFile){.path = path, .name = name}, &(RootFolder){.fd = -1});
        return finder.files;
}
