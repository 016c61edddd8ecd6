/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Texts within a line; the daemon's log uses them too. */
#include "render/render.h"

#include "base/size.h"

char *render_size(Arena *arena, uint64_t pages, uint64_t page_size_bytes) {
        return pages == 0 ? arena_strdup(arena, "-")
                          : format_size(arena, mul_saturated(pages, page_size_bytes));
}

char *render_nodes(Arena *arena, const PagesByNode *nodes) {
        Text text = text_in(arena);

        VEC_FOREACH(here, nodes)
                text_printf(&text, "%s%u:%s", text.length > 0 ? " " : "", here->node,
                            format_count(arena, here->pages));
        return text.string ? text.string : arena_strdup(arena, "-");
}

char *render_granted(Arena *arena, uint64_t granted, uint64_t wanted) {
        if (wanted == 0)
                return arena_strdup(arena, "-");
        return granted == wanted ? format_count(arena, granted)
                                 : arena_printf(arena, "%s of %s", format_count(arena, granted),
                                                format_count(arena, wanted));
}

char *render_verdict(Arena *arena, const StatusInstance *instance) {
        Text text = text_in(arena);

        text_printf(&text, "%s: %s", instance->name, verdict_name(instance->verdict));
        if (instance->pages_wanted > 0 && !instance->reason.text)
                text_printf(&text, ": %s%s",
                            instance->pages_granted == instance->pages_wanted
                                    ? ""
                                    : arena_printf(arena, "%s of ",
                                                   format_count(arena, instance->pages_granted)),
                            format_page_count_and_size(arena, instance->pages_wanted,
                                                       instance->page_size_bytes));
        if (instance->nodes.n > 0 && !instance->reason.text)
                text_printf(&text, " on nodes %s", render_nodes(arena, &instance->nodes));
        if (instance->reason.text)
                text_printf(&text, ": %s", instance->reason.text);
        if (instance->reason.remedy)
                text_printf(&text, "; %s", instance->reason.remedy);
        return text.string;
}
