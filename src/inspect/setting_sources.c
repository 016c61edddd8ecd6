/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inspect/setting_sources.h"

#include "base/index.h"
#include "base/text.h"
#include "host/host_sources.h"
#include "model/name_check.h"
#include "model/names.h"
#include "read/unit_file.h"

#include <fnmatch.h>
#include <string.h>

enum {
        FILE_BYTES_MAX = 256 * 1024, /* of files in a format of their own */
        PROFILE_DEPTH_MAX = 16,
        PROFILES_MAX = 64,
        FILES_MAX = 8192, /* files searched for mentions */
        DEPTH_MAX = 4,    /* of scripts run by scripts */
};

typedef struct Place {
        const char *files; /* patterns; relative ones below each prefix, the first of a name counts */
        const char *runs; /* what runs the line: a unit's name, or in words; NULL: the file's unit */
        bool has_commands; /* the scripts that they run are searched too */
        bool is_sysfs;     /* the files have the format of sysfs.conf(5) */
        unsigned depth;    /* of a script that others run */
} Place;

static const Place places[] = {
        {"/etc/default/grub /etc/default/grub.d/*.cfg /boot/grub/grubenv /boot/grub2/grubenv "
         "/boot/loader/entries/*.conf /boot/efi/loader/entries/*.conf /efi/loader/entries/*.conf "
         "/etc/kernel/cmdline /usr/lib/kernel/cmdline /etc/kernel/cmdline.d/*.conf "
         "/etc/cmdline.d/*.conf",
         "the kernel gets it from the next boot on", false},
        {"modprobe.d/*.conf", "modprobe applies it", true},
        {"udev/rules.d/*.rules", "udev applies it", true},
        {"/etc/sysfs.conf /etc/sysfs.d/*.conf", "sysfsutils applies it", false, .is_sysfs = true},
        {"systemd/system/*.service systemd/system/*.socket systemd/system/*.d/*.conf", NULL, true},
        {"/etc/rc.local /etc/rc.d/rc.local /etc/rc.d/boot.local /etc/local.d/*.start",
         "it is run at boot", true},
        {"/etc/init.d/* /etc/rc.d/init.d/*", "init runs it where it is enabled", true},
        {"/etc/crontab /etc/anacrontab /etc/cron.d/* /etc/cron.hourly/* /etc/cron.daily/* "
         "/etc/cron.weekly/* /etc/cron.monthly/* /var/spool/cron/* /var/spool/cron/crontabs/* "
         "/var/spool/cron/tabs/*",
         "cron runs it", true},
        {"/etc/cloud/cloud.cfg /etc/cloud/cloud.cfg.d/* /var/lib/cloud/scripts/*/* "
         "/var/lib/cloud/instance/*.txt /var/lib/cloud/instance/scripts/*",
         "cloud-init runs it", true},
        {"/etc/network/interfaces /etc/network/interfaces.d/* /etc/network/if-*.d/* "
         "/etc/NetworkManager/dispatcher.d/* /etc/networkd-dispatcher/*/*",
         "it is run with the network", true},
        {"/etc/tuned/*-variables.conf", "tuned reads it where a profile does", true},
        {"/etc/libvirt/hooks/*", "libvirt runs it", true},
        {"/etc/dpdk/*", "DPDK's service reads it", true},
};

/* The standard order, the highest priority first; /lib is searched if it is not /usr/lib. */
static const char *const prefixes[] = {"/etc/", "/run/", "/usr/local/lib/", "/usr/lib/", "/lib/"};

/* The order in which tuned searches for profiles: its profile_dirs from the last to the first. */
static const char *const profile_dirs[] = {
        "/etc/tuned/profiles",
        "/etc/tuned",
        "/usr/lib/tuned/profiles",
        "/usr/lib/tuned",
};

typedef struct Search {
        Arena *arena; /* for the search */
        const Root *root;
        const Sources *sources; /* on the running host: files of root only */
        SettingSources *entries;
        SourceNames profiles; /* tuned's files that were read */
        Index *seen;          /* files searched for mentions, with what runs each */
        size_t n_files;
        bool is_merged; /* /lib is a link */
} Search;

/* A file in effect: the first of its name. */
typedef struct Candidate {
        const char *name; /* after the prefix */
        const char *path;
} Candidate;

typedef VEC(Candidate) Candidates;

/* ---- which files ---- */

/* Adds the files that match PATTERN, except those whose name after the first PREFIX bytes is in NAMES. */
static void expand(Search *search, const char *pattern, size_t prefix, Index *names,
                   Candidates *ret) {
        const char *star = strchr(pattern, '*');

        if (!star) {
                if (!index_find(names, pattern + prefix))
                        *vec_push(search->arena, ret) = (Candidate){pattern + prefix, pattern};
                index_add(names, pattern + prefix, pattern);
                return;
        }
        const char *end = star + strcspn(star, "/"), *begin = star;

        while (begin[-1] != '/')
                begin--;
        const char *directory = arena_strdup_to(search->arena, pattern, begin - 1);
        const char *component = arena_strdup_to(search->arena, begin, end);
        const SourceNames found = source_list(search->sources, search->arena, directory);

        VEC_FOREACH(name, &found)
                if (fnmatch(component, *name, FNM_PERIOD) == 0)
                        expand(search,
                               arena_printf(search->arena, "%s/%s%s", directory, *name, end),
                               prefix, names, ret);
}

/* PATTERN is absolute, or relative to each prefix. */
static Candidates find_files(Search *search, const char *pattern) {
        Index *names = index_new(search->arena);
        Candidates found = {};

        if (*pattern == '/')
                expand(search, pattern, 0, names, &found);
        else
                ARRAY_FOREACH(prefix, prefixes, ARRAY_LEN(prefixes) - search->is_merged)
                        expand(search, arena_printf(search->arena, "%s%s", *prefix, pattern),
                               strlen(*prefix), names, &found);
        return found;
}

/* ---- files of a format: sysctl.d, tmpfiles.d ---- */

static SourceText read_file(const Search *search, const char *path) {
        char *text = NULL;
        size_t size = 0;
        int r = root_read_file(search->root, search->arena, path, FILE_BYTES_MAX, &text, &size);

        return (SourceText){text, size, r};
}

static void add_file(Search *search, SettingSourceSource source, const char *path) {
        const SettingSourceFile file = {source, path, read_file(search, path)};

        if (file.text.text)
                setting_sources_add_file(search->entries, &file);
}

/* In the order of names; links to /dev/null cannot be read as files and so mask. */
static void add_files(Search *search, SettingSourceSource source, const char *directory) {
        Candidates found = find_files(search, arena_printf(search->arena, "%s/*.conf", directory));
        bool is_conf_linked = source != SETTING_SOURCE_SYSCTL;

        vec_sort_by_name(&found);
        VEC_FOREACH(candidate, &found) {
                const char *target = source_link(search->sources, search->arena, candidate->path);

                is_conf_linked = is_conf_linked || text_equals(target, PATH_SYSCTL_CONF) ||
                                 text_equals(target, "../sysctl.conf");
                if (!text_equals(candidate->path, PATH_SYSCTL_GUARD))
                        add_file(search, source, candidate->path);
        }
        if (!is_conf_linked)
                add_file(search, source, PATH_SYSCTL_CONF);
}

/* ---- tuned ---- */

static void look_in_place(Search *search, const Place *place);

/* The profiles that a profile includes are added before it. */
static void add_profile(Search *search, const char *name, unsigned depth) {
        SettingSourceFile file = {.source = SETTING_SOURCE_TUNED};
        const char *path = NULL;

        /* Only letters, digits and "_.-", as tuned accepts them, so that no name leads out of the directory. */
        if (*name == '\0' || *name == '.' || strlen(name) >= 256 ||
            name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")] !=
                    '\0')
                return;
        /* Finds a file that was not read yet: a profile may include the profile of its own name from a directory of
         * lower priority. */
        for (size_t i = 0; i < ARRAY_LEN(profile_dirs) && !path; i++) {
                path = arena_printf(search->arena, "%s/%s/" NAME_TUNED_FILE, profile_dirs[i], name);
                if (source_names_have(&search->profiles, path) || !root_exists(search->root, path))
                        path = NULL;
        }
        file.path = path;
        if (!path || depth > PROFILE_DEPTH_MAX || search->profiles.n >= PROFILES_MAX)
                return;
        *vec_push(search->arena, &search->profiles) = path;
        file.text = read_file(search, path);
        if (!file.text.text)
                return;
        SourceNames includes = setting_source_tuned_includes(search->arena, &file.text);

        VEC_FOREACH(include, &includes)
                add_profile(search, *include, depth + 1);
        setting_sources_add_file(search->entries, &file);
        const Place scripts = {.files = arena_printf(search->arena, "%.*s*.sh",
                                                     (int) (text_base_name(path) - path), path),
                               .runs = "tuned runs it",
                               .has_commands = true};

        look_in_place(search, &scripts);
}

static void find_in_profiles(Search *search, const char *path) {
        TEXT_FOREACH(name, search->arena, read_file(search, path).text, " \t\r\n")
                add_profile(search, name, 0);
}

/* ---- lines that mention huge pages, and the scripts that they run ---- */

static void look_at(Search *search, const Place *place, const char *path, const char *begin);

/* Of the distribution's programs, only those are opened whose name suggests that they set huge pages. */
static bool may_be_script(const char *path) {
        static const char *const kernels[] = {"/dev/", PATH_PROC "/", PATH_SYS "/"};
        static const char *const programs[] = {
                "/usr/bin/",         "/usr/sbin/",    "/bin/",           "/sbin/",
                "/usr/lib/systemd/", "/lib/systemd/", "/usr/lib/tuned/",
        };
        bool is_program =
                ARRAY_ANY(each, programs, ARRAY_LEN(programs), text_starts_with(path, *each));

        return !ARRAY_ANY(each, kernels, ARRAY_LEN(kernels), text_starts_with(path, *each)) &&
               (!is_program || text_ends_with(path, ".sh") || setting_source_is_mention(path));
}

/* Follows the paths that a line runs or reads; RUNS is what runs the line. */
static void follow(Search *search, const Place *place, const char *runs, const char *line) {
        const Place scripts = {.runs = runs, .has_commands = true, .depth = place->depth + 1};
        bool is_read = text_starts_with(line, ". ") || text_starts_with(line, "source ") ||
                       text_starts_with(line, "EnvironmentFile=");

        for (const char *path; (path = setting_source_take_word(search->arena, &line));)
                if (*path == '/' && may_be_script(path))
                        look_at(search, &scripts, path,
                                is_read || text_ends_with(path, ".sh") ? "" : "#!");
}

/* Returns the unit of a file: a.service for "/etc/systemd/system/a.service.d/b.conf". */
static const char *unit_of(Arena *arena, const char *path) {
        const char *directory = text_base_name(arena_strdup_to(arena, path, strrchr(path, '/')));

        return text_ends_with(directory, ".d")
                       ? arena_strndup(arena, directory, strlen(directory) - strlen(".d"))
                       : text_base_name(path);
}

/* Searches a file of PLACE if its text begins with BEGIN. */
static void look_at(Search *search, const Place *place, const char *path, const char *begin) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const char *target = source_link(search->sources, arena, path);
        const char *runs = place->runs ?: unit_of(search->arena, path);

        if (target) /* follows a link to the file's own name */
                path = source_relative(search->arena, path, target);
        if (place->depth > DEPTH_MAX || search->n_files >= FILES_MAX)
                return;
        if (index_find(search->seen, path)) {
                index_add(search->seen, path, runs);
                return;
        }
        const SettingSourceFile file = {
                .source = place->is_sysfs ? SETTING_SOURCE_SYSFS : SETTING_SOURCE_SCRIPT,
                .path = path,
                .text = source_read(search->sources, arena, path),
                .runs = runs,
                .is_unit = !place->runs,
        };

        if (!file.text.text || memchr(file.text.text, '\0', file.text.size) ||
            !text_starts_with(file.text.text, begin))
                return;
        index_add(search->seen, path, runs);
        search->n_files++;
        setting_sources_add_file(search->entries, &file);
        if (place->has_commands)
                SOURCE_FOREACH(line, arena, lines, &file.text) {
                        line = text_strip(arena, line);
                        if (*line != '#' && *line != ';' && strchr(line, '/'))
                                follow(search, place, runs, line);
                }
}

static void look_in_place(Search *search, const Place *place) {
        TEXT_FOREACH(pattern, search->arena, place->files, " ") {
                const Candidates found = find_files(search, pattern);

                VEC_FOREACH(candidate, &found)
                        look_at(search, place, candidate->path, "");
        }
}

/* Returns each value once. */
static SourceNames values_of(Arena *arena, const Index *index, const char *name) {
        SourceNames values = {};

        INDEX_FOREACH(entry, index, name)
                if (!source_names_have(&values, entry->value))
                        *vec_push(arena, &values) = entry->value;
        return values;
}

/* Names what runs each line whose effect is not known. */
static void name_who_runs(const Search *search) {
        VEC_FOREACH(entry, &search->entries->list) {
                const SourceNames who = values_of(search->arena, search->seen, entry->file);
                Text text = text_in(search->entries->arena);

                if (who.n == 0 || entry->what < SETTING_SOURCE_UNCLEAR)
                        continue;
                VEC_FOREACH(runs, &who)
                        text_printf(&text, "%s%s%s", runs == who.items ? "" : "; ", *runs,
                                    name_is_unit(*runs) ? " runs it" : "");
                entry->section = text_string(&text);
        }
}

/* ---- all ---- */

SettingSources *setting_sources_find(const Root *root, Arena *arena, const Topology *topology) {
        CLEANUP(arena_freep) Arena *search_arena = arena_new();
        HostSources sources = host_sources(root, search_arena);
        Search search = {
                .arena = search_arena,
                .root = root,
                .sources = &sources.sources,
                .entries = setting_sources_new(arena, topology),
                .seen = index_new(search_arena),
                .is_merged = source_link(&sources.sources, search_arena, "/lib") != NULL,
        };

        char *line;

        if (root_read_attribute(root, search_arena, PATH_CMDLINE, &line) >= 0)
                setting_sources_add_file(
                        search.entries,
                        &(SettingSourceFile){.source = SETTING_SOURCE_KERNEL_COMMAND_LINE,
                                             .path = PATH_CMDLINE,
                                             .text = {line, strlen(line)}});
        add_files(&search, SETTING_SOURCE_SYSCTL, NAME_SYSCTL_DIR);
        add_files(&search, SETTING_SOURCE_TMPFILES, NAME_TMPFILES_DIR);
        find_in_profiles(&search, PATH_TUNED_PROFILE);
        find_in_profiles(&search, PATH_TUNED_POST_PROFILE);
        ARRAY_FOREACH(place, places, ARRAY_LEN(places))
                look_in_place(&search, place);
        setting_sources_finish(search.entries);
        name_who_runs(&search);
        return search.entries;
}
