/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* SettingSources: the entries in other programs' configuration that set what hugeplan manages.
 *
 * Sources of the formats: sysctl.d(5) with systemd's src/sysctl/sysctl.c (the last value of a key
 * wins; a key named by itself is out of every glob; "-key" alone takes it out), tmpfiles.d(5) with
 * src/tmpfiles/tmpfiles.c (the first line of a path wins), tuned-profiles(7) with tuned's
 * profiles/loader.py and merger.py (later profiles win option by option), the kernel's
 * Documentation/admin-guide/kernel-parameters.txt, sysfs.conf(5). What no format says is a mention: a line, and who
 * runs it. */

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
        SETTING_SOURCE_THP_OTHER,   /* defrag, shmem_enabled, khugepaged/... */
        SETTING_SOURCE_UNCLEAR,     /* a line that mentions pools, by the word that is the key */
        SETTING_SOURCE_UNCLEAR_THP, /* a line that mentions transparent huge pages, likewise */
} SettingSourceKind;

/* Who reads the entry, in the order in which they act in a boot. */
typedef enum SettingSourceSource {
        SETTING_SOURCE_KERNEL_COMMAND_LINE,
        SETTING_SOURCE_SYSCTL,
        SETTING_SOURCE_TMPFILES,
        SETTING_SOURCE_TUNED,
        SETTING_SOURCE_SYSFS,  /* sysfs.conf */
        SETTING_SOURCE_SCRIPT, /* whatever else is run or applied at boot */
} SettingSourceSource;

typedef struct SettingSource {
        SettingSourceKind what;
        SettingSourceSource source;
        const char *key;     /* as written: "vm.nr_hugepages", "/sys/kernel/mm/..." */
        const char *value;   /* as written, at most a few dozen bytes of it */
        const char *file;    /* where people find it: "/etc/sysctl.d/99-db.conf" */
        unsigned line;       /* 0: the file has but one */
        bool is_effective;   /* false: another entry that the same program reads overrules it */
        bool is_appending;   /* "w+" of tmpfiles.d: is written besides other lines for its path */
        const char *path;    /* the file below /proc or /sys that it sets; may be a pattern */
        const char *section; /* of a tuned profile; of a mention who runs it; else NULL */
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
        const char *text; /* may hold NULs and anything else */
        size_t size;
        /* Of a script: */
        const char *runs; /* "a.service runs it" */
        bool is_unit;     /* of a unit only what it runs counts */
} SettingSourceFile;

/* None yet. TOPOLOGY says which pools there are to be set; it must outlive the setting_sources. */
SettingSources *setting_sources_new(Arena *arena, const Topology *topology);

/* Adds the entries of FILE. Files are to be added in the order in which their reader takes them: by
 * name for sysctl.d and tmpfiles.d, included profiles before the including one for tuned. The work
 * is bounded, whatever the files hold. */
void setting_sources_add_file(SettingSources *entries, const SettingSourceFile *file);

/* To be called once, when all files were added: settles which entries are effective. */
void setting_sources_finish(SettingSources *entries);

bool setting_source_is_pattern(const char *string);

/* Whether SETTING, a path or a pattern, sets the file PATH. */
bool setting_source_sets_path(const char *setting, const char *path);

/* Whether the entry's value explains what the kernel's file SHOWS now: numbers as that file takes them
 * (decimal in /sys, also octal and hexadecimal in /proc/sys), of several words the one in brackets. */
bool setting_source_explains(const SettingSource *entry, const char *shown);

/* Who has set a file of the kernel, below /sys or /proc, to what it SHOWS now: of the entries that
 * explain it one that is effective before one that another overrules, then the one that acts last in
 * a boot. NULL where none does, or SHOWN is NULL: who asks for something else is not to blame. */
const SettingSource *setting_source_for_path(const SettingSources *entries, const char *path,
                                             const char *shown);

/* Likewise for a pool as NOW shows it, without surplus pages: who sets that pool of the node to what
 * the node has, or the pool of its size over all nodes to what all of them have together. */
const SettingSource *setting_source_for_pool(const SettingSources *entries, const Topology *now,
                                             unsigned node, uint64_t page_size_bytes);

/* Whether the value of an entry that sets a pool is a number; the kernel refuses others. */
bool setting_source_is_number(const SettingSource *entry);

/* How many pages the entry asks of a pool: of NODE, or of all nodes together. False: of none, or the value is no
 * number. */
bool setting_source_node_pages(const SettingSource *entry, unsigned node, uint64_t page_size_bytes,
                               uint64_t *ret);
bool setting_source_host_pages(const SettingSource *entry, const Topology *topology,
                               uint64_t page_size_bytes, uint64_t *ret);

/* "vm.nr_hugepages=20 in /etc/sysctl.d/99-db.conf:3" */
char *setting_source_format(Arena *arena, const SettingSource *entry);

/* "sysctl", "tmpfiles", "tuned", "command-line", "sysfs", "script". */
const char *setting_source_source_name(SettingSourceSource source);

/* Whether WORD, of letters and such as files are named with, mentions what sets pools or transparent huge pages. */
bool setting_source_is_mention(const char *word);

/* The next such word of a line from *AT on, which is moved behind it, without what stands before a program ("-", "+",
 * "!") and without the name of a variable before a path. NULL: there is no more. */
const char *setting_source_take_word(Arena *arena, const char **at);

/* The names of the profiles that a tuned profile includes, in their order. */
SourceNames setting_source_tuned_includes(Arena *arena, const char *text, size_t size);
