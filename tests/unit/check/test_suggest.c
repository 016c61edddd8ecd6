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

static void begin_story(void *context) {
        ((Found *) context)->segments = text_in(*(Arena **) context);
}

static const char *do_file(void *context, const StoryLine *line) {
        return story_change_files(line, ((Found *) context)->files, FILES_MAX);
}

static const char *do_config(void *context, const StoryLine *line) {
        ((Found *) context)->config = line->rest;
        return NULL;
}

/* COMMAND UNIT ARGUMENT...; "process-elsewhere": in another root directory, with 3G at its peak. */
static const char *do_process(void *context, const StoryLine *line) {
        Found *found = context;
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

static const char *do_segment(void *context, const StoryLine *line) {
        text_printf(&((Found *) context)->segments, "%s\n", line->rest);
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
static const char *do_suggest(void *context, const StoryLine *line) {
        const Suggestions found = suggest_for(line->arena, context);
        Text text = text_in(line->arena);

        ARRAY_FOREACH(each, found.items, found.n) {
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
static const char *do_text(void *context, const StoryLine *line) {
        const Suggestions found = suggest_for(line->arena, context);

        assert_true(found.n > 0);
        return found.items[0].text;
}

TEST(stories) {
        static const StoryVerb verbs[] = {
                {"config", do_config},   {"file", do_file},
                {"process", do_process}, {"process-elsewhere", do_process},
                {"segment", do_segment}, {"suggest", do_suggest},
                {"text", do_text},
        };
        static const StoryTeller teller = {.size = sizeof(Found),
                                           .begin = begin_story,
                                           .verbs = verbs,
                                           .n_verbs = ARRAY_LEN(verbs)};

        story_tell("unit/check/suggest", &teller);
}
