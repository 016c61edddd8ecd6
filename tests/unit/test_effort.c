/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "plan/effort.h"

#include "support/testing.h"

static const Effort compaction = {
        .node = 1,
        .page_size_bytes = 2 * MIB,
        .record = {.action = LADDER_COMPACT,
                   .pages_before = 355,
                   .pages_after = 357,
                   .usec = 120000,
                   .error = -EIO},
};

static void test_said(void **state) {
        Effort effort = compaction;

        assert_text(effort_format(*state, &effort),
                    "node 1, 2M: compact: 355 -> 357 pages in 120ms: Input/output error");
        effort.record.error = 0;
        assert_text(effort_format(*state, &effort),
                    "node 1, 2M: compact: 355 -> 357 pages in 120ms");
}

/* Of a daemon for whoever asks it. */
static void test_round_trip(void **state) {
        json_t *json = effort_to_json(&compaction);
        Effort read;

        assert_int_equal(effort_from_json(json, &read), 0);
        assert_text(effort_format(*state, &read), effort_format(*state, &compaction));
        json_decref(json);
}

static void test_no_effort(void **state) {
        static const char *const keys[] = {"node",       "pageSizeBytes", "action", "pagesBefore",
                                           "pagesAfter", "durationUSec",  "errno"};
        Effort read;

        (void) state;
        for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
                json_t *json = effort_to_json(&compaction);

                json_object_del(json, keys[i]);
                assert_int_equal(effort_from_json(json, &read), -EPROTO);
                json_decref(json);
        }
        json_t *json = effort_to_json(&compaction);

        json_object_set_new(json, "action", json_string("pray"));
        assert_int_equal(effort_from_json(json, &read), -EPROTO);
        json_decref(json);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(test_said),
                TEST(test_round_trip),
                TEST(test_no_effort),
        };

        return RUN_TESTS(tests);
}
