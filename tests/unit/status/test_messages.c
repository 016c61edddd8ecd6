/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Every reason, problem and verdict that is logged has an identifier, and units/hugeplan.catalog explains exactly
 * these. */

#include "model/problem.h"
#include "status/history.h"

#include "support/testing.h"

enum { CATALOG_BYTES_MAX = 64 * 1024, PARAGRAPH_BYTES_MIN = 60 };

static char *read_catalog(Arena *arena) {
        char *text = arena_alloc(arena, CATALOG_BYTES_MAX);
        FILE *file = fopen(TEST_SOURCE_DIR "/../units/hugeplan.catalog", "re");

        assert_non_null(file);
        size_t size = fread(text, 1, CATALOG_BYTES_MAX - 1, file);

        fclose(file);
        assert_uint_in_range(size, 1, CATALOG_BYTES_MAX - 2);
        text[size] = '\0';
        return text;
}

/* The text of an entry, from the line after "-- ID" up to the next entry. */
static char *catalog_entry(Arena *arena, const char *catalog, const char *id) {
        const char *line = arena_printf(arena, "\n-- %s\n", id);
        const char *start = strstr(catalog, line) + strlen(line);
        const char *end = strstr(start, "\n-- ");

        assert_null(strstr(start, line));
        return end ? arena_strndup(arena, start, (size_t) (end - start) + 1)
                   : arena_strdup(arena, start);
}

static void assert_explained(const char *kind) {
        if (!message_find(kind))
                fail_msg("'%s' has no message identifier in units/hugeplan.catalog", kind);
}

TEST(every_reason_has_one) {
        for (int kind = REASON_NONE + 1; kind < REASON_KINDS; kind++)
                assert_explained(reason_id((ReasonKind) kind));
}

TEST(every_problem_has_one) {
        for (int kind = 0; kind < PROBLEM_KINDS; kind++) {
                assert_non_null(problem_id((ProblemKind) kind));
                assert_explained(problem_id((ProblemKind) kind));
        }
}

TEST(every_verdict_has_one) {
        for (int verdict = VERDICT_READY; verdict <= VERDICT_LOST; verdict++)
                for (int kind = REASON_NONE + 1; kind < REASON_KINDS; kind++)
                        assert_explained(message_kind(
                                &(StatusInstance){.verdict = (Verdict) verdict,
                                                  .reason = {.kind = (ReasonKind) kind}}));
        assert_explained(message_kind(&(StatusInstance){.verdict = VERDICT_READY}));
        assert_explained(message_kind(&(StatusInstance){.verdict = VERDICT_PENDING}));
}

TEST(every_event_has_one) {
        for (int event = HISTORY_PROBLEM; event <= HISTORY_GATE_REFUSED; event++) {
                const char *kind = history_events[event].kind;

                assert_non_null(history_events[event].name);
                if (kind)
                        assert_explained(kind);
        }
}

TEST(problems_have_families) {
        assert_text(message_find("config-syntax")->kind, "config");
        assert_text(message_find("thp-write")->kind, "thp-write");
        assert_null(message_find("thp-other"));
        assert_null(message_find("confi"));
        assert_null(message_find(""));
        assert_null(message_find(NULL));
}

static bool is_family_of(const Message *message, const char *kind) {
        return message_find(kind) == message;
}

static bool is_used(const Message *message) {
        for (int event = HISTORY_PROBLEM; event <= HISTORY_GATE_REFUSED; event++)
                if (text_equals(message->kind, history_events[event].kind))
                        return true;
        if (text_equals(message->kind, verdict_name(VERDICT_READY)) ||
            text_equals(message->kind, verdict_name(VERDICT_PENDING)))
                return true;
        for (int kind = REASON_NONE + 1; kind < REASON_KINDS; kind++)
                if (is_family_of(message, reason_id((ReasonKind) kind)))
                        return true;
        for (int kind = 0; kind < PROBLEM_KINDS; kind++)
                if (is_family_of(message, problem_id((ProblemKind) kind)))
                        return true;
        return false;
}

TEST(every_identifier_is_used) {
        for (size_t i = 0; i < n_messages; i++) {
                if (!is_used(&messages[i]))
                        fail_msg("nothing is logged as '%s'", messages[i].kind);
                assert_int_equal(strspn(messages[i].id, "0123456789abcdef"), 32);
                assert_int_equal(strlen(messages[i].id), 32);
                for (size_t k = 0; k < i; k++)
                        assert_string_not_equal(messages[i].id, messages[k].id);
        }
}

/* An entry has a subject, a pointer to documentation, and one or more paragraphs. */
static void assert_entry_is_complete(const char *kind, const char *entry) {
        static const char *const headers[] = {"Subject: ", "Defined-By: hugeplan\n",
                                              "Support: ", "Documentation: man:"};
        const char *at = entry, *paragraphs = strstr(entry, "\n\n");

        for (size_t i = 0; i < ARRAY_LEN(headers); i++) {
                if (!text_starts_with(at, headers[i]))
                        fail_msg("the catalogue's entry for '%s' lacks %s", kind, headers[i]);
                at = strchr(at, '\n') + 1;
        }
        assert_non_null(paragraphs);
        assert_ptr_equal(at, paragraphs + 1);
        if (strlen(paragraphs) < PARAGRAPH_BYTES_MIN)
                fail_msg("the catalogue's entry for '%s' explains nothing", kind);
}

TEST(every_identifier_is_explained) {
        const char *catalog = read_catalog(arena);

        for (size_t i = 0; i < n_messages; i++) {
                assert_entry_is_complete(messages[i].kind,
                                         catalog_entry(arena, catalog, messages[i].id));
        }
}
