/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "demand/page_counts.h"

#include "base/size.h"
#include "base/text.h"

char *page_counts_format(Arena *arena, const PageCounts *counts) {
        Text text = text_in(arena);

        VEC_FOREACH(count, counts) {
                text_printf(&text, "%s%s %s", text.length > 0 ? ", " : "",
                            format_count(arena, count->pages),
                            count->pages == 1 ? "page" : "pages");
                if (count->page_size_bytes > 0)
                        text_printf(&text, " of %s",
                                    format_page_size(arena, count->page_size_bytes));
        }
        return arena_strdup(arena, text_string(&text));
}

char *page_counts_value(Arena *arena, const PageCounts *counts) {
        Text text = text_in(arena);

        VEC_FOREACH(count, counts)
                text_printf(&text, "%s%s:%" PRIu64, text.length > 0 ? " " : "",
                            format_page_size(arena, count->page_size_bytes), count->pages);
        return text.string;
}
