/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is written is what jansson writes: compact, byte for byte. */

#include "base/json.h"
#include "support/testing.h"

#include "base/text.h"

#include <string.h>

static int add_bytes(const char *bytes, size_t n, void *text) {
        text_add_n(text, bytes, n);
        return 0;
}

static void assert_written(void **state, json_t *json) {
        Text text = text_in(*state);
        char *expected = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);

        assert_int_equal(json_write(json, add_bytes, &text), 0);
        assert_text(text_string(&text), expected);
        free(expected);
        json_decref(json);
}

static void test_values(void **state) {
        assert_written(state, json_object());
        assert_written(state, json_array());
        assert_written(state, json_null());
        assert_written(state, json_string(""));
        assert_written(state, json_real(0.25));
        assert_written(state, json_integer(INT64_MIN));
        assert_written(state, json_integer(INT64_MAX));
        assert_written(state, json_integer(0));
        assert_written(state,
                       json_pack("{s[bbniI]s{s{}}ss}", "list", 1, 0, -17, (json_int_t) 1 << 40,
                                 "object", "empty", "key \"with\" quotes", "value"));
}

/* All bytes that have an escape, and those around them; UTF-8 stays as it is. */
static void test_strings(void **state) {
        char bytes[127];

        for (size_t i = 0; i < sizeof(bytes); i++)
                bytes[i] = (char) (i + 1);
        assert_written(state, json_stringn(bytes, sizeof(bytes)));
        assert_written(state, json_stringn("a\0b", 3));
        assert_written(state, json_string("Größe \xe2\x86\x92 \xf0\x9f\x90\x98"));
}

/* Longer than what is gathered before it is handed on, at every remainder. */
static void test_long(void **state) {
        char text[2100];

        memset(text, 'x', sizeof(text));
        for (size_t n = 1000; n < sizeof(text); n += 7) {
                json_t *list = json_pack("[s#i]", text, (int) n, 7);

                assert_written(state, list);
        }
}

static int refuse(const char *bytes UNUSED, size_t n UNUSED, void *n_calls) {
        ++*(unsigned *) n_calls;
        return -1;
}

/* Who cannot take it is asked once. */
static void test_failure(void **state UNUSED) {
        char text[5000] = "";
        unsigned n_calls = 0;

        memset(text, 'x', sizeof(text) - 1);
        json_t *json = json_pack("[sfs]", text, 1.5, text);

        assert_int_equal(json_write(json, refuse, &n_calls), -1);
        assert_int_equal(n_calls, 1);
        json_decref(json);
}

TEST_FILE(json) {
        const struct CMUnitTest tests[] = {
                TEST(test_values),
                TEST(test_strings),
                TEST(test_long),
                TEST(test_failure),
        };

        return RUN_TESTS(tests);
}
