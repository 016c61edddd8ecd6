/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* NAME.conf.d/90-learned.conf as text. It is read by config/config_keys.c. */
#include "base/text.h"
#include "config/config_value.h"
#include "demand/learned.h"
#include "demand/page_counts.h"
#include "demand/seen.h"
#include "model/names.h"

char *learned_path(Arena *arena, const InstanceConfig *instance) {
        return arena_printf(arena, PATH_CONFIG_ETC "/%s.d/" NAME_LEARNED,
                            text_base_name(instance->file));
}

char *learned_old_path(Arena *arena, const InstanceConfig *instance) {
        return arena_printf(arena, PATH_CONFIG_ETC "/%s.d/" NAME_SEEN,
                            text_base_name(instance->file));
}

static void add_headline(Text *text, const InstanceConfig *instance, const Learned *learned) {
        const char *server = arena_printf(text->arena, "%s%s%s", instance->engine->title,
                                          learned->version ? " " : "",
                                          learned->version ? learned->version : "");

        if (learned->pages.n > 0)
                text_printf(text, "# %s takes %s: %s%s.\n", instance->name,
                            page_counts_format(text->arena, &learned->pages),
                            learned->is_exact ? "exact, " : "an estimate for ",
                            learned->is_exact ? arena_printf(text->arena, "%s says so", server)
                                              : server);
        else if (learned->version)
                text_printf(text, "# %s is %s.\n", instance->name, server);
        if (seen_is_any(&learned->seen))
                text_printf(text, "# While %s ran: %s.\n",
                            text_printable(text->arena, learned->seen.unit),
                            seen_describe(text->arena, &learned->seen));
}

static void add_found(Text *text, const Learned *learned) {
        config_add_value(text, "Pages", page_counts_value(text->arena, &learned->pages));
        if (learned->thp != THP_AUTO)
                config_add_value(text, "TransparentHugePages", thp_policy_name(learned->thp));
        config_add_value(text, "X-Version", learned->version);
        if (learned->pages.n > 0)
                config_add_value(text, "X-Exact", learned->is_exact ? "yes" : "no");
        config_add_value(text, "X-Rule", page_counts_value(text->arena, &learned->by_rule));
        config_add_value(text, "X-Settings", learned->settings);
        config_add_value(text, "X-Fixed", learned->is_fixed ? "yes" : NULL);
        config_add_value(text, "X-Running", learned->is_of_running ? "yes" : NULL);
}

static void add_seen(Text *text, const Seen *seen) {
        const SmallTables *tables = &seen->small_tables;

        config_add_value(text, "X-Seen", page_counts_value(text->arena, &seen->pages));
        if (seen->pages.n > 0)
                config_add_value(text, "X-SeenExact", seen->is_exact ? "yes" : "no");
        config_add_value(text, "X-SeenBase", page_counts_value(text->arena, &seen->base));
        config_add_value(text, "X-SeenUnit", seen->unit);
        config_add_value(text, "X-SeenVersion", seen->version);
        config_add_value(text, "X-SeenSettings", seen->settings);
        if (tables->bytes == 0)
                return;
        text_printf(text, "X-SmallTables=%" PRIu64 "\nX-SmallProcesses=%" PRIu64 "\n",
                    tables->bytes, tables->n_processes);
        config_add_value(text, "X-SmallSeen", tables->at);
}

char *learned_format(Arena *arena, const InstanceConfig *instance, const Learned *learned,
                     const char *when) {
        Text text = text_in(arena);

        add_headline(&text, instance, learned);
        text_printf(
                &text,
                "#\n"
                "# Written by hugeplan " HUGEPLAN_VERSION
                " on %s, and anew when it has changed. Early boot reserves what\n"
                "# stands here; see LEARNED SIZES in hugeplan.d(5). To forget it, remove this file; to give a\n"
                "# size of your own, write Memory= or Pages= in %s.\n"
                "\n"
                "[Instance]\n",
                when, text_printable(arena, instance->file));
        add_found(&text, learned);
        if (seen_is_any(&learned->seen))
                add_seen(&text, &learned->seen);
        return text.string;
}

bool learned_is_kept(const InstanceConfig *instance, const Learned *learned) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        return !instance->learned.is_broken &&
               text_equals(learned_format(arena, instance, learned, ""),
                           learned_format(arena, instance, &instance->learned, ""));
}

char *learned_describe(Arena *arena, const InstanceConfig *instance, const Learned *learned) {
        const PageCounts pages = learned_pages(arena, instance, learned);
        const PageCounts *before = &instance->learned.pages;

        if (!seen_is_same(&learned->seen, &instance->learned.seen))
                return arena_printf(arena, "%s: seen: %s", instance->name,
                                    seen_describe(arena, &learned->seen));
        if (pages.n == 0)
                return arena_printf(arena, "%s: learned that it is %s %s", instance->name,
                                    instance->engine->title, learned->version);
        return arena_printf(arena, "%s: learned that it takes %s%s%s%s", instance->name,
                            page_counts_format(arena, &pages),
                            learned->is_exact ? "" : ", an estimate",
                            before->n > 0 ? "; before it was " : "",
                            before->n > 0 ? page_counts_format(arena, before) : "");
}
