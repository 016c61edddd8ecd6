/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "read/setting_source.h"

#include "base/size.h"
#include "base/text.h"
#include "model/names.h"
#include "read/unit_file.h"

#include <ctype.h>
#include <string.h>

enum {
        SHOWN_MAX = 160,    /* bytes of a key or value kept for messages */
        ENTRIES_MAX = 2048, /* of all files */
};

/* The search of one file; ARENA lives as long as the search. */
typedef struct SettingSearch {
        Arena *arena;
        SettingSources *entries;
        const SettingSourceFile *file;
        unsigned line;
        size_t n_before;     /* entries of earlier files */
        const char *section; /* of a tuned profile */
        const char *plugin;  /* the section's plugin type */
        bool is_off;         /* the section has enabled=no */
        bool is_appending;   /* the line has w+ */
        bool is_removing; /* tuned's "-hugepages=7": an entry without a value until all files are read */
} SettingSearch;

/* Kernel files that exist on every host. */
static const SettingTarget fixed_targets[] = {
        {PATH_PROC_SYS "vm/nr_hugepages", SETTING_SOURCE_NR_HUGEPAGES},
        {PATH_PROC_SYS "vm/nr_hugepages_mempolicy", SETTING_SOURCE_NR_HUGEPAGES_MEMPOLICY},
        {PATH_NR_OVERCOMMIT, SETTING_SOURCE_NR_OVERCOMMIT_HUGEPAGES},
        {PATH_PROC_SYS "vm/hugetlb_shm_group", SETTING_SOURCE_HUGETLB_SHM_GROUP},
        {PATH_PROC_SYS "kernel/shmmax", SETTING_SOURCE_SHMMAX},
        {PATH_PROC_SYS "kernel/shmall", SETTING_SOURCE_SHMALL},
        {PATH_THP_ENABLED, SETTING_SOURCE_THP},
};

/* ---- settings of this host ---- */

static void add_size_targets(SettingSources *entries, const char *directory,
                             uint64_t page_size_bytes, SettingSourceKind what) {
        const SettingTarget files[] = {
                {"nr_hugepages", what}, /* a node has only this */
                {"nr_hugepages_mempolicy", SETTING_SOURCE_NR_HUGEPAGES_MEMPOLICY},
                {"nr_overcommit_hugepages", SETTING_SOURCE_NR_OVERCOMMIT_HUGEPAGES},
        };

        ARRAY_FOREACH(file, files, what == SETTING_SOURCE_NODE_POOL ? 1 : ARRAY_LEN(files))
                *vec_push(entries->arena, &entries->targets) = (SettingTarget){
                        page_size_path(entries->arena, directory, page_size_bytes, file->path),
                        file->what};
}

SettingSources *setting_sources_new(Arena *arena, const Topology *topology) {
        SettingSources *entries = ARENA_NEW(arena, SettingSources);

        *entries = (SettingSources){.arena = arena, .topology = topology};
        ARRAY_FOREACH(target, fixed_targets, ARRAY_LEN(fixed_targets))
                *vec_push(arena, &entries->targets) = *target;
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
                *vec_push(arena, &entries->targets) =
                        (SettingTarget){page_size_path(arena, PATH_THP, size->bytes, "enabled"),
                                        SETTING_SOURCE_THP_SIZE};
        return entries;
}

/* ---- adding entries ---- */

static void add_entry(const SettingSearch *search, SettingSourceKind what, const char *key,
                      const char *value, const char *path) {
        SettingSources *entries = search->entries;
        Arena *arena = entries->arena;

        if (entries->list.n >= ENTRIES_MAX)
                return;
        *vec_push(arena, &entries->list) = (SettingSource){
                .what = what,
                .source = search->file->source,
                .key = text_excerpt(arena, key, SHOWN_MAX),
                .value = value && !search->is_removing ? text_excerpt(arena, value, SHOWN_MAX)
                                                       : NULL,
                .file = text_excerpt(arena, search->file->path, SHOWN_MAX),
                .line = search->line,
                .is_effective = true,
                .is_appending = search->is_appending,
                .path = arena_strdup(arena, path),
                .section = arena_strdup(arena, search->section),
        };
}

/* Adds one entry for each kind of setting that PATH, which may be a pattern, sets on this host. */
static void add_path(const SettingSearch *search, const char *key, const char *value,
                     const char *path) {
        SettingSources *entries = search->entries;
        unsigned kinds = 0;

        if (!value && setting_source_is_pattern(path))
                return;
        VEC_FOREACH(target, &entries->targets) {
                if (kinds & 1U << target->what || !setting_source_sets_path(path, target->path))
                        continue;
                kinds |= 1U << target->what;
                add_entry(search, target->what, key, value, path);
        }
}

/* ---- sysctl.d ---- */

/* Swaps dots and slashes, unless the first of them is a slash; sysctl.d(5). */
static char *normalize_key(Arena *arena, const char *key) {
        char *path = arena_strdup(arena, key);
        char *separator = strpbrk(path, "/.");

        if (!separator || *separator == '/')
                return path;
        for (; separator; separator = strpbrk(separator + 1, "/."))
                *separator = *separator == '.' ? '/' : '.';
        return path;
}

static void add_sysctl(const SettingSearch *search, const char *key, const char *value) {
        char *path = normalize_key(search->arena, key);

        add_path(search, key, value,
                 arena_printf(search->arena, PATH_PROC_SYS "%s", path + strspn(path, "/")));
}

/* Reads "KEY = VALUE", of sysfs.conf too. In sysctl.d "-key" without a value excludes the key: it becomes an entry
 * without a value until all files are read. */
static void search_assignment(SettingSearch *search, const char *line) {
        bool is_sysctl = search->file->source == SETTING_SOURCE_SYSCTL;
        char *key = text_strip(search->arena, line), *value = strchr(key, '=');
        bool has_dash = is_sysctl && *key == '-';

        if (!*key || *key == '#' || *key == ';' || (!value && !has_dash))
                return;
        if (value)
                *value++ = '\0';
        key = text_strip(search->arena, key + has_dash);
        value = value ? text_strip(search->arena, value) : NULL;
        if (is_sysctl) {
                add_sysctl(search, key, value);
                return;
        }
        const char *path = arena_printf(search->arena, PATH_SYS "/%s", key);

        add_path(search, path, value, path);
}

/* ---- the kernel command line ---- */

static void take_kernel_line(const SettingSearch *search, const char *value) {
        static const char prefix[] = "sysctl";
        Arena *arena = search->arena;
        const Topology *topology = search->entries->topology;
        const KernelLine *line = kernel_line_read(arena, value, search->file->path, topology);

        VEC_FOREACH(argument, &line->arguments) {
                const char *name = argument->word + (*argument->word == '"');

                if (!argument->value)
                        continue;
                if (text_equals(argument->name, "transparent_hugepage"))
                        add_entry(search, SETTING_SOURCE_THP, argument->name, argument->value,
                                  PATH_THP_ENABLED);
                /* The kernel itself applies sysctl.vm.nr_hugepages=20, just before init. */
                if (text_starts_with(name, prefix) && strspn(name + strlen(prefix), "./") > 0) {
                        char *key = arena_strndup(arena, name, strcspn(name, "="));

                        add_path(search, key, argument->value,
                                 arena_printf(arena, PATH_PROC_SYS "%s",
                                              normalize_key(arena, key + sizeof(prefix))));
                }
        }
        VEC_FOREACH(pages, &line->pages) {
                SettingSourceKind what = pages->nodes.n > 0 ? SETTING_SOURCE_NODE_POOL
                                         : pages->page_size_bytes ==
                                                         topology->default_page_size_bytes
                                                 ? SETTING_SOURCE_NR_HUGEPAGES
                                                 : SETTING_SOURCE_SIZE_POOL;
                const char *nodes = what == SETTING_SOURCE_NODE_POOL ? PATH_NODES "/node*/hugepages"
                                                                     : PATH_HUGEPAGES;
                const char *equals = strrchr(pages->words, '=');

                add_entry(search, what, arena_strdup_to(arena, pages->words, equals), equals + 1,
                          page_size_path(arena, nodes, pages->page_size_bytes, "nr_hugepages"));
        }
}

/* ---- tmpfiles.d ---- */

/* "w", "w+", "f+" and "F" write to an existing file; modifiers are irrelevant here. */
static void search_tmpfiles_line(SettingSearch *search, const char *line) {
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
        add_path(search, path, value, path);
        search->is_appending = false;
}

/* ---- tuned ---- */

static bool is_true(const char *value) {
        bool is = false;

        return value && parse_boolean(value, &is) == 0 && is;
}

static void take_tuned(SettingSearch *search, const char *key, const char *value) {
        bool is_vm = text_equals(search->plugin, "vm");
        bool is_line = text_equals(search->plugin, "bootloader") &&
                       text_starts_with(key, "cmdline");

        search->is_removing = is_line && *value == '-';
        if (search->is_off)
                return;
        if (text_equals(search->plugin, "sysctl"))
                add_sysctl(search, key, value);
        else if (text_equals(search->plugin, "sysfs"))
                add_path(search, key, value, key);
        else if (is_vm && TEXT_IS_ANY(key, "transparent_hugepages", "transparent_hugepage"))
                add_entry(search, SETTING_SOURCE_THP, key, value, PATH_THP_ENABLED);
        else if (is_line) /* cmdline_x=+transparent_hugepage=never */
                take_kernel_line(search, value + strspn(value, "+- "));
}

/* Splits a line "key=value". Returns false if it is none. */
static bool split_option(SettingSearch *search, const char *line, char **ret_key,
                         char **ret_value) {
        const char *equals = strchr(line, '=');

        if (!equals || *line == '#' || *line == ';')
                return false;
        *ret_key = text_strip(search->arena, arena_strdup_to(search->arena, line, equals));
        /* A comment may follow a value, after a space or tab. */
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

/* Options about the section itself may come after others, so that all options are walked twice. */
static void end_section(SettingSearch *search, TunedLines *lines) {
        search->plugin = search->section;
        search->is_off = false;
        if (!search->section)
                lines->n = 0;
        VEC_FOREACH(option, lines) {
                if (text_equals(option->key, "type"))
                        search->plugin = option->value;
                else if (text_equals(option->key, "enabled"))
                        search->is_off = !is_true(option->value);
                else if (text_equals(option->key, "replace") && is_true(option->value))
                        /* Drops the entries of earlier profiles in the section of that name. */
                        ARRAY_FOREACH(entry, search->entries->list.items, search->n_before)
                                if (entry->source == SETTING_SOURCE_TUNED && entry->section &&
                                    text_equals(entry->section, search->section))
                                        entry->is_effective = false;
        }
        VEC_FOREACH(option, lines) {
                search->line = option->line;
                take_tuned(search, option->key, option->value);
        }
        lines->n = 0;
}

/* Python's ConfigParser: a line with more indentation than the option before it continues that option. */
static void search_tuned(SettingSearch *search) {
        TunedLines lines = {};
        size_t indent = SIZE_MAX;

        SOURCE_FOREACH(line, search->arena, source, &search->file->text) {
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

SourceNames setting_source_tuned_includes(Arena *arena, const SourceText *text) {
        SettingSearch search = {.arena = arena};
        SourceNames names = {};
        bool is_main = false;

        SOURCE_FOREACH(line, arena, lines, text) {
                char *key, *value;

                line = text_strip(arena, line);
                if (*line == '[')
                        is_main = text_starts_with(line, "[main]");
                else if (is_main && split_option(&search, line, &key, &value) &&
                         text_equals(key, "include"))
                        TEXT_FOREACH(name, arena, value, " \t,;")
                                *vec_push(arena, &names) = name + (*name == '-');
        }
        return names;
}

/* ---- mentions ---- */

/* Lines in no known format that mention huge pages: commands of units and of scripts, udev rules, what a boot loader
 * passes next time. They are listed, never interpreted. */

/* Kernel files, tools that write them, and variables that tools read, in lower case. */
static const char *const mentions[] = {
        "hugepage", "nr_huge", "hugetlb",     "hugeadm",     "allocpages",
        "nrhuge",   "hugemem", "nr_2m_pages", "nr_1g_pages", "spdk/scripts/setup.sh",
};
/* Such words that set nothing: mounts, options of programs, /proc/meminfo. */
static const char *const harmless[] = {"/dev/hugepages", "hugetlbfs", "usetransparenthugepages",
                                       "hugepagesize"};

static bool is_word_byte(char c) {
        return isalnum((unsigned char) c) || (unsigned char) c >= 0x80 ||
               (c && strchr("_-./+*%~!?^", c));
}

const char *setting_source_take_word(Arena *arena, const char **at) {
        bool is_variable = false;

        for (; **at && !is_word_byte(**at); (*at)++)
                is_variable = **at == '$';
        const char *begin = *at, *end = begin;

        while (is_word_byte(*end))
                end++;
        *at = end;
        if (begin == end)
                return NULL;
        begin += is_variable ? strcspn(begin, "/") : strspn(begin, "-+!");
        return begin < end ? arena_strdup_to(arena, begin, end) : "";
}

/* Returns TEXT in lower case, with spaces for NULs. */
static char *lower(Arena *arena, const char *text, size_t size) {
        char *copy = arena_alloc(arena, size + 1);

        for (size_t i = 0; i < size; i++)
                copy[i] = (char) (text[i] ? tolower((unsigned char) text[i]) : ' ');
        return copy;
}

/* TEXT is in lower case. */
static bool has_mention(const char *text) {
        return ARRAY_ANY(each, mentions, ARRAY_LEN(mentions), strstr(text, *each) != NULL);
}

bool setting_source_is_mention(const char *word) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const char *name = lower(arena, word, strlen(word));

        return has_mention(name) &&
               !ARRAY_ANY(each, harmless, ARRAY_LEN(harmless), strstr(name, *each) != NULL);
}

/* Adds one entry for the words of a line that are mentions, of transparent huge pages or of pools. */
static void take_line(const SettingSearch *search, const char *line) {
        bool has_format = search->file->source != SETTING_SOURCE_SCRIPT;
        const char *word, *first = NULL;
        Text text = text_in(search->arena);

        while ((word = setting_source_take_word(search->arena, &line))) {
                /* "=1100": only a plain number, size or list of nodes is kept: the rest may be a secret. */
                size_t length = *line == '=' ? 1 + strspn(line + 1, "0123456789:,kKmMgGbB") : 0;

                length = length > 1 && strchr(" \t\"';&|)", line[length]) ? length : 0;
                if (!setting_source_is_mention(word) || (first && length == 0))
                        continue;
                if (first)
                        text_printf(&text, " %s", word);
                first = first ? first : word;
                text_add_n(&text, line, length);
        }
        bool is_thp = first && strstr(first, "transparent");

        if (first && !(has_format && is_thp)) /* such lines are read as settings */
                add_entry(search, is_thp ? SETTING_SOURCE_UNCLEAR_THP : SETTING_SOURCE_UNCLEAR,
                          first, text_string(&text), "");
}

static void search_mentions(SettingSearch *search) {
        const SettingSourceFile *file = search->file;
        const SettingSourceList *list = &search->entries->list;
        bool is_command = true, goes_on = false;

        if (!has_mention(lower(search->arena, file->text.text, file->text.size))) /* most files */
                return;
        search->section = file->runs ? file->runs
                                     : arena_printf(search->arena, "%s applies it",
                                                    setting_source_source_name(file->source));
        SOURCE_FOREACH(line, search->arena, lines, &file->text) {
                const char *text = text_strip(search->arena, line);

                /* In a unit, only lines about what it runs, not about dependencies. */
                if (file->is_unit && !goes_on)
                        is_command = text_starts_with(text, "Exec") ||
                                     text_starts_with(text, "Environment");
                goes_on = text_ends_with(text, "\\");
                search->line = lines.number;
                if (is_command && *text != '#' && *text != ';' &&
                    !ARRAY_ANY(entry, list->items + search->n_before, list->n - search->n_before,
                               entry->line == search->line))
                        take_line(search, text);
        }
}

/* ---- files ---- */

static void search_lines(SettingSearch *search,
                         void (*search_line)(SettingSearch *search, const char *line)) {
        SOURCE_FOREACH(line, search->arena, lines, &search->file->text) {
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
                take_kernel_line(&search, arena_strndup(arena, file->text.text, file->text.size));
                return;
        case SETTING_SOURCE_SYSCTL:
                search_lines(&search, search_assignment);
                return;
        case SETTING_SOURCE_TMPFILES:
                search_lines(&search, search_tmpfiles_line);
                return;
        case SETTING_SOURCE_TUNED:
                search_tuned(&search);
                break;
        case SETTING_SOURCE_SYSFS:
                search_lines(&search, search_assignment);
                break;
        case SETTING_SOURCE_SCRIPT:
                break;
        }
        search_mentions(&search);
}
