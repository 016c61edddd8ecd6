/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A PageUser as text, as a problem, and as JSON: the second half of page_users.h. */

#include "base/text.h"
#include "status/json_value.h"
#include "status/page_users.h"

char *page_user_format(Arena *arena, const PageUser *user) {
        uint64_t pages = page_user_kept_pages(user);
        Text text = text_in(arena);

        if (user->pid == 0)
                text_add(&text, user->unit ? user->unit : user->command);
        else if (user->unit)
                text_printf(&text, "%s (pid %" PRIu64 ", %s)", user->unit, user->pid,
                            user->command);
        else
                text_printf(&text, "pid %" PRIu64 " (%s)", user->pid, user->command);
        if (user->page_size_bytes == 0)
                text_printf(&text, ": at least %s in huge pages", format_size(arena, user->bytes));
        else
                text_printf(&text, ": %s%s",
                            user->is_lower_bound && user->mapped_pages == 0 ? "at least " : "",
                            format_page_count(arena, pages, user->page_size_bytes));
        return text.string;
}

char *page_user_format_use(Arena *arena, const PageUser *user) {
        const char *at_least = user->is_lower_bound ? "at least " : "";
        Text text = text_in(arena);

        if (user->pid > 0)
                text_printf(&text, "pid %" PRIu64 ", %s: ", user->pid, user->command);
        if (user->page_size_bytes == 0) {
                text_printf(&text, "%s%s in huge pages", at_least, format_size(arena, user->bytes));
                return text.string;
        }
        if (user->mapped_pages > 0)
                text_printf(&text, "%s mapped, %s%s in use",
                            format_page_count(arena, user->mapped_pages, user->page_size_bytes),
                            at_least, format_count(arena, user->pages));
        else
                text_printf(&text, "%s%s in use", at_least,
                            format_page_count(arena, user->pages, user->page_size_bytes));
        VEC_FOREACH(here, &user->nodes)
                text_printf(&text, "%s%u: %s%s", here == user->nodes.items ? " (node " : ", ",
                            here->node, format_count(arena, here->pages),
                            here + 1 == user->nodes.items + user->nodes.n ? ")" : "");
        return text.string;
}

Diag page_user_held(Arena *arena, const PageUser *user, uint64_t pages) {
        const char *text =
                arena_printf(arena,
                             "%s, and no instance is described for %s: as long as it runs, %s "
                             "stay reserved that did not exist before hugeplan",
                             page_user_format(arena, user), user->unit ? "this unit" : "it",
                             format_page_count_and_size(arena, pages, user->page_size_bytes));
        const char *stop = user->unit ? arena_printf(arena, "systemctl stop %s", user->unit)
                                      : arena_printf(arena, "end process %" PRIu64, user->pid);

        return (Diag){.text = text,
                      .remedy = arena_printf(
                              arena,
                              "%s, or describe it in /etc/hugeplan.d%s, or disable huge pages in "
                              "its settings (PostgreSQL: huge_pages=off) and restart it: free "
                              "pages are then given back at once",
                              stop, user->unit ? " with its Unit=" : "")};
}

json_t *page_user_to_json(const PageUser *user, const char *instance) {
        return json_pack("{so ss? ss? ss? so so so so sb so}", "pid", known_to_json(user->pid),
                         "command", user->command, "unit", user->unit, "instance", instance,
                         "pageSizeBytes", known_to_json(user->page_size_bytes), "pages",
                         count_to_json(user->pages), "mappedPages",
                         count_to_json(user->mapped_pages), "bytes", count_to_json(user->bytes),
                         "lowerBound", user->is_lower_bound, "nodes",
                         node_pages_to_json(&user->nodes));
}
