/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/text.h"
#include "read/process.h"

#include <string.h>

bool process_parse_node_pages(Arena *arena, const char *word, NodePages *ret) {
        const char *equals = strchr(word, '=');
        uint64_t node, pages;

        if (*word != 'N' || !equals ||
            parse_u64(arena_strdup_to(arena, word + 1, equals), &node) < 0 || node >= ID_SET_MAX ||
            parse_u64(equals + 1, &pages) < 0)
                return false;
        *ret = (NodePages){(unsigned) node, pages};
        return true;
}

/* "total=4194304 N0=4194304", in bytes. */
int process_parse_numa_stat(Arena *arena, const char *text, uint64_t page_size_bytes,
                            uint64_t *ret_pages, PagesByNode *ret_nodes) {
        static const char total[] = "total=";
        PagesByNode nodes = {};
        NodePages here;
        uint64_t bytes;
        char *word = text_next_word(arena, &text, " \n");

        if (!word || !text_starts_with(word, total) || page_size_bytes == 0 ||
            parse_u64(word + strlen(total), &bytes) < 0)
                return -EINVAL;
        while ((word = text_next_word(arena, &text, " \n")))
                if (process_parse_node_pages(arena, word, &here) && here.pages >= page_size_bytes)
                        *vec_push(arena, &nodes) =
                                (NodePages){here.node, here.pages / page_size_bytes};
        *ret_pages = bytes / page_size_bytes;
        *ret_nodes = nodes;
        return 0;
}
