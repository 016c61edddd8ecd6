/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Text: a growing string in an arena; and functions on strings. */

#include "base/arena.h"

typedef struct Text {
        Arena *arena;
        char *string; /* NUL-terminated; NULL until something is added */
        size_t length;
        size_t capacity;
} Text;

static inline Text text_in(Arena *arena) {
        return (Text){.arena = arena};
}

void text_add(Text *text, const char *string);
/* Adds ITEM to a list, with ", " before each item but the first. */
void text_add_item(Text *text, const char *item);
/* Adds WORD, with a space before each word but the first; NULL adds nothing. */
void text_add_word(Text *text, const char *word);
void text_add_n(Text *text, const char *bytes, size_t length);
void text_printf(Text *text, const char *format, ...) PRINTF_LIKE(2, 3);
void text_repeat(Text *text, char byte, size_t n);

/* Returns the string so far, or "" if nothing was added. */
const char *text_string(const Text *text);

/* Breaks PARAGRAPH at spaces so that no line is wider than WIDTH columns. The first line starts with FIRST, every other
 * with INDENT; every line ends with a newline. Text that is already in the current line counts. */
void text_add_wrapped(Text *text, const char *first, const char *indent, const char *paragraph,
                      size_t width);

/* Returns the columns of a UTF-8 string on a terminal: one per code point (hugeplan prints no wide characters). */
size_t text_width(const char *string);

/* Returns whether BYTES are valid UTF-8 without NUL (RFC 3629: no surrogates, no overlong forms, up to U+10FFFF). */
bool text_is_utf8(const char *bytes, size_t length);

/* Copies untrusted text for a log line, a terminal or a comment: each byte of a character that ends the line, moves the
 * cursor, changes the direction of writing, is invisible, or breaks JSON is replaced by "?". Printable text is copied
 * unchanged. */
char *text_printable(Arena *arena, const char *string);

/* Does the same, and shortens the copy at a character, with "...", if it is longer than MAX bytes (at least 4). */
char *text_excerpt(Arena *arena, const char *string, size_t max);

/* Quotes untrusted text in a message: `WHOSE: "WORDS"`, with WORDS printable, of at most QUOTE_BYTES_MAX, and without
 * double quotes, so that the end of the quotation is clear. */
char *text_quote(Arena *arena, const char *whose, const char *words);
enum { QUOTE_BYTES_MAX = 200 };

bool text_equals(const char *a, const char *b); /* NULL only equals NULL */
int text_compare(const void *a, const void *b); /* of strings, for qsort(3) */
/* Returns the index of STRING in N NAMES, some of which may be NULL; -EINVAL: it is not among them. */
int text_index(const char *const *names, size_t n, const char *string);

/* Whether WORD is one of the following words. */
#define TEXT_IS_ANY(word, ...)                          \
        (text_index((const char *const[]){__VA_ARGS__}, \
                    ARRAY_LEN(((const char *const[]){__VA_ARGS__})), (word)) >= 0)

/* Sets the enumeration *RET to the index of NAME in NAMES, an array. Returns 0, or -EINVAL. */
#define TEXT_TO_ENUM(names, name, ret)                                      \
        ({                                                                  \
                int index_ = text_index((names), ARRAY_LEN(names), (name)); \
                if (index_ >= 0)                                            \
                        *(ret) = (typeof(*(ret))) index_;                   \
                index_ < 0 ? -EINVAL : 0;                                   \
        })

/* FNV-1a, 64 bits, over several strings one after another, beginning with TEXT_FOLD_START: distinguishes texts, but
 * does not protect against forgery. */
#define TEXT_FOLD_START UINT64_C(0xcbf29ce484222325)
uint64_t text_fold(uint64_t hash, const char *string);

static inline bool text_is_digit(char c) {
        return c >= '0' && c <= '9';
}

bool text_starts_with(const char *string, const char *prefix);

/* Returns whether the path INNER is OUTER or lies below it. OUTER has no "/" at its end; "" is the root directory. */
bool text_is_within(const char *inner, const char *outer);

bool text_ends_with(const char *string, const char *suffix);

/* Returns whether WORD is one of the words of STRING, which are separated by whitespace or line ends. */
bool text_has_word(const char *string, const char *word);

/* Returns whether NAME matches PATTERNS of glob(7), "*mysqld* !*export*": the last match decides. NULL: no patterns. */
bool text_fits(const char *patterns, const char *name);

/* Copies PATH without trailing slashes, except for "/" itself. */
char *text_without_slashes(Arena *arena, const char *path);

/* Returns the part of PATH after the last slash, or all of PATH. */
const char *text_base_name(const char *path);

/* Returns the number of insertions, deletions and replacements of bytes that turn A into B (Levenshtein); SIZE_MAX if
 * either is longer than 255. */
size_t text_distance(const char *a, const char *b);

/* Finds the name most similar to WORD: start with {word, distance_max}, then call near_miss_try() for each name. */
typedef struct NearMiss {
        const char *word;
        size_t distance;  /* the maximum, then that of `name` */
        const char *name; /* NULL: none is similar */
} NearMiss;

/* Takes NAME if it is nearer than the names before, and no more than half of the word differs. */
void near_miss_try_at(NearMiss *miss, const char *name, size_t distance);
void near_miss_try(NearMiss *miss, const char *name);

/* Copies STRING without leading and trailing whitespace. */
char *text_strip(Arena *arena, const char *string);

/* Takes the next word, separated by any byte of SEPARATORS, off *STRING; returns NULL if none is left. */
char *text_next_word(Arena *arena, const char **string, const char *separators);

/* Walks the words of STRING; NULL has none. */
#define TEXT_FOREACH(word, arena, string, separators)      \
        for (const char *rest_of_##word = (string), *word; \
             rest_of_##word && (word = text_next_word((arena), &rest_of_##word, (separators)));)
