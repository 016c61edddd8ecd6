/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/size.h"
#include "base/text.h"
#include "model/names.h"
#include "read/setting_source_inside.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

enum { PATTERN_MAX = 255 }; /* bytes of a pattern */

static const char *const source_names[] = {
        [SETTING_SOURCE_KERNEL_COMMAND_LINE] = "command-line",
        [SETTING_SOURCE_SYSCTL] = "sysctl",
        [SETTING_SOURCE_TMPFILES] = "tmpfiles",
        [SETTING_SOURCE_TUNED] = "tuned",
};

const char *setting_source_source_name(SettingSourceSource source) {
        return source_names[source];
}

/* ---- patterns ---- */

/* As glob(3) has it for tmpfiles.d(5); fnmatch(3) knows no braces, and only the first are looked at. */
static bool matches(const char *pattern, const char *path) {
        const char *open = strchr(pattern, '{'), *close = open ? strchr(open, '}') : NULL;
        char one[PATTERN_MAX + 1];

        if (strlen(pattern) > PATTERN_MAX)
                return false;
        if (!close)
                return fnmatch(pattern, path, FNM_PATHNAME) == 0;
        for (const char *from = open + 1; from <= close; from += strcspn(from, ",}") + 1) {
                snprintf(one, sizeof(one), "%.*s%.*s%s", (int) (open - pattern), pattern,
                         (int) strcspn(from, ",}"), from, close + 1);
                if (fnmatch(one, path, FNM_PATHNAME) == 0)
                        return true;
        }
        return false;
}

bool setting_source_is_pattern(const char *string) {
        return strpbrk(string, "*?[{\\") != NULL;
}

bool setting_source_sets_path(const char *setting, const char *path) {
        return setting_source_is_pattern(setting) ? matches(setting, path)
                                                  : text_equals(setting, path);
}

/* ---- who wins ---- */

/* Of these there is one file, or several that are the same to the kernel. */
static bool is_single(SettingSourceKind what) {
        return what == SETTING_SOURCE_NR_HUGEPAGES ||
               what == SETTING_SOURCE_NR_HUGEPAGES_MEMPOLICY ||
               what == SETTING_SOURCE_HUGETLB_SHM_GROUP || what == SETTING_SOURCE_SHMMAX ||
               what == SETTING_SOURCE_SHMALL || what == SETTING_SOURCE_THP;
}

/* /etc/sysctl.conf by itself is read by procps' sysctl only, and by that after all others; where a
 * distribution links it into sysctl.d it is found there. */
static bool has_same_reader(const SettingSource *a, const SettingSource *b) {
        return a->source == b->source &&
               (a->source != SETTING_SOURCE_SYSCTL ||
                text_equals(a->file, PATH_SYSCTL_CONF) == text_equals(b->file, PATH_SYSCTL_CONF));
}

static bool is_same_target(const SettingSource *a, const SettingSource *b) {
        return a->what == b->what && (is_single(a->what) || text_equals(a->path, b->path));
}

/* Whether LATER, read after EARLIER, has the last word on it; sysctl.d(5). */
static bool overrules_sysctl(const SettingSource *earlier, const SettingSource *later) {
        return !setting_source_is_pattern(later->path) || setting_source_is_pattern(earlier->path);
}

/* Lines of tmpfiles.d for one path: the first is taken, and "w+" besides. For different paths that
 * lead to the same thing, patterns among them, the last one written stays. */
static bool overrules_tmpfiles(const SettingSource *earlier, const SettingSource *later) {
        return !text_equals(earlier->path, later->path) || later->is_appending;
}

/* 1: LATER overrules EARLIER; -1: the other way round; 0: neither. */
static int settle(const SettingSource *earlier, const SettingSource *later) {
        if (!has_same_reader(earlier, later) || !is_same_target(earlier, later))
                return 0;
        switch (later->source) {
        case SETTING_SOURCE_SYSCTL:
                return overrules_sysctl(earlier, later) ? 1 : -1;
        case SETTING_SOURCE_TMPFILES:
                return overrules_tmpfiles(earlier, later) ? 1 : -1;
        case SETTING_SOURCE_TUNED:
                return text_equals(earlier->section, later->section) ? 1 : 0;
        default:
                return 1;
        }
}

void setting_sources_finish(SettingSources *setting_sources) {
        for (size_t k = 1; k < setting_sources->list.n; k++)
                for (size_t i = 0; i < k; i++) {
                        SettingSource *earlier = &setting_sources->list.items[i];
                        SettingSource *later = &setting_sources->list.items[k];
                        int winner = settle(earlier, later);

                        if (winner > 0)
                                earlier->is_effective = false;
                        else if (winner < 0)
                                later->is_effective = false;
                }
        size_t n = 0;

        for (size_t i = 0; i < setting_sources->list.n; i++)
                if (setting_sources->list.items[i].value)
                        setting_sources->list.items[n++] = setting_sources->list.items[i];
        setting_sources->list.n = n;
}

/* ---- naming one ---- */

/* kstrtoul() with base 10, as the files of /sys have it; sscanf("%lu") of the command line is no
 * different for what passes here. */
static bool parse_plain(const char *value, uint64_t *ret) {
        return parse_u64(value + (*value == '+'), ret) == 0;
}

/* proc_get_long(): of several numbers the first counts. */
static bool parse_sysctl(const char *value, uint64_t *ret) {
        const char *rest;

        return kernel_number_parse(value, ret, &rest) == 0 && (!*rest || strchr(" \t", *rest));
}

static bool is_value(const SettingSource *setting_source, const char *value, const char *shown) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        /* "always [madvise] never" -> "madvise". */
        const char *open = strchr(shown, '['), *close = open ? strchr(open, ']') : NULL;
        const char *word = close ? arena_strndup(arena, open + 1, (size_t) (close - open) - 1)
                                 : text_strip(arena, shown);
        uint64_t set, now;

        if (setting_source->source == SETTING_SOURCE_TUNED)
                value += strspn(value, "<>= "); /* "at most", "at least" */
        if (!parse_plain(word, &now))
                return text_equals(value, word);
        return (text_starts_with(setting_source->path, PATH_PROC_SYS) ? parse_sysctl(value, &set)
                                                                      : parse_plain(value, &set)) &&
               set == now;
}

bool setting_source_explains(const SettingSource *setting_source, const char *shown) {
        return shown && is_value(setting_source, setting_source->value, shown);
}

static unsigned likelihood(const SettingSource *setting_source) {
        return 1 + (unsigned) setting_source->source + (setting_source->is_effective ? 10 : 0);
}

/* Keeps the more likely one in *BEST; of equals the later. */
static void consider(const SettingSource **best, const SettingSource *setting_source) {
        if (!*best || likelihood(setting_source) >= likelihood(*best))
                *best = setting_source;
}

const SettingSource *setting_source_for_path(const SettingSources *setting_sources,
                                             const char *path, const char *shown) {
        const SettingSource *best = NULL;

        VEC_FOREACH(setting_source, &setting_sources->list)
                if (setting_source_sets_path(setting_source->path, path) &&
                    setting_source_explains(setting_source, shown))
                        consider(&best, setting_source);
        return best;
}

static uint64_t persistent_pages(const Topology *topology, uint64_t page_size_bytes) {
        uint64_t pages = 0;

        for (size_t i = 0; i < topology->n_nodes; i++) {
                const Pool *pool = topology_pool(topology, topology->nodes[i].id, page_size_bytes);

                pages += pool ? pool_persistent_pages(pool) : 0;
        }
        return pages;
}

/* Whether the entry sets the pool of that size over all nodes. */
static bool sets_whole_pool(const SettingSource *setting_source, const Topology *now,
                            uint64_t page_size_bytes) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        if (page_size_bytes == now->default_page_size_bytes)
                return setting_source->what == SETTING_SOURCE_NR_HUGEPAGES ||
                       setting_source->what == SETTING_SOURCE_NR_HUGEPAGES_MEMPOLICY;
        return setting_source->what == SETTING_SOURCE_SIZE_POOL &&
               setting_source_sets_path(setting_source->path,
                                        arena_printf(arena,
                                                     PATH_HUGEPAGES "/" NAME_HUGEPAGES_DIR
                                                                    "%" PRIu64 "kB/nr_hugepages",
                                                     page_size_bytes / KIB));
}

/* Of "0:50,1:100", as hugepages= has it, what is for NODE: "50"; else VALUE itself. */
static const char *value_for_node(Arena *arena, const char *value, unsigned node) {
        const char *prefix = arena_printf(arena, "%u:", node), *item;

        if (!strchr(value, ':'))
                return value;
        while ((item = text_next_word(arena, &value, ",")))
                if (text_starts_with(item, prefix))
                        return item + strlen(prefix);
        return "";
}

const SettingSource *setting_source_for_pool(const SettingSources *setting_sources,
                                             const Topology *now, unsigned node,
                                             uint64_t page_size_bytes) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const Pool *pool = topology_pool(now, node, page_size_bytes);
        char *here = arena_printf(arena, "%" PRIu64, pool ? pool_persistent_pages(pool) : 0);
        char *all = arena_printf(arena, "%" PRIu64, persistent_pages(now, page_size_bytes));
        char *path = arena_printf(arena,
                                  PATH_NODES "/node%u/hugepages/" NAME_HUGEPAGES_DIR "%" PRIu64
                                             "kB/nr_hugepages",
                                  node, page_size_bytes / KIB);
        const SettingSource *best = NULL;

        VEC_FOREACH(setting_source, &setting_sources->list)
                if (setting_source_sets_path(setting_source->path, path)
                            ? is_value(setting_source,
                                       value_for_node(arena, setting_source->value, node), here)
                            : sets_whole_pool(setting_source, now, page_size_bytes) &&
                                      setting_source_explains(setting_source, all))
                        consider(&best, setting_source);
        return best;
}

char *setting_source_format(Arena *arena, const SettingSource *setting_source) {
        return setting_source->line > 0 ? arena_printf(arena, "%s=%s in %s:%u", setting_source->key,
                                                       setting_source->value, setting_source->file,
                                                       setting_source->line)
                                        : arena_printf(arena, "%s=%s in %s", setting_source->key,
                                                       setting_source->value, setting_source->file);
}

/* ---- the guard ---- */

char *setting_source_guard_text(Arena *arena, uint64_t pages) {
        return arena_printf(arena,
                            "# Written by hugepland and kept true by it; see hugepland(8).\n"
                            "# hugeplan has reserved huge pages node by node. systemd-sysctl "
                            "applies all of\n"
                            "# sysctl.d again whenever a package asks for it; another figure here "
                            "would then\n"
                            "# take pages from some nodes and give them to others. This file is "
                            "read last and\n"
                            "# repeats what all nodes hold together, which changes nothing.\n"
                            "vm.nr_hugepages = %" PRIu64 "\n",
                            pages);
}
