/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/story.h"

#include "base/size.h"

enum { VERBS_MAX = 256 /* in one program */ };

static const StoryVerb *registered[VERBS_MAX];
static size_t n_registered;

void story_register(const StoryVerb *verb) {
        if (n_registered == VERBS_MAX)
                abort();
        registered[n_registered++] = verb;
}

const char *story_yes(bool is_so) {
        return is_so ? "yes" : "no";
}

const char *story_number(const StoryLine *line, uint64_t n) {
        return arena_printf(line->arena, "%" PRIu64, n);
}

bool story_has_word(const StoryLine *line, const char *word) {
        for (size_t i = 1; line->words[i]; i++)
                if (text_equals(line->words[i], word))
                        return true;
        return false;
}

uint64_t story_number_at(const StoryLine *line, size_t i) {
        uint64_t n = 0;

        for (size_t k = 0; k < i; k++)
                if (!line->words[k])
                        return 0;
        if (text_equals(line->words[i], "any"))
                return UINT64_MAX;
        if (line->words[i])
                assert_int_equal(parse_u64(line->words[i], &n), 0);
        return n;
}

char *story_unescape(Arena *arena, const char *text) {
        static const char letters[] = "nrst\\", meant[] = "\n\r \t\\";
        unsigned char byte;
        Text out = text_in(arena);

        for (; *text; text++)
                if (*text == '\\' && text[1] && strchr(letters, text[1]))
                        text_add_n(&out, &meant[strchr(letters, *++text) - letters], 1);
                else if (sscanf(text, "\\x%2hhx", &byte) == 1) {
                        text_add_n(&out, (const char *) &byte, 1);
                        text += strlen("xff");
                } else
                        text_add_n(&out, text, 1);
        return arena_strdup(arena, text_string(&out));
}

char *story_text(const StoryLine *line, size_t i) {
        const char *rest = line->rest;

        for (size_t k = 1; k <= i; k++) {
                rest += strlen(line->words[k]);
                rest += *rest == ' ';
        }
        return story_unescape(line->arena, rest);
}

const char *story_change_files(const StoryLine *line, TestFile *files, size_t n_max) {
        const char *verb = line->words[0], *path = line->words[1], *text = story_text(line, 1);
        size_t n = test_files_count(files, n_max);
        TestFile *file = ARRAY_FIND(each, files, n, text_equals(each->path, path));

        if ((text_equals(verb, "no-file") && !file) || (!file && n == n_max))
                abort();
        if (text_equals(verb, "no-file")) {
                *file = files[n - 1];
                files[n - 1] = (TestFile){};
                return NULL;
        }
        *(file ? file : &files[n]) = (TestFile){
                .path = path,
                .text = text_equals(verb, "link")   ? arena_printf(line->arena, "-> %s", text)
                        : text_equals(verb, "file") ? text
                                                    : NULL,
        };
        return NULL;
}

char *story_lines(const StoryLine *line, size_t i) {
        Text out = text_in(line->arena);

        for (; line->words[i]; i++)
                text_printf(&out, "%s\n", story_unescape(line->arena, line->words[i]));
        return arena_strdup(line->arena, text_string(&out));
}

/* The line with its present answer, for STORIES_UPDATE=1. */
static const char *updated(Arena *arena, const char *text, const char *expected,
                           const char *answer) {
        Text out = text_in(arena);

        text_add_n(&out, text, (size_t) (expected - text));
        for (; *answer; answer++)
                if (*answer == '\n' || *answer == '\\')
                        text_add(&out, *answer == '\n' ? "\\n" : "\\\\");
                else
                        text_add_n(&out, answer, 1);
        return out.string;
}

static const StoryVerb *find_verb(const char *file, const char *word) {
        for (size_t i = 0; i < n_registered; i++)
                if (text_equals(registered[i]->file, file) &&
                    text_has_word(registered[i]->words, word))
                        return registered[i];
        return NULL;
}

/* Returns the line as it should be. */
static const char *tell(const StoryTeller *teller, void *context, const char *text) {
        static const char *const relations[] = {" -> ", " ~> ", " !> "};
        StoryLine line = {.arena = *(Arena **) context};
        const char *at = NULL, *rest, *answer;
        size_t n = 0;

        for (size_t i = 0; i < ARRAY_LEN(relations) && !at; i++)
                at = strstr(text, relations[i]);
        rest = arena_strndup(line.arena, text, at ? (size_t) (at - text) : strlen(text));
        line.rest = strchr(rest, ' ') ? strchr(rest, ' ') + 1 : "";
        while (n < STORY_WORDS_MAX - 1 && (line.words[n] = text_next_word(line.arena, &rest, " ")))
                n++;
        const StoryVerb *verb = find_verb(teller->file, line.words[0]);

        assert_true(verb || teller->otherwise);
        answer = (verb ? verb->perform : teller->otherwise)(context, &line);
        answer = answer && *answer ? answer : "(none)";
        if (!at) {
                if (teller->silent && !verb)
                        assert_text(answer, teller->silent);
                return text;
        }
        const char *expected = story_unescape(line.arena, at + 4);

        if (at[1] == '-' && getenv("STORIES_UPDATE") && !text_equals(answer, expected))
                return updated(line.arena, text, at + 4, answer);
        if (at[1] == '-')
                assert_text(answer, expected);
        else if (at[1] == '~')
                assert_contains(answer, expected);
        else
                assert_null(strstr(answer, expected));
        return text;
}

static void *begin_story(const StoryTeller *teller) {
        Arena *arena = arena_new();
        Arena **context = (Arena **) arena_alloc(arena, MAX(teller->size, sizeof(arena)));

        *context = arena;
        if (teller->begin)
                teller->begin(context);
        return context;
}

static void end_story(const StoryTeller *teller, void *context) {
        Arena *arena = context ? *(Arena **) context : NULL;

        if (context && teller->end)
                teller->end(context);
        arena_free(arena);
}

void story_tell(const char *path, const StoryTeller *teller) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const char *name = arena_printf(arena, TEST_SOURCE_DIR "/%s.stories", path);
        FILE *file = fopen(name, "re");
        void *context = NULL;
        Text new = text_in(arena);
        char *line = NULL;
        size_t size = 0, n_line = 0;

        assert_non_null(file);
        while (getline(&line, &size, file) > 0) {
                const char *now = line;

                line[strcspn(line, "\n")] = '\0';
                n_line++;
                if (text_starts_with(line, "## ")) {
                        end_story(teller, context);
                        context = begin_story(teller);
                } else if (*line && *line != '#') {
                        print_message("%s:%zu: %s\n", name, n_line, line);
                        now = tell(teller, context, line);
                        if (teller->check)
                                teller->check(context);
                }
                text_printf(&new, "%s\n", now);
        }
        assert_non_null(context);
        end_story(teller, context);
        free(line);
        fclose(file);
        if (getenv("STORIES_UPDATE")) {
                file = fopen(name, "we");
                assert_non_null(file);
                fputs(text_string(&new), file);
                fclose(file);
        }
}
