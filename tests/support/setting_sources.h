/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "read/setting_source.h"
#include "support/testing.h"

/* The source with this name in stories. */
static inline SettingSourceSource setting_source_named(const char *name) {
        static const char *const names[] = {
                [SETTING_SOURCE_SYSCTL] = "sysctl",
                [SETTING_SOURCE_TMPFILES] = "tmpfiles",
                [SETTING_SOURCE_TUNED] = "tuned",
                [SETTING_SOURCE_KERNEL_COMMAND_LINE] = "command-line",
                [SETTING_SOURCE_SCRIPT] = "script",
                [SETTING_SOURCE_SYSFS] = "sysfs",
        };
        int source = text_index(names, ARRAY_LEN(names), name);

        assert_true(source >= 0);
        return (SettingSourceSource) source;
}

/* The settings of some files, in the order in which they are read. */
static inline SettingSources *setting_sources_make(Arena *arena, const Topology *topology,
                                                   const SettingSourceFile *files, size_t n) {
        SettingSources *sources = setting_sources_new(arena, topology);

        ARRAY_FOREACH(file, files, n)
                setting_sources_add_file(sources, file);
        setting_sources_finish(sources);
        return sources;
}

/* "LINE KIND VALUE" per line; "!" before an entry that another one overrules. */
static inline const char *setting_sources_text(Arena *arena, const SettingSources *sources) {
        static const char *const kinds[] = {
                [SETTING_SOURCE_NR_HUGEPAGES] = "pool",
                [SETTING_SOURCE_NR_HUGEPAGES_MEMPOLICY] = "mempolicy",
                [SETTING_SOURCE_SIZE_POOL] = "size-pool",
                [SETTING_SOURCE_NODE_POOL] = "node-pool",
                [SETTING_SOURCE_NR_OVERCOMMIT_HUGEPAGES] = "overcommit",
                [SETTING_SOURCE_HUGETLB_SHM_GROUP] = "shm-group",
                [SETTING_SOURCE_SHMMAX] = "shmmax",
                [SETTING_SOURCE_SHMALL] = "shmall",
                [SETTING_SOURCE_THP] = "thp",
                [SETTING_SOURCE_THP_SIZE] = "thp-size",
                [SETTING_SOURCE_UNCLEAR] = "unclear",
                [SETTING_SOURCE_UNCLEAR_THP] = "unclear-thp",
        };
        Text text = text_in(arena);

        VEC_FOREACH(entry, &sources->list)
                text_printf(&text, "%s%u %s %s\n", entry->is_effective ? "" : "!", entry->line,
                            kinds[entry->what],
                            entry->what < SETTING_SOURCE_UNCLEAR ? entry->value : entry->key);
        return text_string(&text);
}
