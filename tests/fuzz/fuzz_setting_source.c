/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Files of other programs that may set huge pages. The first byte is the kind of the rest: 'c' kernel command line,
 * 's' sysctl.d, 't' tmpfiles.d, 'u' a tuned profile, 'x' a script.
 *
 * Conditions: the search ends, its results can be printed, and each setting has an effective entry unless a later line
 * removes it. */

#include "base/size.h"
#include "fuzz/fuzz.h"
#include "read/setting_source.h"
#include "support/testing.h"

static const char host_text[] = "sizes 1G 2M\n"
                                "node 0 total=4G free=3G 1G=0 2M=0\n"
                                "node 1 total=4G free=3G 1G=0 2M=0\n"
                                "thp never 64K=never\n";

static void search(Arena *arena, SettingSourceSource source, const char *text, size_t size) {
        const Topology *topology = host_make(arena, host_text);
        SettingSources *setting_sources = setting_sources_new(arena, topology);
        const SettingSourceFile file = {source, "/etc/x\n", {text, size}};

        setting_sources_add_file(setting_sources, &file);
        setting_sources_add_file(setting_sources, &file);
        setting_sources_finish(setting_sources);
        const SettingSourceList *list = &setting_sources->list;

        ARRAY_FOREACH(entry, list->items, MIN(list->n, (size_t) 64)) {
                require(entry->value && entry->path && entry->what <= SETTING_SOURCE_UNCLEAR_THP);
                require_printable(setting_source_format(arena, entry));
                const SettingSource *named =
                        setting_source_for_path(setting_sources, entry->path, entry->value);

                /* A named source explains the value; a source that explains it is named, or a likelier one is. */
                require(!named || setting_source_explains(named, entry->value));
                if (setting_source_explains(entry, entry->value) && !strpbrk(entry->path, "*?[{\\"))
                        require(named);
        }
        for (unsigned node = 0; node < 3; node++)
                setting_source_for_pool(setting_sources, topology, node, node == 1 ? GIB : 2 * MIB);
        if (source == SETTING_SOURCE_TUNED)
                setting_source_tuned_includes(arena, &file.text);
}

/* The kernel command line: page sizes and nodes are those of this host. */
static void check_line(Arena *arena, const char *line) {
        const Topology *topology = host_make(arena, host_text);
        const KernelLine *read = kernel_line_read(arena, line, "x", topology);

        VEC_FOREACH(pages, &read->pages) {
                require(topology_page_size_index(topology, pages->page_size_bytes) >= 0);
                VEC_FOREACH(here, &pages->nodes)
                        require(here->node < ID_SET_MAX);
        }
        VEC_FOREACH(problem, &read->problems.list)
                require(problem->id && problem->text && problem->key);
        /* Every error has a repair, and every repair names words of the command line. */
        require((diags_count(&read->problems, SEVERITY_ERROR) > 0) == (read->repairs.n > 0));
        VEC_FOREACH(repair, &read->repairs)
                require(repair->from && *repair->from);
}

FUZZ(arena, data, size) {
        static const char kinds[] = {
                [SETTING_SOURCE_KERNEL_COMMAND_LINE] = 'c',
                [SETTING_SOURCE_SYSCTL] = 's',
                [SETTING_SOURCE_TMPFILES] = 't',
                [SETTING_SOURCE_TUNED] = 'u',
                [SETTING_SOURCE_SCRIPT] = 'x',
        };
        const char *text = size > 0 ? arena_strndup(arena, (const char *) data + 1, size - 1) : "";

        if (size > 0 && *data == 'c')
                check_line(arena, text);
        for (size_t i = 0; size > 0 && i < sizeof(kinds); i++)
                if (kinds[i] && kinds[i] == (char) *data)
                        search(arena, (SettingSourceSource) i, (const char *) data + 1, size - 1);
}
