/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Settings of a server that are found on a host, as stories (support/story.h):
 *
 *     file PATH TEXT                      adds or replaces a file; link PATH TARGET; unreadable PATH; no-file PATH
 *     gather postgresql unit=... data=... config=... user=... instance=...     "ok", "ok, with problems", or an error
 *     found, settings, size, caveat, problems                                  of the latest `gather`
 *
 * The size is in pages of 2M. */

#include "base/size.h"
#include "engines/reader.h"
#include "support/sources.h"
#include "support/story.h"

enum { FILES_MAX = 16 };

typedef struct Found {
        Arena *arena;
        TestFile files[FILES_MAX];
        const Engine *engine;
        Gathered gathered;
} Found;

#define VERB(name, words) STORY_VERB(name, words, Found, found)

VERB(do_file, "file link unreadable no-file") {
        return story_change_files(line, found->files, FILES_MAX);
}

static const char *option_of(const StoryLine *line, const char *key) {
        size_t length = strlen(key);

        for (size_t i = 2; line->words[i]; i++)
                if (text_starts_with(line->words[i], key) && line->words[i][length] == '=')
                        return line->words[i] + length + 1;
        return NULL;
}

VERB(do_gather, "gather") {
        const EngineTarget target = {
                .instance = option_of(line, "instance"),
                .unit = option_of(line, "unit"),
                .data_directory = option_of(line, "data"),
                .config_file = option_of(line, "config"),
                .user = option_of(line, "user"),
        };
        const Sources *sources =
                test_sources(line->arena, found->files, test_files_count(found->files, FILES_MAX));

        found->engine = engine_find(line->words[1]);
        found->gathered = (Gathered){.problems = diags_in(line->arena)};
        const char *wrong =
                engine_reader(found->engine)
                        ->gather(line->arena, found->engine, &target, sources, &found->gathered);

        return wrong ? wrong : found->gathered.problems.list.n > 0 ? "ok, with problems" : "ok";
}

VERB(do_found, "found") {
        const Gathered *gathered = &found->gathered;
        const struct {
                const char *name, *value;
        } facts[] = {
                {"version", gathered->version},    {"data", gathered->data_directory},
                {"config", gathered->config_file}, {"user", gathered->user},
                {"program", gathered->program},
        };
        Text text = text_in(line->arena);

        for (size_t i = 0; i < ARRAY_LEN(facts); i++)
                text_printf(&text, "%s=%s ", facts[i].name, facts[i].value ? facts[i].value : "-");
        text_printf(&text, "options=%zu", (size_t) gathered->options.n);
        return text_string(&text);
}

/* All settings of all places: the last one of a name counts. */
VERB(do_settings, "settings") {
        Text text = text_in(line->arena);

        VEC_FOREACH(setting, &found->gathered.settings)
                text_printf(&text, "%s%s=%s (%s)", text.length > 0 ? "; " : "", setting->name,
                            setting->value, setting->origin);
        return text_string(&text);
}

VERB(do_size, "size caveat") {
        Sizing sizing = {};
        const char *wrong = engine_size(found->engine, line->arena, &found->gathered.settings,
                                        2 * MIB, &sizing);

        if (wrong)
                return wrong;
        return text_equals(line->words[0], "caveat")
                       ? sizing.caveat
                       : arena_printf(line->arena, "%" PRIu64 "%s", sizing.pages,
                                      sizing.is_exact ? ", exact" : "");
}

VERB(do_problems, "problems") {
        return problems_text(line->arena, &found->gathered.problems);
}

STORY_TEST(jvm, "unit/engines/jvm/gather", .size = sizeof(Found))
STORY_TEST(mysql, "unit/engines/mysql/gather", .size = sizeof(Found))
STORY_TEST(oracle, "unit/engines/oracle/gather", .size = sizeof(Found))
STORY_TEST(postgresql, "unit/engines/postgresql/gather", .size = sizeof(Found))
