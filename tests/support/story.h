/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Tests as lines of text, in a file NAME.stories beside the test that performs them.
 *
 *     ## what is tested            begins a story, in the initial state
 *     # a comment
 *     VERB WORD... -> ANSWER       the verb's answer is ANSWER; "~>": contains ANSWER; "!>": does not contain it
 *     VERB WORD...                 the answer is ignored
 *
 * With STORIES_UPDATE=1 in the environment the present answers ("->") are written to the file. Review them.
 *
 * In words and answers "\n", "\r", "\s", "\t" and "\\" are line ends, a space, a tab and a backslash, and "\xff" is a
 * byte. No answer or an empty one is "(none)". */

#include "support/sources.h"
#include "support/testing.h"

enum { STORY_WORDS_MAX = 32 };

typedef struct StoryLine {
        Arena *arena;                 /* of the story */
        char *words[STORY_WORDS_MAX]; /* the verb first; ends with NULL */
        const char *rest;             /* the line after the verb */
} StoryLine;

typedef struct StoryVerb {
        const char *name;
        const char *(*perform)(void *context, const StoryLine *line);
} StoryVerb;

typedef struct StoryTeller {
        size_t size; /* of the context, which begins with the story's arena; the rest is 0 at first */
        void (*begin)(void *context); /* these may be NULL */
        void (*end)(void *context);
        void (*check)(void *context); /* after each line */
        const StoryVerb *verbs;
        size_t n_verbs;
        /* Performs all other verbs. Their answer is `silent`, unless the line has another one; NULL: any. */
        const char *(*otherwise)(void *context, const StoryLine *line);
        const char *silent;
} StoryTeller;

/* PATH: below tests/, without ".stories". */
void story_tell(const char *path, const StoryTeller *teller);

/* A test of stories whose lines are independent, so that the verbs need no context. */
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

/* The I-th word as a number; "any": UINT64_MAX; no such word: 0. */
uint64_t story_number_at(const StoryLine *line, size_t i);

/* Replaces "\n", "\s" and the like. */
char *story_unescape(Arena *arena, const char *text);

/* The line after the I-th word, unescaped. */
char *story_text(const StoryLine *line, size_t i);

/* Performs "file PATH TEXT" and "link PATH TARGET", which add or replace one of FILES, "unreadable PATH", which makes it
 * unreadable, and "no-file PATH", which removes it. FILES as for test_files_count(). The answer is NULL. */
const char *story_change_files(const StoryLine *line, TestFile *files, size_t n_max);

/* The words from the I-th one on, unescaped, one per line. */
char *story_lines(const StoryLine *line, size_t i);
