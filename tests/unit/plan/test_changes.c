/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The reported changes of a reload. */

#include "plan/changes.h"

#include "base/size.h"
#include "support/story.h"

/* "a 2M=0:10 1:5": instances by name, size and grants. */
static Ledger *ledger_of(Arena *arena, const char *text) {
        Ledger *ledger = ledger_new(arena, "boot");
        const char *line;

        while ((line = text_next_word(arena, &text, "\n"))) {
                const Running one =
                        running_make(arena, text_starts_with(line, "hold ")
                                                    ? line
                                                    : arena_printf(arena, "hold x %s\n", line));

                if (text_starts_with(line, "hold "))
                        *vec_push(arena, &ledger->holds) = one.holds.items[0];
                else
                        *vec_push(arena, &ledger->instances) = one.holds.items[0].granted;
        }
        return ledger;
}

/* Where "r" is configured, with any grant. */
static char *changes_text(Arena *arena, const char *before, const char *after) {
        const InstanceConfig config = {.name = "r"};
        const DemandInstance demand = {.config = &config};
        PlanInstance planned = {.demand = &demand};
        const Plan plan = {.instances = &planned, .n_instances = 1};
        const Changes changes =
                changes_between(arena, ledger_of(arena, before), ledger_of(arena, after), &plan);
        json_t *json = changes_to_json(&changes), *item;
        Text text = text_in(arena);
        size_t i;

        VEC_FOREACH(change, &changes)
                text_printf(&text, "%s%s", text.length > 0 ? "\n" : "",
                            change_format(arena, change));
        assert_int_equal(json_array_size(json), changes.n);
        /* As a client reads it. */
        json_array_foreach(json, i, item) {
                Change read;

                assert_int_equal(change_from_json(arena, item, &read), 0);
                assert_text(change_format(arena, &read), change_format(arena, &changes.items[i]));
        }
        json_decref(json);
        return arena_strdup(arena, text_string(&text));
}

/* BEFORE to AFTER */
PLAIN_VERB(do_from, "from") {
        char *before = story_unescape(line->arena, arena_printf(line->arena, " %s ", line->rest));
        char *to = strstr(before, " to ");

        *to = '\0';
        return changes_text(line->arena, text_strip(line->arena, before),
                            text_strip(line->arena, to + strlen(" to ")));
}

STORY_TEST(stories, "unit/plan/changes")

/* Only persistent pages, and only pools that differ. */
TEST(pools) {
        const Topology *before = host_make(arena, "sizes 1G 2M\n"
                                                  "node 0 total=16G 2M=45 1G=2\n"
                                                  "node 1 total=16G 2M=30/0/10 1G=-\n");
        const Topology *after = host_make(arena, "sizes 1G 2M\n"
                                                 "node 0 total=16G 2M=0 1G=3\n"
                                                 "node 1 total=16G 2M=1520/0/0 1G=-\n"
                                                 "node 2 total=16G 2M=7\n");
        const PoolChanges changes = pool_changes_between(arena, before, after);
        json_t *json = pool_changes_to_json(&changes), *item;
        Text text = text_in(arena);
        size_t i;

        VEC_FOREACH(change, &changes)
                text_printf(&text, "%s\n", pool_change_format(arena, change));
        assert_text(text_string(&text), "node 0: 2 -> 3 pages of 1G\n"
                                        "node 0: 45 -> 0 pages of 2M\n"
                                        "node 1: 20 -> 1,520 pages of 2M\n"
                                        "node 2: 0 -> 7 pages of 2M\n");
        assert_int_equal(json_array_size(json), changes.n);
        json_array_foreach(json, i, item) {
                PoolChange read;

                assert_int_equal(pool_change_from_json(item, &read), 0);
                assert_text(pool_change_format(arena, &read),
                            pool_change_format(arena, &changes.items[i]));
        }
        json_decref(json);
}

TEST(not_a_change) {
        static const char *const texts[] = {
                "{}",
                "7",
                "{\"instance\":\"a\",\"change\":\"grown\"}",
                ("{\"instance\":\"a\",\"change\":\"blessed\",\"pageSizeBytes\":1,\"pagesBefore\":1,"
                 "\"pagesAfter\":1,\"keptBy\":null,\"pagesKept\":0}"),
        };

        for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
                json_t *json = json_loads(texts[i], JSON_DECODE_ANY, NULL);
                PoolChange pool;
                Change change;

                assert_non_null(json);
                assert_int_equal(change_from_json(arena, json, &change), -EPROTO);
                assert_int_equal(pool_change_from_json(json, &pool), -EPROTO);
                json_decref(json);
        }
}

/* Printable, even if another program answers in the daemon's place. */
TEST(odd_texts) {
        json_t *json = json_loads("{\"instance\":\"a\\u001b[31m\",\"change\":\"grown\","
                                  "\"pageSizeBytes\":1,\"pagesBefore\":1,\"pagesAfter\":2,"
                                  "\"keptBy\":\"b\\n\",\"pagesKept\":1}",
                                  0, NULL);
        Change change;

        assert_int_equal(change_from_json(arena, json, &change), 0);
        assert_text(change.instance, "a?[31m");
        assert_text(change.kept_by, "b?");
        json_decref(json);
}
