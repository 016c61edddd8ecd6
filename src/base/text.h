/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Text: a growing string in an arena, and questions about strings. */

#include "base/arena.h"

typedef struct Text {
        Arena *arena;
        char *string; /* always NUL-terminated once something was added, else NULL */
        size_t length;
        size_t capacity;
} Text;

static inline Text text_in(Arena *arena) {
        return (Text){.arena = arena};
}

void text_add(Text *text, const char *string);
/* Adds to a list: ", " before each ITEM but the first. */
void text_add_item(Text *text, const char *item);
/* The same with a space; NULL is none. */
void text_add_word(Text *text, const char *word);
void text_add_n(Text *text, const char *bytes, size_t length);
void text_printf(Text *text, const char *format, ...) PRINTF_LIKE(2, 3);
void text_repeat(Text *text, char byte, size_t n);

/* The string so far; "" when nothing was added. */
const char *text_string(const Text *text);

/* Breaks PARAGRAPH at spaces so that no line is wider than WIDTH columns. The first line starts
 * with FIRST, every other with INDENT; every line ends with a newline. What stands in the line
 * already counts. */
void text_add_wrapped(Text *text, const char *first, const char *indent, const char *paragraph,
                      size_t width);

/* Columns that a UTF-8 string takes on a terminal: one per code point (no wide characters are
 * printed by hugeplan). */
size_t text_width(const char *string);

/* Valid UTF-8 without NUL (RFC 3629: no surrogates, no overlong forms, up to U+10FFFF). */
bool text_is_utf8(const char *bytes, size_t length);

/* A copy of what strangers wrote, for a line of a log, a terminal, a comment: nothing in it ends the line, moves the
 * cursor, turns the direction of writing, is there without being seen, or breaks JSON; "?" stands for each of its bytes
 * instead. What is printable comes back as it was. */
char *text_printable(Arena *arena, const char *string);

/* The same, cut off at a character with "..." where it would be longer than MAX bytes (4 at least). */
char *text_excerpt(Arena *arena, const char *string, size_t max);

/* What others say, in a sentence of ours: `WHOSE: "WORDS"`, with WORDS printable, of QUOTE_BYTES_MAX at most, and
 * without quotation marks of their own, so that it shows where they end. */
char *text_quote(Arena *arena, const char *whose, const char *words);
enum { QUOTE_BYTES_MAX = 200 };

bool text_equals(const char *a, const char *b); /* NULL equals NULL only */
int text_compare(const void *a, const void *b); /* for qsort(3) of strings */
/* The index of STRING among N NAMES, some of which may be NULL; -EINVAL: it is none. */
int text_index(const char *const *names, size_t n, const char *string);

/* Whether WORD is one of those that follow. */
#define TEXT_IS_ANY(word, ...)                          \
        (text_index((const char *const[]){__VA_ARGS__}, \
                    ARRAY_LEN(((const char *const[]){__VA_ARGS__})), (word)) >= 0)

/* Sets the enumeration *RET to the place of NAME in NAMES, an array. 0, or -EINVAL. */
#define TEXT_TO_ENUM(names, name, ret)                                      \
        ({                                                                  \
                int index_ = text_index((names), ARRAY_LEN(names), (name)); \
                if (index_ >= 0)                                            \
                        *(ret) = (typeof(*(ret))) index_;                   \
                index_ < 0 ? -EINVAL : 0;                                   \
        })

/* FNV-1a, 64 bits, over one string after the other, beginning with TEXT_FOLD_START: to tell texts from each
 * other, not against forgery. */
#define TEXT_FOLD_START UINT64_C(0xcbf29ce484222325)
uint64_t text_fold(uint64_t hash, const char *string);

static inline bool text_is_digit(char c) {
        return c >= '0' && c <= '9';
}

bool text_starts_with(const char *string, const char *prefix);
bool text_ends_with(const char *string, const char *suffix);

/* Whether WORD is one of the words of STRING, which whitespace and line ends separate. */
bool text_has_word(const char *string, const char *word);

/* Whether NAME fits the PATTERNS of glob(7), "*mysqld* !*export*": the last that fits counts. NULL: there are none. */
bool text_fits(const char *patterns, const char *name);

/* A copy of PATH without slashes at its end, but for that of "/". */
char *text_without_slashes(Arena *arena, const char *path);

/* What stands behind the last slash of PATH, or all of it. */
const char *text_base_name(const char *path);

/* How many insertions, deletions and replacements of bytes turn A into B (Levenshtein); SIZE_MAX where
 * either is longer than 255. */
size_t text_distance(const char *a, const char *b);

/* What WORD was most likely meant to be: {word, distance_max}, then near_miss_try() for each name there is. */
typedef struct NearMiss {
        const char *word;
        size_t distance;  /* at most, and then that of the name */
        const char *name; /* NULL: none is near */
} NearMiss;

/* NAME counts where it is nearer than those before, and enough of it is the same: short names are all near to
 * each other. */
void near_miss_try_at(NearMiss *miss, const char *name, size_t distance);
void near_miss_try(NearMiss *miss, const char *name);

/* A copy without leading and trailing whitespace. */
char *text_strip(Arena *arena, const char *string);

/* Takes the next word, separated by any byte of SEPARATORS, off *STRING; NULL when none is left. */
char *text_next_word(Arena *arena, const char **string, const char *separators);
