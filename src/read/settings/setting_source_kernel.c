/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the kernel command line sets. */
#include "base/text.h"
#include "model/names.h"
#include "read/kernel_line.h"
#include "read/settings/setting_source_inside.h"

#include <string.h>

/* sysctl.vm.nr_hugepages=20 is set by the kernel itself just before init. */
static void take_kernel_argument(const SettingSearch *search, const KernelArgument *argument) {
        static const char prefix[] = "sysctl";
        const char *name = argument->word + (*argument->word == '"');

        if (!argument->value)
                return;
        if (text_equals(argument->name, "transparent_hugepage"))
                setting_source_add_entry(search, SETTING_SOURCE_THP, argument->name,
                                         argument->value, PATH_THP_ENABLED);
        else if (text_starts_with(name, prefix) &&
                 (name[strlen(prefix)] == '.' || name[strlen(prefix)] == '/')) {
                char *key = arena_strndup(search->arena, name, strcspn(name, "="));

                setting_source_add(search, key, argument->value,
                                   arena_printf(search->arena, PATH_PROC_SYS "%s",
                                                setting_source_normalize_key(
                                                        search->arena, key + sizeof(prefix))));
        }
}

void setting_source_take_kernel_line(const SettingSearch *search, const char *value) {
        const KernelLine *line = kernel_line_read(search->arena, value, search->file->path,
                                                  search->entries->topology);

        VEC_FOREACH(argument, &line->arguments)
                take_kernel_argument(search, argument);
        VEC_FOREACH(pages, &line->pages) {
                SettingSourceKind what =
                        pages->is_per_node ? SETTING_SOURCE_NODE_POOL
                        : pages->page_size_bytes ==
                                        search->entries->topology->default_page_size_bytes
                                ? SETTING_SOURCE_NR_HUGEPAGES
                                : SETTING_SOURCE_SIZE_POOL;
                const char *nodes = what == SETTING_SOURCE_NODE_POOL ? PATH_NODES "/node*/hugepages"
                                                                     : PATH_HUGEPAGES;
                const char *equals = strrchr(pages->words, '=');

                setting_source_add_entry(search, what,
                                         arena_strdup_to(search->arena, pages->words, equals),
                                         equals + 1,
                                         page_size_path(search->arena, nodes,
                                                        pages->page_size_bytes, "nr_hugepages"));
        }
}
