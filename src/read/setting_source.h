/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* SettingSources: the entries in other programs' configuration that set what hugeplan manages.
 *
 * Sources of the formats: sysctl.d(5) with systemd's src/sysctl/sysctl.c (the last value of a key wins; globs do not
 * apply to a key that is named itself; "-key" alone excludes it), tmpfiles.d(5) with src/tmpfiles/tmpfiles.c (the first
 * line of a path wins), tuned-profiles(7) with tuned's profiles/loader.py and merger.py (later profiles win option by
 * option), the kernel's Documentation/admin-guide/kernel-parameters.txt, sysfs.conf(5). A mention is a line in no known
 * format, with what runs it. */

#include "read/kernel_line.h"
#include "read/source.h"

typedef enum SettingSourceKind {
        SETTING_SOURCE_NR_HUGEPAGES,            /* the pool of the default size, over all nodes */
        SETTING_SOURCE_NR_HUGEPAGES_MEMPOLICY,  /* likewise, by the writer's memory policy */
        SETTING_SOURCE_SIZE_POOL,               /* the pool of another size, over all nodes */
        SETTING_SOURCE_NODE_POOL,               /* the pool of one or more nodes */
        SETTING_SOURCE_NR_OVERCOMMIT_HUGEPAGES, /* of any size */
        SETTING_SOURCE_HUGETLB_SHM_GROUP,
        SETTING_SOURCE_SHMMAX,
        SETTING_SOURCE_SHMALL,
        SETTING_SOURCE_THP,         /* transparent_hugepage/enabled */
        SETTING_SOURCE_THP_SIZE,    /* transparent_hugepage/hugepages-*kB/enabled */
        SETTING_SOURCE_UNCLEAR,     /* a line that mentions pools; `key` is its first such word */
        SETTING_SOURCE_UNCLEAR_THP, /* likewise for transparent huge pages */
} SettingSourceKind;

/* The program that reads the entry, in the order in which they act during a boot. */
typedef enum SettingSourceSource {
        SETTING_SOURCE_KERNEL_COMMAND_LINE,
        SETTING_SOURCE_SYSCTL,
        SETTING_SOURCE_TMPFILES,
        SETTING_SOURCE_TUNED,
        SETTING_SOURCE_SYSFS,  /* sysfs.conf */
        SETTING_SOURCE_SCRIPT, /* all else that is run or applied at boot */
} SettingSourceSource;

typedef struct SettingSource {
        SettingSourceKind what;
        SettingSourceSource source;
        const char *key;     /* as written: "vm.nr_hugepages", "/sys/kernel/mm/..." */
        const char *value;   /* as written, shortened; of a mention "=1G hugepages=4" or "" */
        const char *file;    /* its path: "/etc/sysctl.d/99-db.conf" */
        unsigned line;       /* 0: the file has one line only */
        bool is_effective;   /* false: another entry of the same program overrides it */
        bool is_appending;   /* "w+" of tmpfiles.d: added to other lines for its path */
        const char *path;    /* the file below /proc or /sys that it sets; may be a pattern */
        const char *section; /* of a tuned profile; of a mention: what runs it; else NULL */
} SettingSource;

typedef VEC(SettingSource) SettingSourceList;

/* A file of the kernel that hugeplan manages on this host. */
typedef struct SettingTarget {
        const char *path;
        SettingSourceKind what;
} SettingTarget;

typedef struct SettingSources {
        Arena *arena;
        const Topology *topology;
        VEC(SettingTarget) targets;
        SettingSourceList list; /* in the order of reading */
} SettingSources;

/* A file to be searched. */
typedef struct SettingSourceFile {
        SettingSourceSource source;
        const char *path;
        SourceText text;
        /* For scripts: */
        const char *runs; /* "a.service runs it" */
        bool is_unit;     /* in a unit only its commands and environment are searched */
} SettingSourceFile;

/* Returns an empty list. TOPOLOGY has the pools that can be set; it must outlive the result. */
SettingSources *setting_sources_new(Arena *arena, const Topology *topology);

/* Adds the entries of FILE. Files must be added in the order in which their reader reads them: by name for sysctl.d and
 * tmpfiles.d, included profiles before the including one for tuned. The work is bounded for any contents. */
void setting_sources_add_file(SettingSources *entries, const SettingSourceFile *file);

/* Determines which entries are effective. Must be called once, after all files were added. */
void setting_sources_finish(SettingSources *entries);

bool setting_source_is_pattern(const char *string);

/* Returns whether SETTING, a path or a pattern, sets the file PATH. */
bool setting_source_sets_path(const char *setting, const char *path);

/* Returns whether the entry's value explains what the kernel's file SHOWS now: numbers in that file's notation (decimal
 * in /sys, also octal and hexadecimal in /proc/sys); of several words, the one in brackets. */
bool setting_source_explains(const SettingSource *entry, const char *shown);

/* Returns the likely source of what PATH, a kernel file below /sys or /proc, SHOWS now: of the entries that explain it,
 * an effective one before an overridden one, then the one that acts last in a boot. Returns NULL if none does or SHOWN
 * is NULL: entries with other values are not to blame. */
const SettingSource *setting_source_for_path(const SettingSources *entries, const char *path,
                                             const char *shown);

/* Likewise for the persistent pages of a pool in NOW: returns the entry that sets the node's pool to the node's count,
 * or the pool of its size over all nodes to the count of all nodes. */
const SettingSource *setting_source_for_pool(const SettingSources *entries, const Topology *now,
                                             unsigned node, uint64_t page_size_bytes);

/* Returns whether the value of an entry that sets a pool is a number; the kernel refuses other values. */
bool setting_source_is_number(const SettingSource *entry);

/* Set *RET to the pages that the entry requests: on NODE, or on all nodes together. Return false if the entry does not
 * set that pool, or its value is no number. */
bool setting_source_node_pages(const SettingSource *entry, unsigned node, uint64_t page_size_bytes,
                               uint64_t *ret);
bool setting_source_host_pages(const SettingSource *entry, const Topology *topology,
                               uint64_t page_size_bytes, uint64_t *ret);

/* "vm.nr_hugepages=20"; of a mention the word and what is plain of its values. */
char *setting_source_text(Arena *arena, const SettingSource *entry);

/* "vm.nr_hugepages=20 in /etc/sysctl.d/99-db.conf:3" */
char *setting_source_format(Arena *arena, const SettingSource *entry);

/* "sysctl", "tmpfiles", "tuned", "command-line", "sysfs", "script". */
const char *setting_source_source_name(SettingSourceSource source);

/* Returns whether WORD, of bytes used in file names, mentions what sets pools or transparent huge pages. */
bool setting_source_is_mention(const char *word);

/* Returns the next such word of a line and moves *AT after it. Prefixes of programs ("-", "+", "!") and a variable
 * before a path are left out. NULL: there is no more. */
const char *setting_source_take_word(Arena *arena, const char **at);

/* Returns the names of the profiles that a tuned profile includes, in their order. */
SourceNames setting_source_tuned_includes(Arena *arena, const SourceText *text);
