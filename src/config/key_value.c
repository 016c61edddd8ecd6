/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config/key_value.h"

#include "base/size.h"
#include "base/text.h"

int key_value_word(const char *value, const char *const *words, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (text_equals(value, words[i]))
                        return (int) i;
        return -1;
}

const char *key_value_refuse(KeyTarget *target, const char *value) {
        return arena_printf(target->arena, "'%s' is not valid here", value);
}

const char *key_value_boolean(KeyTarget *target, const char *value, bool *ret) {
        return parse_boolean(value, ret) < 0 ? key_value_refuse(target, value) : NULL;
}

const char *key_value_duration(KeyTarget *target, const char *value, uint64_t *ret) {
        return parse_duration_usec(value, ret) < 0 ? key_value_refuse(target, value) : NULL;
}

const char *key_value_size(KeyTarget *target, const char *value, uint64_t *ret) {
        uint64_t bytes;
        int r = parse_size_bytes(value, &bytes);

        if (r == -ERANGE)
                return arena_printf(target->arena, "'%s' is more than can be counted", value);
        if (r < 0)
                return key_value_refuse(target, value);
        if (bytes == 0)
                return "nothing is asked for";
        *ret = bytes;
        return NULL;
}

const char *key_value_text(KeyTarget *target, const char *value, const char **ret) {
        *ret = arena_strdup(target->arena, value);
        return NULL;
}

const char *key_value_path(KeyTarget *target, const char *value, const char **ret) {
        if (*value != '/')
                return arena_printf(target->arena, "'%s' is no absolute path", value);
        return key_value_text(target, value, ret);
}

const char *key_value_words(KeyTarget *target, const char *value, KeySetter set_word) {
        const char *rest = value, *wrong = key_value_refuse(target, value);
        char *word;

        while ((word = text_next_word(target->arena, &rest, ", "))) {
                wrong = set_word(target, word);
                if (wrong)
                        break;
        }
        return wrong;
}
