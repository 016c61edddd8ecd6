/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Documents: whatever a text holds, it stays a text. tests/run_report.py parses whole pages. */

#include "render/report/document.h"
#include "support/testing.h"

#define EVIL "<script>alert(\"1\")</script> & 'x' | `rm` *b* _i_ [a](b) \033[1m\n# no"

/* The same in every place that takes a text. */
static const Document *document_of(Arena *arena, const char *text) {
        Document *document = ARENA_NEW(arena, Document);

        *document = (Document){.title = text, .verdict = text, .sentence = text, .footer = text};
        *vec_push(arena, &document->facts) = (DocFact){text, text, text};
        *vec_push(arena, &document->figures) = (DocFact){text, text, text};
        DocSection *section = document_add_section(arena, document, "one", text);
        DocTable *table = section_add_table(arena, section, text, "Name|>Pages");

        doc_table_add_cell(arena, table, &(DocCell){text, text, DOC_BAD});
        doc_table_add(arena, table, text);
        section_add_item(arena, section,
                         &(DocItem){.label = text, .text = text, .note = text, .remedy = text});
        section_add_paragraph(arena, section, text);
        DocBars *bars = section_add_bars(arena, section, &(DocBars){.name = text, .rest = text});
        DocBar *bar = vec_push(arena, &bars->list);

        *bar = (DocBar){.group = text, .name = text, .text = text, .whole = 8};
        *vec_push(arena, &bar->parts) = (DocPart){3, DOC_USED};
        return document;
}

static size_t count_of(const char *text, const char *part) {
        size_t n = 0;

        for (; (text = strstr(text, part)); text += strlen(part))
                n++;
        return n;
}

static void test_html_escapes(void **state) {
        const char *html = document_to_html(*state, document_of(*state, EVIL));

        assert_null(strstr(html, "<script"));
        assert_null(strchr(html, '\033'));
        assert_contains(html,
                        "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#39;x&#39; | "
                        "`rm` *b* _i_ [a](b) ?[1m?# no");
        /* What is a text is one in attributes, too. */
        assert_contains(html, "aria-label=\"&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;");
        assert_int_equal(count_of(html, "<svg "), count_of(html, "</svg>"));
}

static void test_markdown_escapes(void **state) {
        const char *text = document_to_markdown(*state, document_of(*state, EVIL));

        assert_contains(text,
                        "# \\<script>alert(\"1\")\\</script> & 'x' \\| \\`rm\\` \\*b\\* \\_i\\_ "
                        "\\[a](b) ?\\[1m?# no\n");
        assert_contains(text, "| **\\<script>");
        /* The only lines that begin with backticks are those of the block of bars. */
        assert_int_equal(count_of(text, "\n```\n"), 2);
        assert_int_equal(count_of(text, "`rm"), count_of(text, "\\`rm"));
}

/* What means nothing where it stands is left readable. */
static void test_markdown_is_readable(void **state) {
        static const char *const plain[] = {"huge_pages=try",
                                            "1.5G",
                                            "0:541 1:540",
                                            "a & b",
                                            "-",
                                            "/etc/hugeplan.d/20-pg.conf:3",
                                            "+64",
                                            "-64"};
        static const char *const special[][2] = {
                {"# a", "\\# a"},           {"- a", "\\- a"},         {"---", "\\---"},
                {"> a", "\\> a"},           {"1. a", "1\\. a"},       {"&lt;", "\\&lt;"},
                {"_a_", "\\_a\\_"},         {"a\\x2db", "a\\\\x2db"}, {"12)", "12\\)"},
                {"~~a~~", "\\~\\~a\\~\\~"},
        };

        ARRAY_FOREACH(text, plain, ARRAY_LEN(plain)) {
                const Document document = {
                        .title = *text, .verdict = "", .sentence = "", .footer = ""};

                assert_contains(document_to_markdown(*state, &document),
                                arena_printf(*state, "# %s\n", *text));
        }
        ARRAY_FOREACH(pair, special, ARRAY_LEN(special)) {
                const Document document = {
                        .title = (*pair)[0], .verdict = "", .sentence = "", .footer = ""};

                assert_contains(document_to_markdown(*state, &document),
                                arena_printf(*state, "# %s\n", (*pair)[1]));
        }
}

static void test_not_utf8(void **state) {
        const Document *document = document_of(*state, "a\xff\xc3z\xc2\x9b.");

        assert_contains(document_to_html(*state, document), "<h1>a??z??.</h1>");
        assert_contains(document_to_markdown(*state, document), "# a??z??.\n");
}

/* What there is of something is seen, and nothing is drawn beyond the end. */
static void test_bars(void **state) {
        Document document = {.title = "", .verdict = "", .sentence = "", .footer = ""};
        DocSection *section = document_add_section(*state, &document, "one", "One");
        DocBars *bars = section_add_bars(*state, section, &(DocBars){.name = "x"});
        static const uint64_t parts[][2] = {{1, 1 << 20}, {(1 << 20) - 1, 1}, {0, 0}};

        ARRAY_FOREACH(pair, parts, ARRAY_LEN(parts)) {
                DocBar *bar = vec_push((Arena *) *state, &bars->list);

                *bar = (DocBar){.group = "", .name = "a", .text = "b", .whole = 1 << 20};
                *vec_push((Arena *) *state, &bar->parts) = (DocPart){(*pair)[0], DOC_INSTANCES};
                *vec_push((Arena *) *state, &bar->parts) = (DocPart){(*pair)[1], DOC_OTHERS};
        }
        const char *html = document_to_html(*state, &document);

        assert_contains(html, "<rect class=\"instances\" x=\"0\" width=\"3\" height=\"10\">");
        assert_contains(html, "<rect class=\"others\" x=\"997\" width=\"3\" height=\"10\">");
        assert_int_equal(count_of(html, "class=\"instances\" x="), 2);
        assert_null(strstr(html, "legend\""));
}

TEST_FILE(document) {
        const struct CMUnitTest tests[] = {TEST(test_html_escapes), TEST(test_markdown_escapes),
                                           TEST(test_markdown_is_readable), TEST(test_not_utf8),
                                           TEST(test_bars)};

        return RUN_TESTS(tests);
}
