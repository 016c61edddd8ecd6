/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "plan/attempt.h"

#include "support/testing.h"

static const Attempt compaction = {
        .node = 1,
        .page_size_bytes = 2 * MIB,
        .record = {.action = ESCALATION_COMPACT,
                   .pages_before = 355,
                   .pages_after = 357,
                   .usec = 120000,
                   .error = -EIO},
};

TEST(attempt_text) {
        Attempt attempt = compaction;

        assert_text(attempt_format(arena, &attempt),
                    "node 1, 2M: compact: 355 -> 357 pages in 120ms: Input/output error");
        attempt.record.error = 0;
        assert_text(attempt_format(arena, &attempt),
                    "node 1, 2M: compact: 355 -> 357 pages in 120ms");
}

/* Of a daemon that any client asks. */
TEST(round_trip) {
        json_t *json = attempt_to_json(&compaction);
        Attempt read;

        assert_int_equal(attempt_from_json(json, &read), 0);
        assert_text(attempt_format(arena, &read), attempt_format(arena, &compaction));
        json_decref(json);
}

TEST(no_attempt) {
        static const char *const keys[] = {"node",       "pageSizeBytes", "action", "pagesBefore",
                                           "pagesAfter", "durationUSec",  "errno"};
        Attempt read;

        for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
                json_t *json = attempt_to_json(&compaction);

                json_object_del(json, keys[i]);
                assert_int_equal(attempt_from_json(json, &read), -EPROTO);
                json_decref(json);
        }
        json_t *json = attempt_to_json(&compaction);

        json_object_set_new(json, "action", json_string("pray"));
        assert_int_equal(attempt_from_json(json, &read), -EPROTO);
        json_decref(json);
}
