/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/boot_guard.h"

#include "support/testing.h"

static const char host_text[] = "sizes 1G 2M\nnode 0 total=16G free=15G\n";

static BootGuard *guard_of(Arena *arena, uint64_t failed_boots, const char *boot_id) {
        BootGuard *guard = ARENA_NEW(arena, BootGuard);

        *guard = (BootGuard){.failed_boots = failed_boots, .boot_id = boot_id};
        *vec_push(arena, &guard->proven) = (ProvenInstance){"pg", 2 * MIB, 100};
        return guard;
}

static const Plan *plan_of(Arena *arena, const BootGuard *guard, const Config *config,
                           const Ledger *ledger, bool is_reload, Diags *problems) {
        return boot_guard_plan(arena,
                               &(GuardedPlanInput){.guard = guard,
                                                   .config = config,
                                                   .topology = host_make(arena, host_text),
                                                   .ledger = ledger,
                                                   .is_reload = is_reload},
                               problems);
}

static void test_counting(void **state) {
        BootGuard *guard = guard_of(*state, 0, "");
        Ledger *ledger = ledger_new(*state, "d");

        boot_guard_begin(*state, guard, "a");
        boot_guard_begin(*state, guard, "a"); /* the daemon was started again */
        boot_guard_begin(*state, guard, "b");
        assert_int_equal(guard->failed_boots, 2);
        boot_guard_begin(*state, guard, "c");
        assert_true(boot_guard_is_closed(guard, ledger)); /* three have failed before this one */
        boot_guard_begin(*state, guard, "d");
        assert_true(boot_guard_is_closed(guard, ledger)); /* this one counts for the next */
        ledger->guard = LEDGER_GUARD_OPEN;                /* a reload */
        assert_true(boot_guard_succeed(*state, guard, ledger));
        assert_int_equal(guard->failed_boots, 0);
        assert_int_equal(guard->proven.n, 0);
        assert_false(boot_guard_is_closed(guard, ledger));
}

/* The daemon failed, and is to be started again: the boot went on without it. */
static void test_no_plan(void **state) {
        BootGuard *guard = guard_of(*state, 2, "a");
        Ledger *ledger = ledger_new(*state, "b");

        boot_guard_begin(*state, guard, "b");
        assert_int_equal(guard->failed_boots, 3);
        assert_false(boot_guard_succeed(*state, guard, ledger));
        assert_int_equal(guard->failed_boots, 2);
        assert_int_equal(guard->proven.n, 1);
        assert_false(boot_guard_is_closed(guard, ledger)); /* when it starts at last */
        assert_false(boot_guard_succeed(*state, guard, ledger));
        assert_int_equal(guard->failed_boots, 2); /* it was not counted any more */
        boot_guard_begin(*state, guard, "c");
        assert_true(boot_guard_is_closed(guard, ledger_new(*state, "d")));
}

/* A good boot proves what was granted in it, and to whom. */
static void test_proven(void **state) {
        static const uint64_t pages[] = {1, 0, 50};
        BootGuard *guard = guard_of(*state, 2, "a");
        Ledger *ledger = ledger_new(*state, "b");

        for (size_t i = 0; i < ARRAY_LEN(pages); i++) {
                LedgerInstance *instance = vec_push((Arena *) *state, &ledger->instances);

                *instance = (LedgerInstance){.name = arena_printf(*state, "%zu", i),
                                             .page_size_bytes = 2 * MIB};
                *vec_push((Arena *) *state, &instance->grants) = (NodePages){0, pages[i]};
        }
        ledger->guard = LEDGER_GUARD_OPEN;
        assert_true(boot_guard_succeed(*state, guard, ledger));
        assert_int_equal(guard->failed_boots, 0);
        assert_text(guard->boot_id, "b");
        assert_int_equal(guard->proven.n, 2);
        assert_text(guard->proven.items[0].name, "0");
        assert_int_equal(guard->proven.items[0].pages, 1);
        assert_text(guard->proven.items[1].name, "2");
        assert_int_equal(guard->proven.items[1].pages, 50);
        assert_true(guard->proven.items[1].page_size_bytes == 2 * MIB);
}

static void test_too_few(void **state) {
        Ledger *ledger = ledger_new(*state, "c");

        assert_false(boot_guard_is_closed(guard_of(*state, 0, "c"), ledger));
        assert_false(boot_guard_is_closed(guard_of(*state, 2, "b"), ledger));
        assert_false(boot_guard_is_closed(guard_of(*state, 3, "c"), ledger));
        assert_true(boot_guard_is_closed(guard_of(*state, 3, "b"), ledger));
}

/* Once decided in a boot, neither the count nor a restart changes it; a reload does. */
static void test_decided(void **state) {
        Ledger *ledger = ledger_new(*state, "now");

        ledger->guard = LEDGER_GUARD_CLOSED;
        assert_true(boot_guard_is_closed(guard_of(*state, 0, "now"), ledger));
        ledger_reload(ledger);
        assert_false(boot_guard_is_closed(guard_of(*state, 9, "b"), ledger));
}

/* A boot that gets through with what is proven proves nothing about the rest: the guard stays closed,
 * boot after boot, until somebody opens it. */
static void test_stays_closed(void **state) {
        BootGuard *guard = guard_of(*state, 5, "a");

        for (int i = 0; i < 5; i++) {
                Ledger *ledger = ledger_new(*state, arena_printf(*state, "boot %d", i));

                assert_true(boot_guard_is_closed(guard, ledger));
                ledger->guard = LEDGER_GUARD_CLOSED;
                boot_guard_begin(*state, guard, ledger->boot_id);
                assert_true(boot_guard_succeed(*state, guard, ledger));
                assert_text(guard->boot_id, ledger->boot_id);
                assert_int_equal(guard->proven.n, 1); /* what was, not what this boot had */
        }
        assert_true(boot_guard_open(guard));
        assert_int_equal(guard->failed_boots, 0);
        assert_false(boot_guard_open(guard));
        assert_false(boot_guard_is_closed(guard, ledger_new(*state, "next")));
}

static void test_round_trip(void **state) {
        json_t *json = boot_guard_to_json(guard_of(*state, 2, "b"));
        const BootGuard *read = boot_guard_from_json(*state, json);

        assert_int_equal(read->failed_boots, 2);
        assert_text(read->boot_id, "b");
        assert_text(read->proven.items[0].name, "pg");
        json_object_set_new(json, "failedBoots", json_integer(-1));
        assert_null(boot_guard_from_json(*state, json));
        json_decref(json);
}

/* No boot that has failed is as good a number, and a page of a byte the least. */
static void test_least(void **state) {
        json_t *json = boot_guard_to_json(guard_of(*state, 0, "b"));
        json_t *proven = json_array_get(json_object_get(json, "proven"), 0);

        json_object_set_new(proven, "pages", json_integer(1));
        json_object_set_new(proven, "pageSizeBytes", json_integer(1));
        const BootGuard *read = boot_guard_from_json(*state, json);

        assert_non_null(read);
        assert_int_equal(read->failed_boots, 0);
        assert_int_equal(read->proven.items[0].pages, 1);
        assert_int_equal(read->proven.items[0].page_size_bytes, 1);
        json_decref(json);
}

/* Anything else than what is written is none: another version counts otherwise. */
static void test_not_read(void **state) {
        static const struct {
                const char *key;
                json_t *(*make)(void);
        } cases[] = {{"version", json_true},
                     {"bootId", json_null},
                     {"proven", json_object},
                     {"other", json_true}};

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                json_t *json = boot_guard_to_json(guard_of(*state, 2, "b"));

                json_object_set_new(json, cases[i].key, cases[i].make());
                assert_null(boot_guard_from_json(*state, json));
                json_decref(json);
        }
        json_t *json = boot_guard_to_json(guard_of(*state, 2, "b"));
        json_t *version = json_object_get(json, "version");

        json_object_set_new(json, "version", json_integer(json_integer_value(version) + 1));
        assert_null(boot_guard_from_json(*state, json));
        json_decref(json);
}

static void test_not_proven(void **state) {
        static const char *const keys[] = {"pages", "pageSizeBytes"};

        for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
                json_t *json = boot_guard_to_json(guard_of(*state, 2, "b"));

                json_object_set_new(json_array_get(json_object_get(json, "proven"), 0), keys[i],
                                    json_integer(0));
                assert_null(boot_guard_from_json(*state, json));
                json_decref(json);
        }
}

/* A file that was tampered with: what is written of it can still be read. */
static void test_most_boots(void **state) {
        BootGuard *guard = guard_of(*state, INT64_MAX, "b");

        boot_guard_begin(*state, guard, "c");
        json_t *json = boot_guard_to_json(guard);
        const BootGuard *read = boot_guard_from_json(*state, json);

        assert_non_null(read);
        assert_true(read->failed_boots == INT64_MAX);
        json_decref(json);
}

static void test_plan_open(void **state) {
        const Config *config = config_make(*state, "pg.conf", "[Instance]\nPages=200\n", NULL);
        Ledger *ledger = ledger_new(*state, "now");
        Diags problems = diags_in(*state);
        const BootGuard *guard = guard_of(*state, 0, "");

        for (int is_reload = 0; is_reload <= 1; is_reload++)
                assert_text(
                        grants_text(*state,
                                    plan_of(*state, guard, config, ledger, is_reload, &problems),
                                    "pg"),
                        "0:200");
        assert_int_equal(problems.list.n, 0);
}

static void test_plan_closed(void **state) {
        const Config *config = config_make(*state, "10-new.conf", "[Instance]\nPages=50\n",
                                           "20-pg.conf", "[Instance]\nPages=100\n", "30-part.conf",
                                           "[Instance]\nPages=10\nShortage=degrade\n",
                                           "40-gone.conf", "[Instance]\nPages=7\n", "50-thp.conf",
                                           "[Instance]\nEngine=redis\n", NULL);
        Ledger *ledger = ledger_new(*state, "now");
        Diags problems = diags_in(*state);

        ledger_release(*state, ledger, "gone");
        /* Three have failed, and this one is counted already. */
        const BootGuard *guard = guard_of(*state, 4, "now");
        const Plan *plan = plan_of(*state, guard, config, ledger, false, &problems);
        const PlanInstance *refused = plan_find(plan, "new");

        assert_text(grants_text(*state, plan, "pg"), "0:100");
        assert_text(grants_text(*state, plan, "new"), "-");
        assert_text(grants_text(*state, plan, "part"), "-"); /* not even what is left */
        assert_int_equal(refused->reason.kind, REASON_BOOT_GUARD);
        /* Who reserves nothing has nothing to be proven. */
        assert_int_equal(plan_find(plan, "thp")->reason.kind, REASON_NONE);
        assert_int_equal(refused->pages_wanted, 50); /* its demand is known all the same */
        assert_contains(refused->reason.text, "3 boots in a row");
        assert_contains(refused->reason.text, "no pages");
        assert_false(plan_is_short(plan)); /* trying again would bring nothing */
        assert_int_equal(problems.list.n, 1);
        assert_text(problems.list.items[0].id, "boot-guard");
        /* A reload makes another, and what it changes is said besides. */
        plan = plan_of(*state, guard, config, ledger, true, &problems);
        assert_int_equal(plan_find(plan, "new")->demand->reason.kind, REASON_NONE);
        assert_text(steps_text(*state, plan), "0:2M:0->167");
        assert_text(grants_text(*state, plan, "gone"), "0:7");
        assert_int_equal(problems.list.n, 3);
        assert_text(problems.list.items[1].id, "boot-guard");
        assert_text(problems.list.items[2].id, "released");
        assert_text(problems.list.items[2].file, "/etc/hugeplan.d/40-gone.conf");
        assert_int_equal(problems.list.items[2].severity, SEVERITY_NOTICE);
        assert_true(ledger_instance(ledger, "gone")->is_released); /* asking changes nothing */
}

static void test_plan_grown(void **state) {
        const Config *config = config_make(*state, "pg.conf", "[Instance]\nPages=101\n", NULL);
        Diags problems = diags_in(*state);
        const Plan *plan = plan_of(*state, guard_of(*state, 3, "b"), config,
                                   ledger_new(*state, "now"), false, &problems);

        assert_text(grants_text(*state, plan, "pg"), "-");
        assert_contains(plan_find(plan, "pg")->reason.text, "only 100 pages of 2M");
}

/* A page size that the last good boot did not have is as new as an instance. */
static void test_plan_other_size(void **state) {
        const Config *config =
                config_make(*state, "pg.conf", "[Instance]\nPages=1\nPageSize=1G\n", NULL);
        Diags problems = diags_in(*state);
        const Plan *plan = plan_of(*state, guard_of(*state, 3, "b"), config,
                                   ledger_new(*state, "now"), false, &problems);

        assert_text(grants_text(*state, plan, "pg"), "-");
}

TEST_FILE(boot_guard) {
        const struct CMUnitTest tests[] = {
                TEST(test_counting),     TEST(test_no_plan),    TEST(test_too_few),
                TEST(test_proven),       TEST(test_least),      TEST(test_decided),
                TEST(test_stays_closed), TEST(test_round_trip), TEST(test_most_boots),
                TEST(test_not_read),     TEST(test_not_proven), TEST(test_plan_open),
                TEST(test_plan_closed),  TEST(test_plan_grown), TEST(test_plan_other_size),
        };

        return RUN_TESTS(tests);
}
