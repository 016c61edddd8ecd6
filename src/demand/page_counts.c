/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "demand/page_counts.h"

#include "base/json.h"
#include "base/size.h"
#include "base/text.h"

char *page_counts_format(Arena *arena, const PageCounts *counts) {
        Text text = text_in(arena);

        VEC_FOREACH(count, counts)
                text_add_item(&text,
                              format_page_count(arena, count->pages, count->page_size_bytes));
        return arena_strdup(arena, text_string(&text));
}

char *page_counts_value(Arena *arena, const PageCounts *counts) {
        Text text = text_in(arena);

        VEC_FOREACH(count, counts)
                text_printf(&text, "%s%s:%" PRIu64, text.length > 0 ? " " : "",
                            format_page_size(arena, count->page_size_bytes), count->pages);
        return text.string;
}

bool page_counts_equal(const PageCounts *a, const PageCounts *b) {
        return a->n == b->n &&
               !VEC_ANY(count, a, page_counts_find(b, count->page_size_bytes) != count->pages);
}

const char *page_count_check(const PageCount *count, const Topology *topology) {
        if (topology_page_size_index(topology, count->page_size_bytes) < 0)
                return "it is of a page size that this host does not have";
        if (count->pages == 0)
                return "it is 0 pages";
        if (mul_saturated(count->pages, count->page_size_bytes) > INT64_MAX)
                return "it is too large";
        return NULL;
}

int page_counts_from_json(Arena *arena, const json_t *json, const Topology *topology,
                          PageCounts *ret) {
        const json_t *row, *size, *pages;
        PageCounts counts = {};
        size_t i;

        if (!json_is_array(json))
                return -EINVAL;
        json_array_foreach(json, i, row) {
                PageCount count = {};

                if (json_unpack((json_t *) row, "{s:o, s:o !}", "pageSizeBytes", &size, "pages",
                                &pages) < 0 ||
                    figure_count_from_json(size, &count.page_size_bytes) < 0 ||
                    figure_count_from_json(pages, &count.pages) < 0 ||
                    page_count_check(&count, topology) ||
                    page_counts_find(&counts, count.page_size_bytes) > 0)
                        return -EINVAL;
                *vec_push(arena, &counts) = count;
        }
        *ret = counts;
        return 0;
}
