/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The page of a report: no text in the JSON ends the element around it. tests/run_report.py runs the script of whole
 * pages. */

#include "render/views.h"
#include "support/testing.h"

#define BEGIN "<p>before</p><script type=\"application/json\" id=\"report\">"
#define END   "</script><script>1</script>"

/* The content of the element, which is complete. */
static char *data_of(Arena *arena, const json_t *json) {
        const char *page = report_to_page(arena, BEGIN "null" END, json);
        size_t length;

        assert_non_null(page);
        length = strlen(page) - strlen(BEGIN) - strlen(END);
        assert_memory_equal(page, BEGIN, strlen(BEGIN));
        assert_text(page + strlen(BEGIN) + length, END);
        return arena_strndup(arena, page + strlen(BEGIN), length);
}

static void check_text(Arena *arena, const char *text, size_t length) {
        json_t *json = json_pack("{so}", "text", json_stringn_nocheck(text, length));
        const char *data = data_of(arena, json);
        json_t *again = json_loads(data, JSON_ALLOW_NUL, NULL);

        assert_null(strpbrk(data, "<>&"));
        for (const char *at = data; *at; at++)
                assert_true(*at >= ' ' && *at <= 0x7F);
        assert_true(json_equal(json, again));
        json_decref(again);
        json_decref(json);
}

TEST(hostile_texts) {
        static const char *const texts[] = {
                "</script>",           "</SCRIPT ><script>alert(1)</script>",
                "<!--<script>",        "-->",
                "]]>&lt;/script&gt;&", "\"}</script>",
                "\\u003c/script>",     "\\",
                "\u2028\u2029\u202e",  "\U0001F4A9 ä",
                "\x01\x1f\x7f\n",
        };

        for (size_t i = 0; i < ARRAY_LEN(texts); i++)
                check_text(arena, texts[i], strlen(texts[i]));
        check_text(arena, "a\0</script>", 11);
}

/* Texts of pieces with a meaning in HTML or JSON, in any order. */
TEST(random_texts) {
        static const char *const pieces[] = {"<",  "</", "script", ">", "!--", "--", "&",
                                             "\\", "\"", "\\u",    "/", "\n",  "ä",  " "};
        unsigned seed = 4711;

        for (size_t i = 0; i < 2000; i++) {
                Text text = text_in(arena);

                for (size_t n = 1 + (size_t) rand_r(&seed) % 12; n > 0; n--)
                        text_add(&text, pieces[(size_t) rand_r(&seed) % ARRAY_LEN(pieces)]);
                check_text(arena, text.string, text.length);
        }
}

TEST(no_template) {
        json_t *json = json_object();

        assert_null(report_to_page(arena, "", json));
        assert_null(report_to_page(arena, "<script id=\"report\"></script>", json));
        assert_null(report_to_page(arena, BEGIN "null", json));
        assert_null(report_to_page(arena, BEGIN "null" END, NULL));
        json_decref(json);
}
