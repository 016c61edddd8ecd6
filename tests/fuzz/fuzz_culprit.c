/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Files of others that are searched for what sets huge pages, and what boot loaders read. The first
 * byte says which kind the rest is: 'c' kernel command line, 's' sysctl.d, 't' tmpfiles.d, 'u' a
 * tuned profile, 'p' a pattern and, behind a NUL, a path, 'g' grub.cfg, 'e' a boot entry,
 * 'x' extlinux.conf.
 *
 * Whatever they hold, the search ends, what it finds can be printed, and each thing that is set has
 * an effective entry unless something takes it out. */

#include "base/size.h"
#include "base/text.h"
#include "check/boot_entry.h"
#include "fuzz/fuzz.h"
#include "read/culprit.h"

static void require_ascii(const char *string) {
        require(string != NULL && strlen(string) < 4096);
        for (; *string; string++)
                require(*string >= ' ' && *string <= '~');
}

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

static void check_culprit(Arena *arena, const Culprits *culprits, const Culprit *culprit) {
        require(culprit->value && culprit->path && culprit->what <= CULPRIT_THP_OTHER);
        require_ascii(culprit_format(arena, culprit));
        const Culprit *named = culprit_for_path(culprits, culprit->path, culprit->value);

        /* Who is named explains it; and who explains it is named, or somebody more likely. */
        require(!named || culprit_explains(named, culprit->value));
        if (culprit_explains(culprit, culprit->value) && !strpbrk(culprit->path, "*?[{\\"))
                require(named);
}

static void search(Arena *arena, CulpritSource source, const char *text, size_t size) {
        const Topology *topology = make_topology(arena);
        Culprits *culprits = culprits_new(arena, topology);
        const CulpritFile file = {.source = source, .path = "/etc/x\n", .text = text, .size = size};

        culprits_add_file(culprits, &file);
        culprits_add_file(culprits, &file);
        culprits_finish(culprits);
        for (size_t i = 0; i < MIN(culprits_count(culprits), (size_t) 64); i++)
                check_culprit(arena, culprits, culprits_get(culprits, i));
        for (unsigned node = 0; node < 3; node++)
                culprit_for_pool(culprits, topology, node, node == 1 ? GIB : 2 * MIB);
        if (source == CULPRIT_TUNED)
                culprit_tuned_includes(arena, text, size);
}

/* The kernel command line: what was read is of this host. */
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
        /* Every error has a repair, and every repair names words that are there. */
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
                search(arena, CULPRIT_KERNEL_COMMAND_LINE, (const char *) data + 1, size - 1);
                break;
        case 's':
                search(arena, CULPRIT_SYSCTL, (const char *) data + 1, size - 1);
                break;
        case 't':
                search(arena, CULPRIT_TMPFILES, (const char *) data + 1, size - 1);
                break;
        case 'u':
                search(arena, CULPRIT_TUNED, (const char *) data + 1, size - 1);
                break;
        case 'p': {
                size_t length = strlen(text);

                culprit_path_matches(
                        text, length + 1 < size ? (const char *) arena_strndup(
                                                          arena, (const char *) data + 1 + length,
                                                          size - 1 - length)
                                                : "");
                break;
        }
        case 'g':
                grub_config_command_line(arena, text, text);
                break;
        case 'e':
                boot_entry_command_line(arena, text, text);
                break;
        case 'x':
                extlinux_command_line(arena, text);
                break;
        }
        return 0;
}
