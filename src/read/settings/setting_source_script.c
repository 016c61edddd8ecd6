/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What scripts set. */

#include "base/size.h"
#include "base/text.h"
#include "model/names.h"
#include "read/settings/setting_source_inside.h"

#include <string.h>

/* "2M:100", "DEFAULT:2G": hugeadm(8). */
static void take_pool_pages(const SettingSearch *search, const char *key, const char *value,
                            const char *attribute) {
        const Topology *topology = search->entries->topology;
        const char *colon = strchr(value, ':');
        const char *name = arena_strdup_to(search->arena, value, colon);
        uint64_t page_size_bytes = topology->default_page_size_bytes, bytes, pages;

        if (!colon ||
            (!text_equals(name, "DEFAULT") && parse_size_bytes(name, &page_size_bytes) < 0) ||
            page_size_bytes == 0)
                return;
        /* A number is pages, a size is memory; "+5" and "-5" depend on what was there. */
        if (parse_u64(colon + 1, &pages) < 0)
                pages = parse_size_bytes(colon + 1, &bytes) == 0 ? bytes / page_size_bytes
                                                                 : UINT64_MAX;
        if (pages == UINT64_MAX)
                setting_source_add_entry(search, SETTING_SOURCE_UNCLEAR, "hugeadm",
                                         arena_printf(search->arena, "hugeadm %s %s", key, value),
                                         "");
        else
                setting_source_add(
                        search, arena_printf(search->arena, "hugeadm %s", key),
                        arena_printf(search->arena, "%" PRIu64, pages),
                        page_size_path(search->arena, PATH_HUGEPAGES, page_size_bytes, attribute));
}

static void take_hugeadm(const SettingSearch *search, const char *key, const char *value) {
        if (text_starts_with(key, "--thp-"))
                setting_source_add(search, "hugeadm --thp", key + strlen("--thp-"),
                                   PATH_THP_ENABLED);
        else if (value && text_equals(key, "--pool-pages-min"))
                take_pool_pages(search, key, value, "nr_hugepages");
        else if (value && text_equals(key, "--pool-pages-max"))
                take_pool_pages(search, key, value, "nr_overcommit_hugepages");
        else if (value && text_equals(key, "--set-shm-group"))
                setting_source_add(search, "hugeadm --set-shm-group", value,
                                   PATH_HUGETLB_SHM_GROUP);
}

void setting_source_search_script(SettingSearch *search) {
        const SettingSourceFile *file = search->file;
        const ScriptDeeds deeds = script_deeds_read(
                search->arena, &(SourceText){.text = file->text, .size = file->size},
                file->variables, MAX(file->line, 1U));

        search->section = file->unit;
        VEC_FOREACH(deed, &deeds) {
                search->line = deed->line;
                if (deed->does == SCRIPT_WRITES_FILE)
                        setting_source_add(search, deed->key, deed->value, deed->key);
                else if (deed->does == SCRIPT_SETS_SYSCTL)
                        setting_source_add_sysctl(search, deed->key, deed->value);
                else if (deed->does == SCRIPT_SETS_HUGEADM)
                        take_hugeadm(search, deed->key, deed->value);
                else
                        setting_source_add_entry(search, SETTING_SOURCE_UNCLEAR, "script",
                                                 deed->key, "");
        }
}
