/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Files of other programs that may set huge pages. The first byte is the kind of the rest: 'c' kernel command line,
 * 's' sysctl.d, 't' tmpfiles.d, 'u' a tuned profile, 'x' a script.
 *
 * Conditions: the search ends, its results can be printed, and each setting has an effective entry unless a later line
 * removes it. */

#include "base/size.h"
#include "fuzz/fuzz.h"
#include "read/setting_source.h"

/* Two nodes, pages of 1G and 2M, one size of transparent huge pages. */
static Topology *make_topology(Arena *arena) {
        Topology *topology = ARENA_NEW(arena, Topology);

        topology->is_numa = true;
        topology->base_page_bytes = 4 * KIB;
        topology->default_page_size_bytes = 2 * MIB;
        topology->n_page_sizes = topology->n_nodes = 2;
        topology->page_sizes = ARENA_ARRAY(arena, PageSize, 2);
        topology->page_sizes[0].bytes = GIB;
        topology->page_sizes[1].bytes = 2 * MIB;
        topology->nodes = ARENA_ARRAY(arena, Node, 2);
        for (unsigned i = 0; i < 2; i++) {
                topology->nodes[i] = (Node){.id = i, .has_memory = true};
                topology->nodes[i].pools = ARENA_ARRAY(arena, Pool, 2);
                for (size_t k = 0; k < 2; k++)
                        topology->nodes[i].pools[k] = (Pool){
                                .page_size_bytes = topology->page_sizes[k].bytes, .exists = true};
        }
        *vec_push(arena, &topology->thp_sizes) = (ThpSize){64 * KIB, "never"};
        return topology;
}

static void search(Arena *arena, SettingSourceSource source, const char *text, size_t size) {
        const Topology *topology = make_topology(arena);
        SettingSources *setting_sources = setting_sources_new(arena, topology);
        const SettingSourceFile file = {
                .source = source, .path = "/etc/x\n", .text = text, .size = size};

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
                setting_source_tuned_includes(arena, text, size);
}

/* The kernel command line: page sizes and nodes are those of this host. */
static void check_line(Arena *arena, const char *line) {
        const Topology *topology = make_topology(arena);
        const KernelLine *read = kernel_line_read(arena, line, "x", topology);

        VEC_FOREACH(pages, &read->pages) {
                require(topology_page_size_index(topology, pages->page_size_bytes) >= 0);
                for (size_t i = 0; i < pages->n_nodes; i++)
                        require(pages->nodes[i].node < ID_SET_MAX);
        }
        VEC_FOREACH(problem, &read->problems.list)
                require(problem->id && problem->text && problem->key);
        /* Every error has a repair, and every repair names words of the command line. */
        require((diags_count(&read->problems, SEVERITY_ERROR) > 0) == (read->repairs.n > 0));
        VEC_FOREACH(repair, &read->repairs)
                require(repair->from && *repair->from);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        if (size == 0)
                return 0;
        const char *text = arena_strndup(arena, (const char *) data + 1, size - 1);

        switch (data[0]) {
        case 'c':
                check_line(arena, text);
                search(arena, SETTING_SOURCE_KERNEL_COMMAND_LINE, (const char *) data + 1,
                       size - 1);
                break;
        case 's':
                search(arena, SETTING_SOURCE_SYSCTL, (const char *) data + 1, size - 1);
                break;
        case 't':
                search(arena, SETTING_SOURCE_TMPFILES, (const char *) data + 1, size - 1);
                break;
        case 'u':
                search(arena, SETTING_SOURCE_TUNED, (const char *) data + 1, size - 1);
                break;
        case 'x':
                search(arena, SETTING_SOURCE_SCRIPT, (const char *) data + 1, size - 1);
                break;
        }
        return 0;
}
