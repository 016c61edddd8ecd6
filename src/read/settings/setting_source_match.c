/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/size.h"
#include "base/text.h"
#include "model/names.h"
#include "model/thp.h"
#include "read/setting_source.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

enum { PATTERN_MAX = 255 }; /* bytes of a pattern */

static const char *const source_names[] = {
        [SETTING_SOURCE_KERNEL_COMMAND_LINE] = "command-line",
        [SETTING_SOURCE_SYSCTL] = "sysctl",
        [SETTING_SOURCE_TMPFILES] = "tmpfiles",
        [SETTING_SOURCE_TUNED] = "tuned",
        [SETTING_SOURCE_SYSFS] = "sysfs",
        [SETTING_SOURCE_SCRIPT] = "script",
};

const char *setting_source_source_name(SettingSourceSource source) {
        return source_names[source];
}

/* ---- patterns ---- */

/* Matches like glob(3) for tmpfiles.d(5); fnmatch(3) supports no braces, and only the first pair is expanded. */
bool setting_source_sets_path(const char *pattern, const char *path) {
        const char *open = strchr(pattern, '{'), *close = open ? strchr(open, '}') : NULL;
        char one[PATTERN_MAX + 1];

        if (!setting_source_is_pattern(pattern))
                return text_equals(pattern, path);
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

/* ---- precedence ---- */

/* Kinds with one file, or several files that are the same to the kernel. */
static const unsigned single_kinds = 1U << SETTING_SOURCE_NR_HUGEPAGES |
                                     1U << SETTING_SOURCE_NR_HUGEPAGES_MEMPOLICY |
                                     1U << SETTING_SOURCE_HUGETLB_SHM_GROUP |
                                     1U << SETTING_SOURCE_SHMMAX | 1U << SETTING_SOURCE_SHMALL |
                                     1U << SETTING_SOURCE_THP;

/* Decides between two entries of one program for the same setting. Returns 1 if LATER, which is read after EARLIER,
 * overrides EARLIER, -1 if EARLIER overrides LATER, 0 if neither does. */
static int settle(const SettingSource *earlier, const SettingSource *later) {
        bool is_same_path = text_equals(earlier->path, later->path);

        if (earlier->source != later->source || earlier->what != later->what ||
            later->what >= SETTING_SOURCE_UNCLEAR ||
            (!is_same_path && !(1U << later->what & single_kinds)))
                return 0;
        switch (later->source) {
        case SETTING_SOURCE_SYSCTL:
                /* Only procps' sysctl reads /etc/sysctl.conf itself, after all other files; a distribution may link it
                 * into sysctl.d, where it is found. */
                if (text_equals(earlier->file, PATH_SYSCTL_CONF) !=
                    text_equals(later->file, PATH_SYSCTL_CONF))
                        return 0;
                /* sysctl.d(5) */
                return setting_source_is_pattern(later->path) &&
                                       !setting_source_is_pattern(earlier->path)
                               ? -1
                               : 1;
        case SETTING_SOURCE_TMPFILES:
                /* Of lines for one path the first is applied, and any "w+". Of different paths for the same setting,
                 * patterns included, the last write remains. */
                return is_same_path && !later->is_appending ? -1 : 1;
        case SETTING_SOURCE_TUNED:
                return text_equals(earlier->section, later->section) ? 1 : 0;
        default:
                return 1;
        }
}

void setting_sources_finish(SettingSources *entries) {
        for (size_t k = 1; k < entries->list.n; k++)
                for (size_t i = 0; i < k; i++) {
                        SettingSource *pair = entries->list.items;
                        int winner = settle(&pair[i], &pair[k]);

                        if (winner != 0)
                                pair[winner > 0 ? i : k].is_effective = false;
                }
        VEC_KEEP(entry, &entries->list, entry->value);
}

/* ---- the source of a value ---- */

/* Parses VALUE as the file that ENTRY sets does: in /proc/sys like proc_get_long(), which uses the first of several
 * numbers; in /sys like kstrtoul() with base 10, with which the command line's sscanf("%lu") agrees for valid values. */
static bool parse_value(const SettingSource *entry, const char *value, uint64_t *ret) {
        const char *rest;

        if (entry->source == SETTING_SOURCE_TUNED)
                value += strspn(value, "<>= "); /* "at most", "at least" */
        if (!text_starts_with(entry->path, PATH_PROC_SYS))
                return parse_u64(value + (*value == '+'), ret) == 0;
        return kernel_number_parse(value, ret, &rest) == 0 && (!*rest || strchr(" \t", *rest));
}

bool setting_source_is_number(const SettingSource *entry) {
        return parse_value(entry, entry->value, &(uint64_t){0});
}

bool setting_source_explains(const SettingSource *entry, const char *shown) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        uint64_t set, now;

        if (!shown)
                return false;
        const char *word = thp_selected(arena, shown) ?: text_strip(arena, shown);

        return parse_u64(word, &now) == 0 ? parse_value(entry, entry->value, &set) && set == now
                                          : text_equals(entry->value, word);
}

/* Keeps the more likely entry in *BEST; the later one if both are equally likely. */
static void consider(const SettingSource **best, const SettingSource *entry) {
        if (!*best ||
            (entry->is_effective != (*best)->is_effective ? entry->is_effective
                                                          : entry->source >= (*best)->source))
                *best = entry;
}

const SettingSource *setting_source_for_path(const SettingSources *entries, const char *path,
                                             const char *shown) {
        const SettingSource *best = NULL;

        VEC_FOREACH(entry, &entries->list)
                if (setting_source_sets_path(entry->path, path) &&
                    setting_source_explains(entry, shown))
                        consider(&best, entry);
        return best;
}

/* Returns whether the entry sets the pool of that size over all nodes. */
static bool sets_whole_pool(const SettingSource *entry, const Topology *now,
                            uint64_t page_size_bytes) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        if (page_size_bytes == now->default_page_size_bytes)
                return entry->what == SETTING_SOURCE_NR_HUGEPAGES ||
                       entry->what == SETTING_SOURCE_NR_HUGEPAGES_MEMPOLICY;
        return entry->what == SETTING_SOURCE_SIZE_POOL &&
               setting_source_sets_path(
                       entry->path,
                       page_size_path(arena, PATH_HUGEPAGES, page_size_bytes, "nr_hugepages"));
}

/* Returns NODE's part of "0:50,1:100", a value of hugepages=: "50"; for other values VALUE itself. */
static const char *value_for_node(Arena *arena, const char *value, unsigned node) {
        const char *prefix = arena_printf(arena, "%u:", node);

        if (!strchr(value, ':'))
                return value;
        TEXT_FOREACH(item, arena, value, ",")
                if (text_starts_with(item, prefix))
                        return item + strlen(prefix);
        return "";
}

bool setting_source_node_pages(const SettingSource *entry, unsigned node, uint64_t page_size_bytes,
                               uint64_t *ret) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        return setting_source_sets_path(entry->path,
                                        page_size_path(arena, node_path(arena, node, "hugepages"),
                                                       page_size_bytes, "nr_hugepages")) &&
               parse_value(entry, value_for_node(arena, entry->value, node), ret);
}

bool setting_source_host_pages(const SettingSource *entry, const Topology *topology,
                               uint64_t page_size_bytes, uint64_t *ret) {
        return sets_whole_pool(entry, topology, page_size_bytes) &&
               parse_value(entry, entry->value, ret);
}

const SettingSource *setting_source_for_pool(const SettingSources *entries, const Topology *now,
                                             unsigned node, uint64_t page_size_bytes) {
        uint64_t n_here = 0, n_all = 0, set;

        ARRAY_FOREACH(each, now->nodes, now->n_nodes) {
                const Pool *pool = topology_pool(now, each->id, page_size_bytes);
                uint64_t pages = pool ? pool_persistent_pages(pool) : 0;

                n_all += pages;
                n_here = each->id == node ? pages : n_here;
        }
        const SettingSource *best = NULL;

        VEC_FOREACH(entry, &entries->list)
                if (setting_source_node_pages(entry, node, page_size_bytes, &set)
                            ? set == n_here
                            : setting_source_host_pages(entry, now, page_size_bytes, &set) &&
                                      set == n_all)
                        consider(&best, entry);
        return best;
}

char *setting_source_text(Arena *arena, const SettingSource *entry) {
        bool is_mention = entry->what >= SETTING_SOURCE_UNCLEAR;

        return arena_printf(arena, "%s%s%s", entry->key, is_mention ? "" : "=", entry->value);
}

char *setting_source_format(Arena *arena, const SettingSource *entry) {
        char *text =
                arena_printf(arena, "%s in %s", setting_source_text(arena, entry), entry->file);

        return entry->line > 0 ? source_origin(arena, text, entry->line) : text;
}
