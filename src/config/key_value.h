/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Kinds of values that several keys take. What sets one returns NULL, or a sentence on what is wrong with it;
 * *RET is then as it was. */

#include "config/config_keys.h"

/* The sentence where there is no more to say. */
const char *key_value_refuse(KeyTarget *target, const char *value);

const char *key_value_boolean(KeyTarget *target, const char *value, bool *ret);
const char *key_value_duration(KeyTarget *target, const char *value, uint64_t *ret);
const char *key_value_size(KeyTarget *target, const char *value, uint64_t *ret); /* not 0 */
const char *key_value_text(KeyTarget *target, const char *value, const char **ret);
const char *key_value_path(KeyTarget *target, const char *value, const char **ret);

/* Sets every word of a list; a list without any is none. */
const char *key_value_words(KeyTarget *target, const char *value, KeySetter set_word);

/* A word of a list: its place in WORDS, or -1. */
int key_value_word(const char *value, const char *const *words, size_t n);

#define KEY_VALUE_WORD(value, ...)                                  \
        key_value_word((value), (const char *const[]){__VA_ARGS__}, \
                       ARRAY_LEN(((const char *const[]){__VA_ARGS__})))
