/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "base/size.h"
#include "promise/ledger.h"
#include "support/testing.h"

static const char boot[] = "8ac7e6f2-boot";

static Topology *host_with_pool(Arena *arena, const char *counts) {
        return host_make(arena,
                         arena_printf(arena, "sizes 2M\nnode 0 total=16G free=8G 2M=%s\n", counts));
}

static Ledger *full_ledger(Arena *arena) {
        Ledger *ledger = ledger_new(arena, boot);

        ledger->guard = LEDGER_GUARD_CLOSED;
        *vec_push(arena, &ledger->pools) = (LedgerPool){0, 2 * MIB, 10, 30, 2};
        *vec_push(arena, &ledger->pools) = (LedgerPool){2, GIB, 0, 4, 0};
        LedgerInstance *instance = vec_push(arena, &ledger->instances);

        *instance = (LedgerInstance){.name = "pg-main",
                                     .page_size_bytes = 2 * MIB,
                                     .pages_wanted = 20,
                                     .placement = PLACEMENT_PACK,
                                     .is_held = true};
        *vec_push(arena, &instance->grants) = (LedgerGrant){0, 15};
        *vec_push(arena, &instance->grants) = (LedgerGrant){2, 5};
        *vec_push(arena, &ledger->instances) =
                (LedgerInstance){.name = "empty", .page_size_bytes = GIB};
        return ledger;
}

/* ---- observing ---- */

static void assert_pool(const Ledger *ledger, uint64_t found, uint64_t set) {
        const LedgerPool *pool = ledger_pool(ledger, 0, 2 * MIB);

        assert_non_null(pool);
        assert_int_equal(pool->found_pages, found);
        assert_int_equal(pool->set_pages, set);
}

static void test_observe_new(void **state) {
        Ledger *ledger = ledger_new(*state, boot);

        ledger_observe(*state, ledger, host_with_pool(*state, "30/10/5"));
        assert_pool(ledger, 25, 25); /* surplus pages are not persistent */
        assert_int_equal(ledger->pools.n, 1);
        ledger_observe(*state, ledger, host_with_pool(*state, "30/10/5"));
        assert_pool(ledger, 25, 25);
        assert_int_equal(ledger->pools.n, 1);
}

/* What others add was found, too; of what they take away nothing is left to be found. */
static void test_observe_others(void **state) {
        Ledger *ledger = ledger_new(*state, boot);

        ledger_observe(*state, ledger, host_with_pool(*state, "10"));
        ledger_observe(*state, ledger, host_with_pool(*state, "14"));
        assert_pool(ledger, 14, 14);
        ledger_observe(*state, ledger, host_with_pool(*state, "3"));
        assert_pool(ledger, 3, 3);
        ledger_observe(*state, ledger, host_with_pool(*state, "14"));
        assert_pool(ledger, 14, 14);
        ledger_observe(*state, ledger, host_with_pool(*state, "15"));
        assert_pool(ledger, 15, 15);
}

/* A pool with pages of ours, lowered by others: what was found stays so while it is there. */
static void test_observe_lowered(void **state) {
        Ledger *ledger = ledger_new(*state, boot);

        ledger_observe(*state, ledger, host_with_pool(*state, "10"));
        ledger_pool(ledger, 0, 2 * MIB)->set_pages = 50;
        ledger_pool(ledger, 0, 2 * MIB)->foreign_pages = 30;
        ledger_observe(*state, ledger, host_with_pool(*state, "20/0"));
        assert_pool(ledger, 10, 50);
        assert_int_equal(ledger_pool(ledger, 0, 2 * MIB)->foreign_pages, 20);
        ledger_observe(*state, ledger, host_with_pool(*state, "5/0"));
        assert_pool(ledger, 5, 5);
        assert_int_equal(ledger_pool(ledger, 0, 2 * MIB)->foreign_pages, 5);
}

/* Others hold what is in use or promised at most: who leaves holds nothing. */
static void test_observe_others_leave(void **state) {
        static const struct {
                const char *counts;
                uint64_t foreign;
        } steps[] = {{"60/30", 30}, {"60/40", 20}, {"30/12/15", 15}, {"60", 0}, {"60/0", 0}};
        Ledger *ledger = ledger_new(*state, boot);

        ledger_observe(*state, ledger, host_with_pool(*state, "60/30"));
        ledger_pool(ledger, 0, 2 * MIB)->foreign_pages = 30;
        for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
                ledger_observe(*state, ledger, host_with_pool(*state, steps[i].counts));
                assert_int_equal(ledger_pool(ledger, 0, 2 * MIB)->foreign_pages, steps[i].foreign);
        }
}

static Topology *host_with_pools(Arena *arena, unsigned first, unsigned second) {
        return host_make(arena, arena_printf(arena,
                                             "sizes 2M\nnode 0 total=16G free=8G 2M=%u\n"
                                             "node 1 total=16G free=8G 2M=%u\n",
                                             first, second));
}

/* Pages that somebody has moved between nodes are ours still; what there is beyond them was added. */
static void test_observe_moved(void **state) {
        static const struct {
                unsigned first, second, found;
        } hosts[] = {{0, 12, 0}, {23, 27, 0}, {50, 0, 0}, {23, 36, 9}, {60, 0, 10}, {7, 50, 7}};

        for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
                Ledger *ledger = ledger_new(*state, boot);

                ledger_observe(*state, ledger, host_with_pools(*state, 0, 0));
                ledger_pool(ledger, 1, 2 * MIB)->set_pages = 50;
                /* However often one looks. */
                for (size_t k = 0; k < 3; k++)
                        ledger_observe(*state, ledger,
                                       host_with_pools(*state, hosts[i].first, hosts[i].second));
                const LedgerPool *first = ledger_pool(ledger, 0, 2 * MIB);

                assert_int_equal(first->found_pages, hosts[i].found);
                assert_int_equal(first->set_pages, hosts[i].first);
                assert_int_equal(ledger_pool(ledger, 1, 2 * MIB)->set_pages, 50);
        }
}

/* Who takes pages from one node may add them to another once they are back. */
static void test_observe_restored(void **state) {
        static const struct {
                unsigned first;
                bool is_long_ago;
                unsigned moved, found;
        } hosts[] = {{30, false, 30, 0}, {55, false, 40, 15}, {30, true, 0, 30}};

        for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
                Ledger *ledger = ledger_new(*state, boot);

                ledger_observe(*state, ledger, host_with_pools(*state, 0, 0));
                ledger_pool(ledger, 1, 2 * MIB)->set_pages = 50;
                ledger_restore(*state, ledger, 2 * MIB, 30);
                ledger_restore(*state, ledger, 2 * MIB, 10);
                ledger = ledger_copy(*state, ledger);
                if (hosts[i].is_long_ago)
                        ledger_forget_restored(ledger);
                uint64_t moved =
                        ledger_observe(*state, ledger, host_with_pools(*state, hosts[i].first, 50));

                assert_int_equal(moved, hosts[i].moved);
                assert_int_equal(ledger_pool(ledger, 0, 2 * MIB)->found_pages, hosts[i].found);
                /* Each page once. */
                ledger_observe(*state, ledger, host_with_pools(*state, hosts[i].first + 40, 50));
                assert_int_equal(ledger_pool(ledger, 0, 2 * MIB)->found_pages,
                                 hosts[i].first + 40 - 40 * !hosts[i].is_long_ago);
        }
}

/* Pages that we have put there are not found. */
static void test_observe_ours(void **state) {
        Ledger *ledger = ledger_new(*state, boot);

        ledger_observe(*state, ledger, host_with_pool(*state, "10"));
        ledger_pool(ledger, 0, 2 * MIB)->set_pages = 50;
        ledger_observe(*state, ledger, host_with_pool(*state, "50"));
        assert_pool(ledger, 10, 50);
        ledger_observe(*state, ledger, host_with_pool(*state, "53"));
        assert_pool(ledger, 13, 53);
}

static void test_observe_missing_directory(void **state) {
        Ledger *ledger = ledger_new(*state, boot);

        ledger_observe(*state, ledger, host_with_pool(*state, "-"));
        assert_int_equal(ledger->pools.n, 0);
}

static void test_look_up(void **state) {
        const Ledger *ledger = full_ledger(*state);

        assert_null(ledger_pool(ledger, 1, 2 * MIB));
        assert_null(ledger_pool(ledger, 0, GIB));
        assert_null(ledger_instance(ledger, "pg"));
        assert_int_equal(ledger_granted_pages(ledger_instance(ledger, "pg-main")), 20);
        assert_int_equal(ledger_granted_pages(ledger_instance(ledger, "empty")), 0);
}

/* ---- JSON ---- */

static void assert_same(const Ledger *a, const Ledger *b) {
        json_t *first = ledger_to_json(a), *second = ledger_to_json(b);

        assert_true(json_equal(first, second));
        json_decref(first);
        json_decref(second);
}

static void test_round_trip(void **state) {
        const Ledger *ledger = full_ledger(*state);
        json_t *json = ledger_to_json(ledger);
        const Ledger *read = ledger_from_json(*state, json, boot);

        assert_non_null(read);
        assert_same(ledger, read);
        assert_int_equal(read->guard, LEDGER_GUARD_CLOSED);
        assert_int_equal(read->pools.n, 2);
        assert_int_equal(read->pools.items[0].foreign_pages, 2);
        const LedgerInstance *instance = ledger_instance(read, "pg-main");

        assert_true(instance->is_held);
        assert_int_equal(instance->placement, PLACEMENT_PACK);
        assert_int_equal(instance->grants.n, 2);
        assert_int_equal(instance->grants.items[1].node, 2);
        assert_int_equal(instance->grants.items[1].pages, 5);
        assert_false(ledger_instance(read, "empty")->is_held);
        json_decref(json);
}

static void test_empty_round_trip(void **state) {
        json_t *json = ledger_to_json(ledger_new(*state, boot));

        /* An earlier version knew of no guard. */
        assert_null(json_object_get(json, "bootGuard"));
        assert_int_equal(ledger_from_json(*state, json, boot)->guard, LEDGER_GUARD_UNDECIDED);
        assert_null(ledger_from_json(*state, json, "another boot"));
        assert_null(ledger_from_json(*state, json, ""));
        json_decref(json);
}

/* Whatever observing and planning make of a ledger can be read back. */
static void test_lowered_pool_round_trip(void **state) {
        Ledger *ledger = ledger_new(*state, boot);

        ledger_observe(*state, ledger, host_with_pool(*state, "100"));
        ledger_observe(*state, ledger, host_with_pool(*state, "50"));
        json_t *json = ledger_to_json(ledger);

        assert_non_null(ledger_from_json(*state, json, boot));
        json_decref(json);
}

static void test_copy(void **state) {
        const Ledger *ledger = full_ledger(*state);
        Arena *arena = arena_new();
        Ledger *copy = ledger_copy(arena, ledger);

        assert_same(ledger, copy);
        ledger_reload(copy);
        assert_int_equal(copy->guard, LEDGER_GUARD_OPEN);
        assert_int_equal(ledger->guard, LEDGER_GUARD_CLOSED);
        copy->instances.items[0].grants.items[0].pages = 99;
        copy->pools.items[0].found_pages = 99;
        assert_int_equal(ledger->instances.items[0].grants.items[0].pages, 15);
        assert_int_equal(ledger->pools.items[0].found_pages, 10);
        arena_free(arena);
}

/* A value for PATH ("pools.0.node") in an otherwise good ledger; NULL takes the field away. */
static void assert_rejected(Arena *arena, const char *path, const char *value_text) {
        json_t *json = ledger_to_json(full_ledger(arena)), *at = json;
        const char *rest = path, *next;
        char *word = text_next_word(arena, &rest, ".");

        for (; (next = text_next_word(arena, &rest, ".")); word = (char *) next)
                at = json_is_array(at) ? json_array_get(at, strtoul(word, NULL, 10))
                                       : json_object_get(at, word);
        json_t *value = value_text ? json_loads(value_text, JSON_DECODE_ANY, NULL) : NULL;

        if (value_text)
                assert_non_null(value);
        if (json_is_array(at))
                json_array_set_new(at, strtoul(word, NULL, 10), value);
        else if (value)
                json_object_set_new(at, word, value);
        else
                json_object_del(at, word);
        if (ledger_from_json(arena, json, boot))
                fail_msg("taken with %s = %s", path, value_text ? value_text : "(missing)");
        json_decref(json);
}

static void test_broken(void **state) {
        static const struct {
                const char *path, *value;
        } cases[] = {
                {"version", "2"},
                {"version", "0"},
                {"version", "\"1\""},
                {"version", NULL},
                {"bootId", "\"other\""},
                {"bootId", "7"},
                {"bootId", NULL},
                {"bootGuard", "\"ajar\""},
                {"bootGuard", "1"},
                {"pools", NULL},
                {"pools", "{}"},
                {"pools", "null"},
                {"instances", NULL},
                {"instances", "{}"},
                {"more", "1"}, /* a field we never wrote */
                {"pools.0", "7"},
                {"pools.0", "[]"},
                {"pools.0.node", "-1"},
                {"pools.0.node", "1024"},
                {"pools.0.node", "0.5"},
                {"pools.0.node", NULL},
                {"pools.0.pageSizeBytes", "0"},
                {"pools.0.pageSizeBytes", "-2097152"},
                {"pools.0.found", "-1"},
                {"pools.0.found", "31"}, /* more than was set */
                {"pools.0.found", "null"},
                {"pools.0.set", "\"30\""},
                {"pools.0.set", "-1"},
                {"pools.0.foreign", "-1"},
                {"pools.0.foreign", NULL},
                {"pools.0.extra", "1"},
                {"pools.1", "{\"node\":0,\"pageSizeBytes\":2097152,\"found\":0,\"set\":0,"
                            "\"foreign\":0}"}, /* the same pool twice */
                {"instances.0", "\"pg\""},
                {"instances.0.name", "\"\""},
                {"instances.0.name", "\"../etc\""},
                {"instances.0.name", "null"},
                {"instances.0.name", "\"empty\""}, /* twice */
                {"instances.0.pageSizeBytes", "0"},
                {"instances.0.pagesWanted", "-1"},
                {"instances.0.pagesWanted", "1.0"},
                {"instances.0.placement", "\"interleaved\""},
                {"instances.0.placement", NULL},
                {"instances.0.held", "1"},
                {"instances.0.held", NULL},
                {"instances.0.nodes", "{}"},
                {"instances.0.nodes", NULL},
                {"instances.0.nodes.0", "[0,15]"},
                {"instances.0.nodes.0.node", "-1"},
                {"instances.0.nodes.0.node", "1024"},
                {"instances.0.nodes.0.pages", "0"},
                {"instances.0.nodes.0.pages", "-5"},
                {"instances.0.nodes.0.more", "5"},
                {"instances.0.nodes.1.node", "0"}, /* a node twice */
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++)
                assert_rejected(*state, cases[i].path, cases[i].value);
}

static void test_not_an_object(void **state) {
        static const char *const texts[] = {"null", "7", "[]", "{}", "\"x\"", "true"};

        for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
                json_t *json = json_loads(texts[i], JSON_DECODE_ANY, NULL);

                assert_null(ledger_from_json(*state, json, boot));
                json_decref(json);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(test_observe_new),
                TEST(test_observe_others),
                TEST(test_observe_lowered),
                TEST(test_observe_others_leave),
                TEST(test_observe_moved),
                TEST(test_observe_restored),
                TEST(test_observe_ours),
                TEST(test_observe_missing_directory),
                TEST(test_look_up),
                TEST(test_round_trip),
                TEST(test_empty_round_trip),
                TEST(test_lowered_pool_round_trip),
                TEST(test_copy),
                TEST(test_broken),
                TEST(test_not_an_object),
        };

        return RUN_TESTS(tests);
}
