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
        const char *file;  /* with the test of the stories */
        const char *words; /* the verb's names, separated by spaces */
        const char *(*perform)(void *context, const StoryLine *line);
} StoryVerb;

typedef struct StoryTeller {
        const char *file; /* whose verbs the stories have */
        size_t size; /* of the context, which begins with the story's arena; the rest is 0 at first; 0: no context */
        void (*begin)(void *context); /* these may be NULL */
        void (*end)(void *context);
        void (*check)(void *context); /* after each line */
        /* Performs all other verbs. Their answer is `silent`, unless the line has another one; NULL: any. */
        const char *(*otherwise)(void *context, const StoryLine *line);
        const char *silent;
} StoryTeller;

void story_register(const StoryVerb *verb);

/* PATH: below tests/, without ".stories". */
void story_tell(const char *path, const StoryTeller *teller);

/* A function that performs the verbs WORDS in the stories of this file, whose context is PARAMETER. Verbs register
 * themselves before main(). */
#define STORY_VERB(name, words, Type, parameter)                                  \
        static const char *name(Type *parameter, const StoryLine *line);          \
        static const char *perform_##name(void *context, const StoryLine *line) { \
                return name(context, line);                                       \
        }                                                                         \
        __attribute__((constructor)) static void register_##name(void) {          \
                static const StoryVerb verb = {__FILE__, words, perform_##name};  \
                                                                                  \
                story_register(&verb);                                            \
        }                                                                         \
        static const char *name(Type *parameter UNUSED, const StoryLine *line UNUSED)

/* Of stories whose lines are independent. */
#define PLAIN_VERB(name, words) STORY_VERB(name, words, void, context)

/* A test of stories. The arguments after PATH are members of the StoryTeller. */
#define STORY_TEST(name, path, ...)                                                \
        TEST(name) {                                                               \
                static const StoryTeller teller = {.file = __FILE__, __VA_ARGS__}; \
                                                                                   \
                story_tell(path, &teller);                                         \
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
