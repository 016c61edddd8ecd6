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

static const char *do_file(void *context, const StoryLine *line) {
        return story_change_files(line, ((Found *) context)->files, FILES_MAX);
}

static const char *option_of(const StoryLine *line, const char *key) {
        size_t length = strlen(key);

        for (size_t i = 2; line->words[i]; i++)
                if (text_starts_with(line->words[i], key) && line->words[i][length] == '=')
                        return line->words[i] + length + 1;
        return NULL;
}

static const char *do_gather(void *context, const StoryLine *line) {
        Found *found = context;
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

static const char *do_found(void *context, const StoryLine *line) {
        const Found *found = context;
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
static const char *do_settings(void *context, const StoryLine *line) {
        const Found *found = context;
        Text text = text_in(line->arena);

        VEC_FOREACH(setting, &found->gathered.settings)
                text_printf(&text, "%s%s=%s (%s)", text.length > 0 ? "; " : "", setting->name,
                            setting->value, setting->origin);
        return text_string(&text);
}

static const char *do_size(void *context, const StoryLine *line) {
        const Found *found = context;
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

static const char *do_problems(void *context, const StoryLine *line) {
        const Found *found = context;

        return problems_text(line->arena, &found->gathered.problems);
}

static const StoryVerb verbs[] = {
        {"file", do_file},         {"link", do_file},     {"unreadable", do_file},
        {"no-file", do_file},      {"gather", do_gather}, {"found", do_found},
        {"settings", do_settings}, {"size", do_size},     {"caveat", do_size},
        {"problems", do_problems},
};

static const StoryTeller teller = {
        .size = sizeof(Found), .verbs = verbs, .n_verbs = ARRAY_LEN(verbs)};

TEST(jvm) {
        story_tell("unit/engines/jvm/gather", &teller);
}

TEST(mysql) {
        story_tell("unit/engines/mysql/gather", &teller);
}

TEST(oracle) {
        story_tell("unit/engines/oracle/gather", &teller);
}

TEST(postgresql) {
        story_tell("unit/engines/postgresql/gather", &teller);
}
