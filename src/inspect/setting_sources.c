/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inspect/setting_sources.h"

#include "base/text.h"
#include "model/names.h"
#include "read/source.h"

#include <string.h>

enum {
        FILE_BYTES_MAX = 256 * 1024,
        FILES_MAX = 2048, /* of one kind */
        PROFILE_DEPTH_MAX = 16,
        PROFILES_MAX = 64,
};

/* The standard order, the most important first; /lib counts where it is not /usr/lib. */
static const char *const prefixes[] = {"/etc/", "/run/", "/usr/local/lib/", "/usr/lib/", "/lib/"};

/* As tuned looks for profiles: its profile_dirs from the last to the first. */
static const char *const profile_dirs[] = {
        "/etc/tuned/profiles",
        "/etc/tuned",
        "/usr/lib/tuned/profiles",
        "/usr/lib/tuned",
};

typedef struct Candidate {
        const char *name;
        const char *path;
} Candidate;

typedef struct Finder {
        const Root *root;
        Arena *arena; /* for the search */
        SettingSources *setting_sources;
        VEC(Candidate) candidates;
        SourceNames profiles; /* files of tuned that were read */
} Finder;

static void add_file(Finder *finder, SettingSourceSource source, const char *path) {
        SettingSourceFile file = {.source = source, .path = path};
        char *text;

        if (root_read_file(finder->root, finder->arena, path, FILE_BYTES_MAX, &text, &file.size) <
            0)
                return;
        file.text = text;
        setting_sources_add_file(finder->setting_sources, &file);
}

/* ---- sysctl.d, tmpfiles.d ---- */

static int compare_candidates(const void *a, const void *b) {
        return strcmp(((const Candidate *) a)->name, ((const Candidate *) b)->name);
}

/* What a symbolic link points to; "" for what is none. */
static const char *link_target(const Finder *finder, const char *path) {
        char *target;

        return root_read_link(finder->root, finder->arena, path, &target) == 0 ? target : "";
}

/* All files that count, sorted by name; links to /dev/null cannot be read as files and so mask. */
static void list_files(Finder *finder, const char *name) {
        bool is_merged = *link_target(finder, "/lib") != '\0';

        finder->candidates.n = 0;
        ARRAY_FOREACH(prefix, prefixes, ARRAY_LEN(prefixes) - is_merged) {
                const char *directory = arena_printf(finder->arena, "%s%s", *prefix, name);
                Names names = {};

                if (root_list(finder->root, finder->arena, directory, &names) < 0)
                        continue;
                VEC_FOREACH(file, &names)
                        if (**file != '.' && text_ends_with(*file, ".conf") &&
                            !VEC_ANY(candidate, &finder->candidates,
                                     text_equals(candidate->name, *file)) &&
                            finder->candidates.n < FILES_MAX)
                                *vec_push(finder->arena, &finder->candidates) = (Candidate){
                                        *file,
                                        arena_printf(finder->arena, "%s/%s", directory, *file)};
        }
        vec_sort(&finder->candidates, compare_candidates);
}

static void find_in_sysctl(Finder *finder) {
        bool is_conf_linked = false;

        list_files(finder, NAME_SYSCTL_DIR);
        VEC_FOREACH(candidate, &finder->candidates) {
                const char *target = link_target(finder, candidate->path);

                is_conf_linked = is_conf_linked || text_equals(target, PATH_SYSCTL_CONF) ||
                                 text_equals(target, "../sysctl.conf");
                if (!text_equals(candidate->path, PATH_SYSCTL_GUARD))
                        add_file(finder, SETTING_SOURCE_SYSCTL, candidate->path);
        }
        if (!is_conf_linked)
                add_file(finder, SETTING_SOURCE_SYSCTL, PATH_SYSCTL_CONF);
}

/* ---- tuned ---- */

/* What a profile includes comes before it. */
static void add_profile(Finder *finder, const char *name, unsigned depth) {
        SettingSourceFile file = {.source = SETTING_SOURCE_TUNED};
        const char *path = NULL;
        char *text;

        /* Letters, digits and "_.-", as tuned takes them; no way out of the directory. */
        if (*name == '\0' || *name == '.' || strlen(name) >= 256 ||
            name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")] !=
                    '\0')
                return;
        /* The file of a profile that was not read yet: a profile may include the one of its own name from a
         * directory further down. */
        for (size_t i = 0; i < ARRAY_LEN(profile_dirs) && !path; i++) {
                path = arena_printf(finder->arena, "%s/%s/" NAME_TUNED_FILE, profile_dirs[i], name);
                if (source_names_have(&finder->profiles, path) || !root_exists(finder->root, path))
                        path = NULL;
        }
        file.path = path;
        if (!path || depth > PROFILE_DEPTH_MAX || finder->profiles.n >= PROFILES_MAX)
                return;
        *vec_push(finder->arena, &finder->profiles) = path;
        if (root_read_file(finder->root, finder->arena, path, FILE_BYTES_MAX, &text, &file.size) <
            0)
                return;
        file.text = text;
        SourceNames includes = setting_source_tuned_includes(finder->arena, text, file.size);

        VEC_FOREACH(include, &includes)
                add_profile(finder, *include, depth + 1);
        setting_sources_add_file(finder->setting_sources, &file);
}

static void find_in_profiles(Finder *finder, const char *path) {
        char *text, *name;

        if (root_read_file(finder->root, finder->arena, path, FILE_BYTES_MAX, &text, NULL) < 0)
                return;
        for (const char *rest = text; (name = text_next_word(finder->arena, &rest, " \t\r\n"));)
                add_profile(finder, name, 0);
}

/* ---- all ---- */

static void find_in_command_line(Finder *finder) {
        SettingSourceFile line = {.source = SETTING_SOURCE_KERNEL_COMMAND_LINE,
                                  .path = PATH_CMDLINE};
        char *text;

        if (root_read_attribute(finder->root, finder->arena, PATH_CMDLINE, &text) < 0)
                return;
        line.text = text;
        line.size = strlen(text);
        setting_sources_add_file(finder->setting_sources, &line);
}

SettingSources *setting_sources_find(const Root *root, Arena *arena, const Topology *topology) {
        CLEANUP(arena_freep) Arena *search_arena = arena_new();
        Finder finder = {
                .root = root,
                .arena = search_arena,
                .setting_sources = setting_sources_new(arena, topology),
        };

        find_in_command_line(&finder);
        find_in_sysctl(&finder);
        list_files(&finder, NAME_TMPFILES_DIR);
        VEC_FOREACH(candidate, &finder.candidates)
                add_file(&finder, SETTING_SOURCE_TMPFILES, candidate->path);
        find_in_profiles(&finder, PATH_TUNED_PROFILE);
        find_in_profiles(&finder, PATH_TUNED_POST_PROFILE);
        setting_places_add(root, finder.setting_sources);
        setting_sources_finish(finder.setting_sources);
        return finder.setting_sources;
}
