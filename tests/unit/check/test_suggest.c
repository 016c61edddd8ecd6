/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Proposed drop-ins: suggest.stories. hugeplan accepts each of them without a problem. */

#include "check/suggest.h"

#include "base/size.h"
#include "support/gatherer.h"
#include "support/sources.h"
#include "support/story.h"

enum { FILES_MAX = 10 };

typedef struct Found {
        Arena *arena;
        TestFile files[FILES_MAX];
        const char *config; /* for config_line(); NULL: none */
        Processes processes;
        Text segments; /* an empty one: not known */
} Found;

#define VERB(name, words) STORY_VERB(name, words, Found, found)

static void begin_story(void *context) {
        ((Found *) context)->segments = text_in(*(Arena **) context);
}

VERB(do_file, "file") {
        return story_change_files(line, found->files, FILES_MAX);
}

VERB(do_config, "config") {
        found->config = line->rest;
        return NULL;
}

/* COMMAND UNIT ARGUMENT...; "process-elsewhere": in another root directory, with 3G at its peak. */
VERB(do_process, "process process-elsewhere") {
        Process process = {.pid = 4711 + found->processes.n,
                           .command = line->words[1],
                           .unit = story_unescape(line->arena, line->words[2])};

        for (size_t i = 3; line->words[i]; i++)
                *vec_push(line->arena, &process.arguments) =
                        story_unescape(line->arena, line->words[i]);
        process.is_elsewhere = text_equals(line->words[0], "process-elsewhere");
        process.peak_bytes = process.is_elsewhere ? 3 * GIB : 0;
        *vec_push(line->arena, &found->processes) = process;
        return NULL;
}

VERB(do_segment, "segment") {
        text_printf(&found->segments, "%s\n", line->rest);
        return NULL;
}

static Suggestions suggest_for(Arena *arena, const Found *found) {
        size_t n = test_files_count(found->files, FILES_MAX);
        const Sources *sources = test_sources(arena, n > 0 ? found->files : &(TestFile){"/x", ""},
                                              MAX(n, (size_t) 1));
        const SourcesGatherer here = figures_gatherer(sources);
        const SuggestInput input = {
                .arena = arena,
                .config = found->config ? config_line(arena, "%s", found->config)
                                        : config_make(arena, NULL),
                .topology = host_make(arena, "sizes 2M\nnode 0 total=16G free=15G\n"),
                .sources = sources,
                .gatherer = &here.gatherer,
                .processes = &found->processes,
                .sysv_segments = found->segments.length > 0 ? text_string(&found->segments) : NULL,
        };

        return suggest(&input);
}

static void assert_accepted(Arena *arena, const Suggestion *suggestion) {
        const Config *config =
                config_make(arena, strrchr(suggestion->path, '/') + 1, suggestion->text, NULL);

        assert_text(problems_text(arena, &config->problems), "");
        assert_int_equal(config->n_instances, 1);
        assert_text(config->instances[0].unit, suggestion->unit);
        assert_ptr_equal(config->instances[0].engine, suggestion->engine);
}

/* "TITLE (ENGINE, UNIT) at PLACE: PATH, PAGES pages", or the file that describes it, or why it is not proposed. */
VERB(do_suggest, "suggest") {
        const Suggestions suggestions = suggest_for(line->arena, found);
        Text text = text_in(line->arena);

        ARRAY_FOREACH(each, suggestions.items, suggestions.n) {
                text_printf(&text, "%s%s (%s, %s) at %s: ", text.length > 0 ? "; " : "",
                            each->title, each->engine->name, each->unit ? each->unit : "-",
                            each->found);
                if (each->path) {
                        assert_accepted(line->arena, each);
                        text_printf(&text, "%s, %" PRIu64 " pages", each->path, each->pages);
                } else
                        text_add(&text, each->described ? each->described : each->why_not);
                if (each->peak_bytes > 0)
                        text_printf(&text, ", at most %s",
                                    format_size(line->arena, each->peak_bytes));
        }
        return text_string(&text);
}

/* The drop-in of the first one. */
VERB(do_text, "text") {
        const Suggestions suggestions = suggest_for(line->arena, found);

        assert_true(suggestions.n > 0);
        return suggestions.items[0].text;
}

STORY_TEST(stories, "unit/check/suggest", .size = sizeof(Found), .begin = begin_story)
