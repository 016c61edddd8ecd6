/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "read/settings/setting_source_inside.h"

#include "base/size.h"
#include "base/text.h"
#include "model/names.h"
#include "read/source.h"
#include "read/unit_file.h"

#include <string.h>

enum {
        SHOWN_MAX = 160,    /* bytes of a key or value that are kept for messages */
        ENTRIES_MAX = 2048, /* of all files */
};

/* Files of the kernel that do not depend on the host. */
static const struct {
        const char *path;
        SettingSourceKind what;
} fixed_targets[] = {
        {PATH_PROC_SYS "vm/nr_hugepages", SETTING_SOURCE_NR_HUGEPAGES},
        {PATH_PROC_SYS "vm/nr_hugepages_mempolicy", SETTING_SOURCE_NR_HUGEPAGES_MEMPOLICY},
        {PATH_NR_OVERCOMMIT, SETTING_SOURCE_NR_OVERCOMMIT_HUGEPAGES},
        {PATH_PROC_SYS "vm/hugetlb_shm_group", SETTING_SOURCE_HUGETLB_SHM_GROUP},
        {PATH_PROC_SYS "kernel/shmmax", SETTING_SOURCE_SHMMAX},
        {PATH_PROC_SYS "kernel/shmall", SETTING_SOURCE_SHMALL},
        {PATH_THP_ENABLED, SETTING_SOURCE_THP},
        {PATH_THP "/defrag", SETTING_SOURCE_THP_OTHER},
        {PATH_THP "/shmem_enabled", SETTING_SOURCE_THP_OTHER},
        {PATH_THP "/use_zero_page", SETTING_SOURCE_THP_OTHER},
        {PATH_THP "/khugepaged/defrag", SETTING_SOURCE_THP_OTHER},
        {PATH_THP "/khugepaged/scan_sleep_millisecs", SETTING_SOURCE_THP_OTHER},
        {PATH_THP "/khugepaged/alloc_sleep_millisecs", SETTING_SOURCE_THP_OTHER},
        {PATH_THP "/khugepaged/pages_to_scan", SETTING_SOURCE_THP_OTHER},
        {PATH_THP "/khugepaged/max_ptes_none", SETTING_SOURCE_THP_OTHER},
};

/* ---- what there is to be set ---- */

static void add_target(SettingSources *entries, const char *path, SettingSourceKind what) {
        *vec_push(entries->arena, &entries->targets) = (Target){path, what};
}

static void add_size_targets(SettingSources *entries, const char *directory,
                             uint64_t page_size_bytes, SettingSourceKind what) {
        Arena *arena = entries->arena;

        add_target(entries, page_size_path(arena, directory, page_size_bytes, "nr_hugepages"),
                   what);
        if (what == SETTING_SOURCE_NODE_POOL)
                return;
        add_target(entries,
                   page_size_path(arena, directory, page_size_bytes, "nr_hugepages_mempolicy"),
                   SETTING_SOURCE_NR_HUGEPAGES_MEMPOLICY);
        add_target(entries,
                   page_size_path(arena, directory, page_size_bytes, "nr_overcommit_hugepages"),
                   SETTING_SOURCE_NR_OVERCOMMIT_HUGEPAGES);
}

SettingSources *setting_sources_new(Arena *arena, const Topology *topology) {
        SettingSources *entries = ARENA_NEW(arena, SettingSources);

        *entries = (SettingSources){.arena = arena, .topology = topology};
        ARRAY_FOREACH(target, fixed_targets, ARRAY_LEN(fixed_targets))
                add_target(entries, target->path, target->what);
        ARRAY_FOREACH(size, topology->page_sizes, topology->n_page_sizes) {
                add_size_targets(entries, PATH_HUGEPAGES, size->bytes,
                                 size->bytes == topology->default_page_size_bytes
                                         ? SETTING_SOURCE_NR_HUGEPAGES
                                         : SETTING_SOURCE_SIZE_POOL);
                ARRAY_FOREACH(node, topology->nodes, topology->is_numa ? topology->n_nodes : 0)
                        add_size_targets(entries, node_path(arena, node->id, "hugepages"),
                                         size->bytes, SETTING_SOURCE_NODE_POOL);
        }
        VEC_FOREACH(size, &topology->thp_sizes)
                add_target(entries, page_size_path(arena, PATH_THP, size->bytes, "enabled"),
                           SETTING_SOURCE_THP_SIZE);
        return entries;
}

const SettingSourceList *setting_sources_list(const SettingSources *entries) {
        return &entries->list;
}

/* ---- adding entries ---- */

void setting_source_add_entry(const SettingSearch *search, SettingSourceKind what, const char *key,
                              const char *value, const char *path) {
        SettingSources *entries = search->entries;
        Arena *arena = entries->arena;

        if (entries->list.n >= ENTRIES_MAX)
                return;
        *vec_push(arena, &entries->list) = (SettingSource){
                .what = what,
                .source = search->file->source,
                .key = text_excerpt(arena, key, SHOWN_MAX),
                .value = value ? text_excerpt(arena, value, SHOWN_MAX) : NULL,
                .file = text_excerpt(arena, search->file->path, SHOWN_MAX),
                .line = search->line,
                .is_effective = true,
                .is_appending = search->is_appending,
                .path = arena_strdup(arena, path),
                .section = arena_strdup(arena, search->section),
        };
}

void setting_source_add(const SettingSearch *search, const char *key, const char *value,
                        const char *path) {
        SettingSources *entries = search->entries;
        unsigned kinds = 0;

        if (!value && setting_source_is_pattern(path))
                return;
        VEC_FOREACH(target, &entries->targets) {
                if (kinds & 1U << target->what || !setting_source_sets_path(path, target->path))
                        continue;
                kinds |= 1U << target->what;
                setting_source_add_entry(search, target->what, key, value, path);
        }
}

static SourceLines file_lines(const char *text, size_t size) {
        return source_lines(&(SourceText){.text = text, .size = size});
}

/* ---- sysctl.d ---- */

/* Dots become slashes and the other way round, unless a slash is the first of them; sysctl.d(5). */
char *setting_source_normalize_key(Arena *arena, const char *key) {
        char *path = arena_strdup(arena, key);
        char *separator = strpbrk(path, "/.");

        if (!separator || *separator == '/')
                return path;
        for (; separator; separator = strpbrk(separator + 1, "/."))
                *separator = *separator == '.' ? '/' : '.';
        return path;
}

void setting_source_add_sysctl(const SettingSearch *search, const char *key, const char *value) {
        char *path = setting_source_normalize_key(search->arena, key);

        setting_source_add(
                search, key, value,
                arena_printf(search->arena, PATH_PROC_SYS "%s", path + strspn(path, "/")));
}

/* "-key" without a value takes the key out: an entry without a value, until all is read. */
static void search_sysctl_line(SettingSearch *search, char *line) {
        char *text = text_strip(search->arena, line), *value = strchr(text, '=');
        bool has_dash = *text == '-';

        if (!*text || *text == '#' || *text == ';' || (!value && !has_dash))
                return;
        if (value)
                *value++ = '\0';
        setting_source_add_sysctl(search, text_strip(search->arena, text + has_dash),
                                  value ? text_strip(search->arena, value) : NULL);
}

/* ---- tmpfiles.d ---- */

/* "w", "w+", "f+" and "F" write into a file that exists; modifiers do not matter here. */
static void search_tmpfiles_line(SettingSearch *search, char *line) {
        const char *at = line + strspn(line, " \t"), *type, *path;
        bool is_bare;

        if (!*at || *at == '#' || !(type = unit_word_take(search->arena, &at, &is_bare)) ||
            !(path = unit_word_take(search->arena, &at, &is_bare)) ||
            !(*type == 'w' || *type == 'F' || (*type == 'f' && strchr(type, '+'))))
                return;
        for (int i = 0; i < 4; i++) /* mode, user, group, age */
                unit_word_take(search->arena, &at, &is_bare);
        const char *value = text_strip(search->arena, at);

        if (!*value)
                return;
        search->is_appending = *type == 'w' && strchr(type, '+');
        setting_source_add(search, path, value, path);
        search->is_appending = false;
}

/* ---- sysfs.conf ---- */

/* "kernel/mm/hugepages/hugepages-2048kB/nr_hugepages = 512" */
static void search_sysfs_line(SettingSearch *search, char *line) {
        char *text = text_strip(search->arena, line), *value = strchr(text, '=');

        if (!value || *text == '#')
                return;
        *value++ = '\0';
        const char *path =
                arena_printf(search->arena, PATH_SYS "/%s", text_strip(search->arena, text));

        setting_source_add(search, path, text_strip(search->arena, value), path);
}

/* ---- tuned ---- */

static bool is_true(const char *value) {
        bool is = false;

        return value && parse_boolean(value, &is) == 0 && is;
}

static void take_tuned(SettingSearch *search, const char *key, const char *value) {
        bool is_vm = text_equals(search->plugin, "vm");

        if (search->is_off)
                return;
        if (text_equals(search->plugin, "sysctl"))
                setting_source_add_sysctl(search, key, value);
        else if (text_equals(search->plugin, "sysfs"))
                setting_source_add(search, key, value, key);
        else if (is_vm && TEXT_IS_ANY(key, "transparent_hugepages", "transparent_hugepage"))
                setting_source_add_entry(search, SETTING_SOURCE_THP, key, value, PATH_THP_ENABLED);
        else if (is_vm && text_equals(key, "transparent_hugepage.defrag"))
                setting_source_add_entry(search, SETTING_SOURCE_THP_OTHER, key, value,
                                         PATH_THP "/defrag");
        else if (text_equals(search->plugin, "bootloader") &&
                 text_starts_with(key, "cmdline")) /* cmdline_x=+transparent_hugepage=never */
                setting_source_take_kernel_line(search, value + strspn(value, "+- "));
}

/* Takes "key=value" of a line; false when it is none. */
static bool split_option(SettingSearch *search, const char *line, char **ret_key,
                         char **ret_value) {
        const char *equals = strchr(line, '=');

        if (!equals || *line == '#' || *line == ';')
                return false;
        *ret_key = text_strip(search->arena, arena_strdup_to(search->arena, line, equals));
        /* A comment may follow a value, after a blank. */
        const char *value = equals + 1, *end = value;

        while ((end = strchr(end, '#')) && end > value && end[-1] != ' ' && end[-1] != '\t')
                end++;
        *ret_value = text_strip(search->arena, arena_strdup_to(search->arena, value, end));
        return **ret_key != '\0';
}

typedef struct TunedLine {
        char *key, *value;
        unsigned line;
} TunedLine;

typedef VEC(TunedLine) TunedLines;

/* Options that say what the section is come first or last alike, so that it is gone through twice. */
static void end_section(SettingSearch *search, TunedLines *lines) {
        search->plugin = search->section;
        search->is_off = false;
        if (search->section)
                VEC_FOREACH(option, lines) {
                        if (text_equals(option->key, "type"))
                                search->plugin = option->value;
                        else if (text_equals(option->key, "enabled"))
                                search->is_off = !is_true(option->value);
                        else if (text_equals(option->key, "replace") && is_true(option->value))
                                /* It drops what the profiles before it said in the section of that name. */
                                ARRAY_FOREACH(entry, search->entries->list.items, search->n_before)
                                        if (entry->source == SETTING_SOURCE_TUNED &&
                                            entry->section &&
                                            text_equals(entry->section, search->section))
                                                entry->is_effective = false;
                }
        if (search->section)
                VEC_FOREACH(option, lines) {
                        search->line = option->line;
                        take_tuned(search, option->key, option->value);
                }
        lines->n = 0;
}

/* Python's ConfigParser: a line that is indented more than the option before continues it. */
static void search_tuned(SettingSearch *search) {
        SourceLines source = file_lines(search->file->text, search->file->size);
        TunedLines lines = {};
        size_t indent = SIZE_MAX;

        for (char *line; (line = source_line(search->arena, &source));) {
                size_t width = strspn(line, " \t");
                char *text = text_strip(search->arena, line), *close = strchr(text, ']');
                TunedLine option = {.line = source.number};

                if (!*text || *text == '#' || *text == ';' || width > indent)
                        continue;
                if (*text == '[' && close) {
                        end_section(search, &lines);
                        search->section = arena_strdup_to(search->arena, text + 1, close);
                        indent = SIZE_MAX;
                } else if (split_option(search, text, &option.key, &option.value)) {
                        *vec_push(search->arena, &lines) = option;
                        indent = width;
                }
        }
        end_section(search, &lines);
}

SourceNames setting_source_tuned_includes(Arena *arena, const char *text, size_t size) {
        SettingSearch search = {.arena = arena};
        SourceLines lines = file_lines(text, size);
        SourceNames names = {};
        bool is_main = false;

        for (char *line; (line = source_line(arena, &lines));) {
                char *key, *value, *name;

                line = text_strip(arena, line);
                if (*line == '[')
                        is_main = text_starts_with(line, "[main]");
                else if (is_main && split_option(&search, line, &key, &value) &&
                         text_equals(key, "include"))
                        for (const char *rest = value;
                             (name = text_next_word(arena, &rest, " \t,;"));)
                                *vec_push(arena, &names) = name + (*name == '-');
        }
        return names;
}

/* ---- files ---- */

static void search_lines(SettingSearch *search,
                         void (*search_line)(SettingSearch *search, char *line)) {
        SourceLines lines = file_lines(search->file->text, search->file->size);

        for (char *line; (line = source_line(search->arena, &lines));) {
                search->line = lines.number;
                search_line(search, line);
        }
}

void setting_sources_add_file(SettingSources *entries, const SettingSourceFile *file) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        SettingSearch search = {
                .arena = arena, .entries = entries, .file = file, .n_before = entries->list.n};

        switch (file->source) {
        case SETTING_SOURCE_KERNEL_COMMAND_LINE:
                setting_source_take_kernel_line(&search,
                                                arena_strndup(arena, file->text, file->size));
                break;
        case SETTING_SOURCE_SYSCTL:
                search_lines(&search, search_sysctl_line);
                break;
        case SETTING_SOURCE_TMPFILES:
                search_lines(&search, search_tmpfiles_line);
                break;
        case SETTING_SOURCE_TUNED:
                search_tuned(&search);
                setting_source_search_mentions(&search);
                break;
        case SETTING_SOURCE_SYSFS:
                search_lines(&search, search_sysfs_line);
                setting_source_search_mentions(&search);
                break;
        case SETTING_SOURCE_SCRIPT:
                setting_source_search_mentions(&search);
                break;
        }
}
