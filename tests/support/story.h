/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Tests told in lines of text: a file NAME.stories beside the test that plays it.
 *
 *     ## what would be wrong       begins a story, with all anew
 *     # a remark
 *     VERB WORD... -> ANSWER       the verb answers this; "~>": its answer holds this; "!>": does not hold it
 *     VERB WORD...                 no matter what it answers
 *
 * With STORIES_UPDATE=1 in the environment the answers ("->") are written as they are now: read them.
 *
 * In words and answers "\n", "\r", "\s", "\t" and "\\" stand for ends of lines, blanks and a backslash, "\xff" for a byte; no answer, or an
 * empty one, is "(none)". */

#include "support/testing.h"

enum { STORY_WORDS_MAX = 32 };

typedef struct StoryLine {
        Arena *arena;                 /* of the story */
        char *words[STORY_WORDS_MAX]; /* the verb first; NULL behind the last one */
        const char *rest;             /* behind the verb, as it stands */
} StoryLine;

typedef struct StoryVerb {
        const char *name;
        const char *(*perform)(void *context, const StoryLine *line);
} StoryVerb;

typedef struct StoryTeller {
        size_t size; /* of the context, which begins with the story's arena; the rest is 0 at first */
        void (*begin)(void *context); /* this and the following may be NULL */
        void (*end)(void *context);
        void (*check)(void *context); /* after each line */
        const StoryVerb *verbs;
        size_t n_verbs;
        /* For a verb that is none of these: what it answers where nothing is said of that; NULL: anything. */
        const char *(*otherwise)(void *context, const StoryLine *line);
        const char *silent;
} StoryTeller;

/* PATH: below tests/, without ".stories". */
void story_tell(const char *path, const StoryTeller *teller);

/* A test that tells stories whose lines have nothing to do with each other: its verbs need no context. */
#define STORY_TEST(name, path, ...)                                                            \
        TEST(name) {                                                                           \
                static const StoryVerb verbs[] = {__VA_ARGS__};                                \
                static const StoryTeller teller = {                                            \
                        .size = sizeof(Arena *), .verbs = verbs, .n_verbs = ARRAY_LEN(verbs)}; \
                                                                                               \
                story_tell(path, &teller);                                                     \
        }

const char *story_yes(bool is_so);
const char *story_number(const StoryLine *line, uint64_t n);
bool story_has_word(const StoryLine *line, const char *word);

/* A number; "any": UINT64_MAX; 0 where there is no such word. */
uint64_t story_number_at(const StoryLine *line, size_t i);

/* With "\n" and "\s" as they are meant. */
char *story_unescape(Arena *arena, const char *text);

/* The words from the I-th one on, unescaped, a line of each. */
char *story_lines(const StoryLine *line, size_t i);
