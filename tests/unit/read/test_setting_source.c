/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Settings of other programs for the same things. Stories have the syntax of their files (setting_source.stories), and
 * which entry is effective and explains the kernel's value (setting_shown.stories); this file has the verbs of the
 * latter, and texts that no story can have. */

#include "apply/host_apply.h"
#include "base/size.h"
#include "read/setting_source.h"
#include "support/setting_sources.h"
#include "support/story.h"

enum { FILES_MAX = 8 };

static const char host[] = "sizes 1G 2M\n"
                           "node 0 total=64G free=60G 2M=10\n"
                           "node 1 total=64G free=60G 2M=30 1G=2\n"
                           "thp never 64K=inherit 2M=inherit\n";

static SettingSources *sources_of(Arena *arena, SettingSourceSource source, const char *text) {
        return setting_sources_make(arena, host_make(arena, host),
                                    &(SettingSourceFile){.source = source,
                                                         .path = "/etc/x.conf",
                                                         .text = {text, strlen(text)}},
                                    1);
}

/* ---- texts that no story can have ---- */

/* Patterns that would take very long. */
TEST(hostile_patterns) {
        char stars[241], braces[241];
        Text text = text_in(arena);

        for (size_t i = 0; i < 240; i += 2) {
                memcpy(stars + i, "*/", 2);
                stars[i + 1] = 'a';
                memcpy(braces + i, "{,", 2);
        }
        memset(braces + 120, '}', 120);
        stars[240] = braces[240] = '\0';
        for (size_t i = 0; i < 2000; i++)
                text_printf(&text, "w /sys/*%s - - - - 1\nw /sys/%s - - - - 1\n", stars, braces);
        assert_text(setting_sources_text(arena,
                                         sources_of(arena, SETTING_SOURCE_TMPFILES, text.string)),
                    "");
}

TEST(hostile_values) {
        char *line = arena_printf(arena, "vm.nr_hugepages=\033[2J\xFF%01000d\n", 1);
        const SettingSources *setting_sources = sources_of(arena, SETTING_SOURCE_SYSCTL, line);
        const SettingSource *setting_source = setting_sources->list.items;

        assert_true(strlen(setting_source->value) < 200);
        assert_true(text_is_utf8(setting_source->value, strlen(setting_source->value)));
        assert_true(text_starts_with(setting_source->value, "?[2J?0"));
}

/* A flood of entries is cut, and settled in no time. */
TEST(flood) {
        Text text = text_in(arena);

        for (size_t i = 0; i < 20000; i++)
                text_add(&text, "vm.nr_hugepages=1\n");
        const SettingSources *setting_sources =
                sources_of(arena, SETTING_SOURCE_SYSCTL, text.string);

        assert_uint_in_range(setting_sources->list.n, 1001, 9999);
}

/* systemd-sysctl reads what hugeplan writes. */
TEST(guard) {
        const char *text = guard_text(arena, 1081);

        assert_text(setting_sources_text(arena, sources_of(arena, SETTING_SOURCE_SYSCTL, text)),
                    "6 pool 1081\n");
        assert_contains(text, "hugepland(8)");
}

/* ---- stories ---- */

typedef struct Story {
        Arena *arena;
        const Topology *now;
        SettingSourceFile files[FILES_MAX];
        size_t n;
} Story;

#define VERB(name, words) STORY_VERB(name, words, Story, story)

static void begin_story(void *context) {
        Story *story = context;

        story->now = host_make(story->arena, host);
}

VERB(do_host, "host") {
        story->now = host_make(line->arena, story_text(line, 0));
        return NULL;
}

/* SOURCE PATH TEXT */
VERB(do_file, "file") {
        assert_true(story->n < FILES_MAX);
        story->files[story->n++] =
                (SettingSourceFile){.source = setting_source_named(line->words[1]),
                                    .path = line->words[2],
                                    .text = {story_text(line, 2), strlen(story_text(line, 2))}};
        return NULL;
}

VERB(do_no_files, "no-files") {
        story->n = 0;
        return NULL;
}

static SettingSources *sources_in(Arena *arena, const Story *story) {
        return setting_sources_make(arena, story->now, story->files, story->n);
}

VERB(do_entries, "entries") {
        return setting_sources_text(line->arena, sources_in(line->arena, story));
}

/* PATH [SHOWN]: the entry that explains it. */
VERB(do_source, "source") {
        const SettingSource *source =
                setting_source_for_path(sources_in(line->arena, story), line->words[1],
                                        line->words[2] ? story_text(line, 1) : NULL);

        return source ? setting_source_format(line->arena, source) : NULL;
}

/* The value for node 0 2M, node 1 2M, node 0 1G, node 1 1G. */
VERB(do_pools, "pools") {
        const SettingSources *sources = sources_in(line->arena, story);
        Text found = text_in(line->arena);

        for (unsigned k = 0; k < 4; k++) {
                const SettingSource *setting =
                        setting_source_for_pool(sources, story->now, k % 2, k < 2 ? 2 * MIB : GIB);

                text_printf(&found, "%s%s", k > 0 ? " " : "", setting ? setting->value : "-");
        }
        return text_string(&found);
}

/* PATH VALUE SHOWN [SOURCE]: whether VALUE results in SHOWN; "-": nothing is shown. */
VERB(do_explains, "explains") {
        const SettingSource setting = {
                .source = line->words[4] ? setting_source_named(line->words[4])
                                         : SETTING_SOURCE_SYSCTL,
                .path = line->words[1],
                .value = text_equals(line->words[2], "''")
                                 ? ""
                                 : story_unescape(line->arena, line->words[2])};

        return story_yes(setting_source_explains(
                &setting, text_equals(line->words[3], "-")
                                  ? NULL
                                  : story_unescape(line->arena, line->words[3])));
}

/* The profiles that a profile of tuned includes. */
VERB(do_includes, "includes") {
        const SourceText text = {story_text(line, 0), strlen(story_text(line, 0))};
        const SourceNames names = setting_source_tuned_includes(line->arena, &text);
        Text all = text_in(line->arena);

        VEC_FOREACH(name, &names)
                text_add_word(&all, *name);
        return text_string(&all);
}

STORY_TEST(stories, "unit/read/setting_shown", .size = sizeof(Story), .begin = begin_story)
