/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "read/setting_source.h"
#include "support/testing.h"

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
