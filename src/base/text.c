/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/text.h"

#include "base/vec.h"

#include <string.h>

static void text_reserve(Text *text, size_t more) {
        size_t needed = text->length + more + 1;

        if (needed <= text->capacity)
                return;
        size_t capacity = MAX(needed, MAX(text->capacity * 2, (size_t) 128));
        char *string = arena_alloc(text->arena, capacity);

        if (text->length > 0)
                memcpy(string, text->string, text->length);
        text->string = string;
        text->capacity = capacity;
}

void text_add_n(Text *text, const char *bytes, size_t length) {
        text_reserve(text, length);
        if (length > 0)
                memcpy(text->string + text->length, bytes, length);
        text->length += length;
        text->string[text->length] = '\0';
}

void text_add(Text *text, const char *string) {
        text_add_n(text, string, strlen(string));
}

void text_add_item(Text *text, const char *item) {
        if (text->length > 0)
                text_add(text, ", ");
        text_add(text, item);
}

void text_printf(Text *text, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        char *string = arena_vprintf(text->arena, format, arguments);

        va_end(arguments);
        text_add(text, string);
}

const char *text_string(const Text *text) {
        return text->string ? text->string : "";
}

/* Returns the length of the well-formed sequence at BYTES, or 0 if there is none. */
static size_t utf8_sequence(const unsigned char *bytes, size_t left, uint32_t *ret_point) {
        static const uint32_t least[] = {0, 1, 0x80, 0x800, 0x10000}; /* by length */
        static const unsigned char end[] = {0, 0x80, 0xE0, 0xF0, 0xF8};
        size_t length = 1;

        while (length < ARRAY_LEN(end) && bytes[0] >= end[length])
                length++;
        if (length == ARRAY_LEN(end) || length > left || (bytes[0] & 0xC0) == 0x80)
                return 0;
        *ret_point = length == 1 ? bytes[0] : bytes[0] & (0x7FU >> length);
        for (size_t i = 1; i < length; i++) {
                if ((bytes[i] & 0xC0) != 0x80)
                        return 0;
                *ret_point = *ret_point << 6 | (bytes[i] & 0x3F);
        }
        return *ret_point < least[length] || *ret_point > 0x10FFFF || (*ret_point >> 11) == 0x1B
                       ? 0 /* overlong, beyond the last code point, or a surrogate */
                       : length;
}

/* Fast path: nearly all bytes are printable ASCII. */
static inline bool is_plain(unsigned char byte) {
        return byte >= ' ' && byte <= '~';
}

bool text_is_utf8(const char *bytes, size_t length) {
        const unsigned char *at = (const unsigned char *) bytes;
        uint32_t point;

        for (size_t n; length > 0; at += n, length -= n)
                if ((n = is_plain(*at) ? 1 : utf8_sequence(at, length, &point)) == 0)
                        return false;
        return true;
}

/* Returns whether POINT is invisible, or changes how other characters are shown: controls, marks that change the
 * direction of writing or join nothing, line and paragraph separators, tags. */
static bool is_unseen(uint32_t point) {
        static const uint32_t ranges[][2] = {
                {0x01, 0x1F},     {0x7F, 0x9F},     {0xAD, 0xAD},       {0x61C, 0x61C},
                {0x180E, 0x180E}, {0x200B, 0x200F}, {0x2028, 0x202E},   {0x2060, 0x206F},
                {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE007F},
        };

        return ARRAY_ANY(range, ranges, ARRAY_LEN(ranges),
                         point >= (*range)[0] && point <= (*range)[1]);
}

char *text_printable(Arena *arena, const char *string) {
        size_t left = strlen(string), n = 1;
        bool is_utf8 = text_is_utf8(string, left);
        char *copy = arena_strdup(arena, string);
        unsigned char *at = (unsigned char *) copy;

        for (uint32_t point = 0; left > 0; at += n, left -= n) {
                n = 1;
                if (is_plain(*at))
                        continue;
                if (is_utf8)
                        n = utf8_sequence(at, left, &point);
                if (is_utf8 ? is_unseen(point) : *at >= 0x80 || is_unseen(*at))
                        memset(at, '?', n);
        }
        return copy;
}

char *text_excerpt(Arena *arena, const char *string, size_t max) {
        char *copy = text_printable(arena, string);
        size_t end = max - strlen("...");

        if (strlen(copy) <= max)
                return copy;
        while (end > 0 && ((unsigned char) copy[end] & 0xC0) == 0x80)
                end--;
        strcpy(copy + end, "...");
        return copy;
}

bool text_equals(const char *a, const char *b) {
        return a && b ? *a == *b && strcmp(a, b) == 0 : a == b;
}

int text_index(const char *const *names, size_t n, const char *string) {
        for (size_t i = 0; i < n; i++)
                if (text_equals(names[i], string))
                        return (int) i;
        return -EINVAL;
}

int text_compare(const void *a, const void *b) {
        return strcmp(*(const char *const *) a, *(const char *const *) b);
}

uint64_t text_fold(uint64_t hash, const char *string) {
        do
                hash = (hash ^ (unsigned char) *string) * UINT64_C(0x100000001b3);
        while (*string++);
        return hash;
}

bool text_starts_with(const char *string, const char *prefix) {
        return (!*prefix || *string == *prefix) && strncmp(string, prefix, strlen(prefix)) == 0;
}

bool text_is_within(const char *inner, const char *outer) {
        return text_starts_with(inner, outer) &&
               (!inner[strlen(outer)] || inner[strlen(outer)] == '/');
}

bool text_ends_with(const char *string, const char *suffix) {
        size_t length = strlen(string), suffix_length = strlen(suffix);

        return length >= suffix_length && strcmp(string + length - suffix_length, suffix) == 0;
}

const char *text_base_name(const char *path) {
        const char *slash = strrchr(path, '/');

        return slash ? slash + 1 : path;
}

bool text_has_word(const char *string, const char *word) {
        static const char whitespace[] = " \t\r\n";
        size_t length = strcspn(word, whitespace);

        if (length == 0 || word[length])
                return false;
        for (const char *at = string; (at = strstr(at, word)); at++)
                if ((at == string || strchr(whitespace, at[-1])) && strchr(whitespace, at[length]))
                        return true;
        return false;
}

enum { DISTANCE_LENGTH_MAX = 255 };

/* Computes the matrix row by row. */
size_t text_distance(const char *a, const char *b) {
        size_t n = strlen(b), row[DISTANCE_LENGTH_MAX + 1];

        if (n > DISTANCE_LENGTH_MAX || strlen(a) > DISTANCE_LENGTH_MAX)
                return SIZE_MAX;
        for (size_t k = 0; k <= n; k++)
                row[k] = k;
        for (size_t i = 0; a[i]; i++) {
                size_t diagonal = row[0];

                row[0] = i + 1;
                for (size_t k = 0; k < n; k++) {
                        size_t replaced = diagonal + (a[i] != b[k]);

                        diagonal = row[k + 1];
                        row[k + 1] = MIN(replaced, MIN(row[k], row[k + 1]) + 1);
                }
        }
        return row[n];
}

void near_miss_try_at(NearMiss *miss, const char *name, size_t distance) {
        bool is_nearer = miss->name ? distance < miss->distance : distance <= miss->distance;

        if (is_nearer && distance + 1 < strlen(name) && distance * 2 <= strlen(miss->word)) {
                miss->name = name;
                miss->distance = distance;
        }
}

void near_miss_try(NearMiss *miss, const char *name) {
        near_miss_try_at(miss, name, text_distance(miss->word, name));
}

char *text_strip(Arena *arena, const char *string) {
        static const char whitespace[] = " \t\r\n";

        string += strspn(string, whitespace);
        size_t length = strlen(string);

        while (length > 0 && strchr(whitespace, string[length - 1]))
                length--;
        return arena_strndup(arena, string, length);
}

char *text_next_word(Arena *arena, const char **string, const char *separators) {
        *string += strspn(*string, separators);
        size_t length = strcspn(*string, separators);

        if (length == 0)
                return NULL;
        char *word = arena_strndup(arena, *string, length);

        *string += length;
        return word;
}
