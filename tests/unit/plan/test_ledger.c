/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "base/size.h"
#include "plan/ledger.h"
#include "support/testing.h"

static const char boot[] = "8ac7e6f2-boot";

static Topology *host_with_pool(Arena *arena, const char *counts) {
        return host_printf(arena, "sizes 2M\nnode 0 total=16G free=8G 2M=%s\n", counts);
}

static Ledger *full_ledger(Arena *arena) {
        Ledger *ledger = ledger_new(arena, boot);

        ledger->guard = LEDGER_GUARD_CLOSED;
        *vec_push(arena, &ledger->pools) = (LedgerPool){0, 2 * MIB, 10, 30};
        *vec_push(arena, &ledger->pools) = (LedgerPool){2, GIB, 0, 4};
        LedgerInstance *instance = vec_push(arena, &ledger->instances);

        *instance = (LedgerInstance){.name = "pg-main",
                                     .page_size_bytes = 2 * MIB,
                                     .pages_wanted = 20,
                                     .placement = PLACEMENT_PACK};
        *vec_push(arena, &instance->grants) = (NodePages){0, 15};
        *vec_push(arena, &instance->grants) = (NodePages){2, 5};
        *vec_push(arena, &ledger->instances) =
                (LedgerInstance){.name = "empty", .page_size_bytes = GIB};
        ledger->holds = running_make(arena,
                                     "hold pg.service pg-main 2M=0:12/2:5 bind=0,2 counted "
                                     "run=a1\n"
                                     "hold pg.service pg-old 1G=2:1 wanted=3 bind=0,2 run=a1\n"
                                     "hold ora.service ora 2M=0:7 interleave=0-1\n"
                                     "hold my.service my 2M=0:1 unknown\n"
                                     "hold any.service any 2M=0:1\n")
                                .holds;
        return ledger;
}

/* ---- observing ---- */

static void assert_pool(const Ledger *ledger, uint64_t found, uint64_t set) {
        const LedgerPool *pool = ledger_pool(ledger, 0, 2 * MIB);

        assert_non_null(pool);
        assert_int_equal(pool->found_pages, found);
        assert_int_equal(pool->set_pages, set);
}

TEST(observe_new) {
        Ledger *ledger = ledger_new(arena, boot);

        ledger_observe(arena, ledger, host_with_pool(arena, "30/10/5"), NULL);
        assert_pool(ledger, 25, 25); /* surplus pages are not persistent */
        assert_int_equal(ledger->pools.n, 1);
        ledger_observe(arena, ledger, host_with_pool(arena, "30/10/5"), NULL);
        assert_pool(ledger, 25, 25);
        assert_int_equal(ledger->pools.n, 1);
}

/* What others add was found, too; of what they take away nothing is left to be found. */
TEST(observe_others) {
        Ledger *ledger = ledger_new(arena, boot);

        ledger_observe(arena, ledger, host_with_pool(arena, "10"), NULL);
        ledger_observe(arena, ledger, host_with_pool(arena, "14"), NULL);
        assert_pool(ledger, 14, 14);
        ledger_observe(arena, ledger, host_with_pool(arena, "3"), NULL);
        assert_pool(ledger, 3, 3);
        ledger_observe(arena, ledger, host_with_pool(arena, "14"), NULL);
        assert_pool(ledger, 14, 14);
        ledger_observe(arena, ledger, host_with_pool(arena, "15"), NULL);
        assert_pool(ledger, 15, 15);
}

/* A pool with pages of ours, lowered by others: what was found stays so while it is there. */
TEST(observe_lowered) {
        Ledger *ledger = ledger_new(arena, boot);

        ledger_observe(arena, ledger, host_with_pool(arena, "10"), NULL);
        ledger_pool(ledger, 0, 2 * MIB)->set_pages = 50;
        ledger_observe(arena, ledger, host_with_pool(arena, "20/0"), NULL);
        assert_pool(ledger, 10, 50);
        ledger_observe(arena, ledger, host_with_pool(arena, "5/0"), NULL);
        assert_pool(ledger, 5, 5);
}

static Topology *host_with_pools(Arena *arena, unsigned first, unsigned second) {
        return host_printf(arena,
                           "sizes 2M\nnode 0 total=16G free=8G 2M=%u\n"
                           "node 1 total=16G free=8G 2M=%u\n",
                           first, second);
}

/* Pages that somebody has moved between nodes are ours still; what there is beyond them was added. */
TEST(observe_moved) {
        static const struct {
                unsigned first, second, found;
        } hosts[] = {{0, 12, 0}, {23, 27, 0}, {50, 0, 0}, {23, 36, 9}, {60, 0, 10}, {7, 50, 7}};

        for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
                Ledger *ledger = ledger_new(arena, boot);

                ledger_observe(arena, ledger, host_with_pools(arena, 0, 0), NULL);
                ledger_pool(ledger, 1, 2 * MIB)->set_pages = 50;
                /* However often one looks. */
                for (size_t k = 0; k < 3; k++)
                        ledger_observe(arena, ledger,
                                       host_with_pools(arena, hosts[i].first, hosts[i].second),
                                       NULL);
                const LedgerPool *first = ledger_pool(ledger, 0, 2 * MIB);

                assert_int_equal(first->found_pages, hosts[i].found);
                assert_int_equal(first->set_pages, hosts[i].first);
                assert_int_equal(ledger_pool(ledger, 1, 2 * MIB)->set_pages, 50);
        }
}

/* Of one instance, and of no other. */
TEST(forget_refusal) {
        static const char *const names[] = {"a", "b", "c", "b"};
        Ledger *ledger = ledger_new(arena, boot);

        for (size_t i = 0; i < ARRAY_LEN(names); i++)
                vec_push(arena, &ledger->refusals)->instance = names[i];
        ledger_forget_refusal(ledger, "b");
        assert_int_equal(ledger->refusals.n, 2);
        assert_text(ledger->refusals.items[0].instance, "a");
        assert_text(ledger->refusals.items[1].instance, "c");
        ledger_forget_refusal(ledger, "x");
        assert_int_equal(ledger->refusals.n, 2);
}

/* A single page, too; none is no entry. */
TEST(restored_pages) {
        Ledger *ledger = ledger_new(arena, boot);

        ledger_restore(arena, ledger, 2 * MIB, 0);
        assert_int_equal(ledger->restored.n, 0);
        ledger_restore(arena, ledger, 2 * MIB, 1);
        ledger_restore(arena, ledger, GIB, 2);
        assert_int_equal(ledger->restored.n, 2);
        assert_int_equal(ledger->restored.items[0].pages, 1);
        assert_int_equal(ledger->restored.items[1].pages, 2);
}

/* Who takes pages from one node may add them to another once they are back. */
TEST(observe_restored) {
        static const struct {
                unsigned first;
                bool is_long_ago;
                unsigned moved, found;
        } hosts[] = {{30, false, 30, 0}, {55, false, 40, 15}, {30, true, 0, 30}};

        for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
                Ledger *ledger = ledger_new(arena, boot);

                ledger_observe(arena, ledger, host_with_pools(arena, 0, 0), NULL);
                ledger_pool(ledger, 1, 2 * MIB)->set_pages = 50;
                ledger_restore(arena, ledger, 2 * MIB, 30);
                ledger_restore(arena, ledger, 2 * MIB, 10);
                ledger = ledger_copy(arena, ledger);
                if (hosts[i].is_long_ago)
                        ledger_forget_restored(ledger);
                uint64_t moved = ledger_observe(arena, ledger,
                                                host_with_pools(arena, hosts[i].first, 50), NULL);

                assert_int_equal(moved, hosts[i].moved);
                assert_int_equal(ledger_pool(ledger, 0, 2 * MIB)->found_pages, hosts[i].found);
                /* Each page once. */
                ledger_observe(arena, ledger, host_with_pools(arena, hosts[i].first + 40, 50),
                               NULL);
                assert_int_equal(ledger_pool(ledger, 0, 2 * MIB)->found_pages,
                                 hosts[i].first + 40 - 40 * !hosts[i].is_long_ago);
        }
}

/* Pages that we have put there are not found. */
TEST(observe_ours) {
        Ledger *ledger = ledger_new(arena, boot);

        ledger_observe(arena, ledger, host_with_pool(arena, "10"), NULL);
        ledger_pool(ledger, 0, 2 * MIB)->set_pages = 50;
        ledger_observe(arena, ledger, host_with_pool(arena, "50"), NULL);
        assert_pool(ledger, 10, 50);
        ledger_observe(arena, ledger, host_with_pool(arena, "53"), NULL);
        assert_pool(ledger, 13, 53);
}

TEST(observe_missing_directory) {
        Ledger *ledger = ledger_new(arena, boot);

        ledger_observe(arena, ledger, host_with_pool(arena, "-"), NULL);
        assert_int_equal(ledger->pools.n, 0);
}

TEST(look_up) {
        const Ledger *ledger = full_ledger(arena);

        assert_null(ledger_pool(ledger, 1, 2 * MIB));
        assert_null(ledger_pool(ledger, 0, GIB));
        assert_null(ledger_instance(ledger, "pg"));
        assert_int_equal(ledger_granted_pages(ledger_instance(ledger, "pg-main")), 20);
        assert_int_equal(ledger_granted_pages(ledger_instance(ledger, "empty")), 0);
}

/* ---- units that run ---- */

/* "a.service/x a.service/y": what is held, in this order; "-" for nothing. */
static char *holds_text(Arena *arena, const Ledger *ledger) {
        Text text = text_in(arena);

        VEC_FOREACH(hold, &ledger->holds)
                text_printf(&text, "%s%s/%s:%" PRIu64, text.length > 0 ? " " : "", hold->unit,
                            hold->granted.name, ledger_granted_pages(&hold->granted));
        return arena_strdup(arena, text.length > 0 ? text_string(&text) : "-");
}

/* A hold ends with the control group of its unit: not while nothing is known of it, and not while
 * something is. */
TEST(observe_stopped) {
        static const char holds[] = "hold a.service a 2M=0:3\n"
                                    "hold b.service b 2M=0:4\n"
                                    "hold b.service b2 2M=0:5\n"
                                    "hold kept kept 2M=0:6 tentative\n";
        static const struct {
                const char *running, *left;
        } cases[] = {
                {"unit a.service\nunit b.service\n",
                 "a.service/a:3 b.service/b:4 b.service/b2:5 kept/kept:6"},
                {"unit b.service 2M=0\n", "b.service/b:4 b.service/b2:5 kept/kept:6"},
                {"unit a.service\nunit c.service\n", "a.service/a:3 kept/kept:6"},
                {"", "kept/kept:6"},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                Ledger *ledger = ledger_new(arena, boot);
                const Running running = running_make(arena, cases[i].running);

                ledger->holds = running_make(arena, holds).holds;
                ledger_observe(arena, ledger, host_with_pool(arena, "10"), NULL);
                assert_int_equal(ledger->holds.n, 4);
                ledger_observe(arena, ledger, host_with_pool(arena, "10"), &running.use);
                assert_text(holds_text(arena, ledger), cases[i].left);
        }
}

/* There is a row for the unit, and it says that it does not run. */
TEST(observe_known_to_be_stopped) {
        Ledger *ledger = ledger_new(arena, boot);
        Running running = running_make(arena, "unit a.service\n");

        running.use.units.items[0].is_running = false;
        ledger->holds = running_make(arena, "hold a.service a 2M=0:3\n").holds;
        ledger_observe(arena, ledger, host_with_pool(arena, "10"), &running.use);
        assert_text(holds_text(arena, ledger), "-");
}

static void start(Arena *arena, Ledger *ledger, const char *unit, const char *instance,
                  const char *run) {
        const LedgerHold hold = {.unit = unit,
                                 .run = run,
                                 .policy = {.kind = MEMORY_POLICY_ANY},
                                 .is_counted = true,
                                 .granted = {.name = instance, .pages_wanted = 7}};

        ledger_start(arena, ledger, instance, &hold);
}

/* It holds what the ledger grants it at that moment, whatever becomes of that. */
TEST(start) {
        Ledger *ledger = full_ledger(arena);

        ledger->holds.n = 0;
        start(arena, ledger, "pg.service", "pg-main", "a1");
        LedgerInstance *granted = ledger_instance(ledger, "pg-main");
        const LedgerHold *hold = ledger_hold(ledger, "pg.service", "pg-main");

        assert_non_null(hold);
        assert_text(hold->run, "a1");
        assert_true(hold->is_counted);
        assert_int_equal(hold->granted.pages_wanted, 20);
        assert_int_equal(hold->granted.placement, PLACEMENT_PACK);
        granted->grants.items[0].pages = 1;
        assert_text(holds_text(arena, ledger), "pg.service/pg-main:20");
        /* Another start takes the place of the one before. */
        start(arena, ledger, "pg.service", "pg-main", "a2");
        assert_text(holds_text(arena, ledger), "pg.service/pg-main:6");
        assert_text(ledger_hold(ledger, "pg.service", NULL)->run, "a2");
        /* Who is granted nothing runs with nothing; what that is of, the caller knows. */
        start(arena, ledger, "x.service", "empty", "a1");
        start(arena, ledger, "y.service", "absent", "a1");
        assert_text(holds_text(arena, ledger),
                    "pg.service/pg-main:6 x.service/empty:0 y.service/absent:0");
        assert_int_equal(ledger_hold(ledger, "y.service", "absent")->granted.pages_wanted, 7);
}

/* Whatever was planned, its policy says where its pages are. */
TEST(start_elsewhere) {
        static const struct {
                MemoryPolicyKind kind;
                const char *nodes, *kept;
        } cases[] = {
                {MEMORY_POLICY_ANY, "", "0:15 2:5"},
                {MEMORY_POLICY_UNKNOWN, "", "0:15 2:5"},
                /* Nodes that mean nothing, and a policy of whose nodes nothing is known. */
                {MEMORY_POLICY_ANY, "2", "0:15 2:5"},
                {MEMORY_POLICY_BIND, "", "0:15 2:5"},
                {MEMORY_POLICY_BIND, "0,2", "0:15 2:5"},
                {MEMORY_POLICY_BIND, "2", "2:20"},
                {MEMORY_POLICY_BIND, "1,3", "1:10 3:10"},
                {MEMORY_POLICY_BIND, "1-2", "2:12 1:8"},
                {MEMORY_POLICY_INTERLEAVE, "0-2", "0:15 2:5"},
                {MEMORY_POLICY_INTERLEAVE, "1-3", "2:10 1:5 3:5"},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                Ledger *ledger = ledger_new(arena, boot);
                LedgerInstance *granted = vec_push((Arena *) arena, &ledger->instances);
                LedgerHold hold = {.unit = "a.service", .run = "", .policy = {cases[i].kind}};
                Text kept = text_in(arena);

                *granted = (LedgerInstance){
                        .name = "a", .page_size_bytes = 2 * MIB, .pages_wanted = 20};
                *vec_push((Arena *) arena, &granted->grants) = (NodePages){0, 15};
                *vec_push((Arena *) arena, &granted->grants) = (NodePages){2, 5};
                assert_int_equal(id_set_parse(cases[i].nodes, &hold.policy.nodes), 0);
                ledger_start(arena, ledger, "a", &hold);
                VEC_FOREACH(grant, &ledger->holds.items[0].granted.grants)
                        text_printf(&kept, "%s%u:%" PRIu64, kept.length > 0 ? " " : "", grant->node,
                                    grant->pages);
                assert_text(text_string(&kept), cases[i].kept);
                assert_int_equal(granted->grants.n, 2);
        }
}

TEST(look_up_hold) {
        const Ledger *ledger = full_ledger(arena);

        assert_text(ledger_hold(ledger, "pg.service", "pg-old")->granted.name, "pg-old");
        assert_text(ledger_hold(ledger, "pg.service", NULL)->granted.name, "pg-main");
        assert_null(ledger_hold(ledger, "pg.service", "ora"));
        assert_null(ledger_hold(ledger, "other.service", NULL));
        assert_null(ledger_hold(ledger, NULL, NULL));
}

/* A start of the unit ends what any earlier one had. Of two instances of a unit the gates come one
 * after the other, in the same run. */
TEST(end) {
        static const struct {
                const char *unit, *run, *instance, *left;
        } cases[] = {
                {"a.service", "r2", "x", "b.service/z:3"},
                {"a.service", "r1", "x", "a.service/y:2 b.service/z:3"},
                {"a.service", "r1", "w", "a.service/x:1 a.service/y:2 b.service/z:3"},
                /* Nobody knows which run it is: then it is another one. */
                {"a.service", "", "x", "b.service/z:3"},
                {"b.service", "", "z", "a.service/x:1 a.service/y:2"},
                {"c.service", "r1", "x", "a.service/x:1 a.service/y:2 b.service/z:3"},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                Ledger *ledger = ledger_new(arena, boot);

                ledger->holds = running_make(arena, "hold a.service x 2M=0:1 run=r1\n"
                                                    "hold a.service y 2M=0:2 run=r1\n"
                                                    "hold b.service z 2M=0:3\n")
                                        .holds;
                ledger_end(ledger, cases[i].unit, cases[i].run, cases[i].instance);
                assert_text(holds_text(arena, ledger), cases[i].left);
        }
}

/* What is given back by hand is wanted again by a start or a reload; a unit that runs keeps its
 * own. */
TEST(release) {
        Ledger *ledger = full_ledger(arena);

        ledger_release(arena, ledger, "pg-main");
        ledger_release(arena, ledger, "new");
        assert_true(ledger_instance(ledger, "pg-main")->is_released);
        assert_int_equal(ledger_granted_pages(ledger_instance(ledger, "pg-main")), 0);
        assert_true(ledger_instance(ledger, "new")->is_released);
        assert_false(ledger_instance(ledger, "empty")->is_released);
        assert_int_equal(
                ledger_granted_pages(&ledger_hold(ledger, "pg.service", "pg-main")->granted), 17);
        ledger_want_again(ledger, "pg-main");
        ledger_want_again(ledger, "absent");
        assert_false(ledger_instance(ledger, "pg-main")->is_released);
        assert_true(ledger_instance(ledger, "new")->is_released);
        ledger_reload(ledger);
        assert_false(ledger_instance(ledger, "new")->is_released);
}

/* ---- JSON ---- */

static void assert_same(const Ledger *a, const Ledger *b) {
        json_t *first = ledger_to_json(a), *second = ledger_to_json(b);

        assert_true(json_equal(first, second));
        json_decref(first);
        json_decref(second);
}

static Ledger *read_ledger(Arena *arena, const json_t *json) {
        const char *lost = "not set";
        Ledger *ledger = ledger_from_json(arena, json, boot, &lost);

        /* Where nothing is taken it is said why. */
        assert_true(ledger ? !lost : lost && strcmp(lost, "not set") != 0);
        return ledger;
}

/* Written, read and written again. */
static char *instances_and_holds(Arena *arena, const Ledger *ledger) {
        json_t *first = ledger_to_json(ledger);
        const Ledger *read = read_ledger(arena, first);

        assert_non_null(read);
        assert_same(ledger, read);
        char *instances = json_dumps(json_object_get(first, "instances"), JSON_COMPACT);
        char *holds = json_dumps(json_object_get(first, "holds"), JSON_COMPACT);
        char *text = arena_printf(arena, "%s%s", instances, holds);

        free(instances);
        free(holds);
        json_decref(first);
        return text;
}

/* What was decided about the boot is read as it was written. */
TEST(round_trip_of_guard) {
        for (int guard = LEDGER_GUARD_UNDECIDED; guard <= LEDGER_GUARD_OPEN; guard++) {
                Ledger *ledger = full_ledger(arena);

                ledger->guard = (LedgerGuard) guard;
                json_t *json = ledger_to_json(ledger);

                assert_int_equal(read_ledger(arena, json)->guard, guard);
                json_decref(json);
        }
}

TEST(round_trip) {
        const Ledger *ledger = full_ledger(arena);
        json_t *json = ledger_to_json(ledger);
        const Ledger *read = read_ledger(arena, json);

        assert_non_null(read);
        assert_same(ledger, read);
        assert_int_equal(read->guard, LEDGER_GUARD_CLOSED);
        assert_int_equal(read->pools.n, 2);
        const LedgerInstance *instance = ledger_instance(read, "pg-main");

        assert_int_equal(instance->placement, PLACEMENT_PACK);
        assert_int_equal(instance->grants.n, 2);
        assert_int_equal(instance->grants.items[1].node, 2);
        assert_int_equal(instance->grants.items[1].pages, 5);
        const LedgerHold *hold = ledger_hold(read, "pg.service", "pg-main");

        assert_int_equal(hold->policy.kind, MEMORY_POLICY_BIND);
        assert_text(id_set_format(arena, &hold->policy.nodes), "0,2");
        assert_true(hold->is_counted);
        assert_false(hold->is_assumed || hold->is_tentative);
        assert_text(hold->run, "a1");
        assert_int_equal(hold->granted.grants.items[1].pages, 5);
        assert_int_equal(ledger_hold(read, "pg.service", "pg-old")->granted.pages_wanted, 3);
        assert_int_equal(ledger_hold(read, "ora.service", NULL)->policy.kind,
                         MEMORY_POLICY_INTERLEAVE);
        assert_int_equal(ledger_hold(read, "my.service", NULL)->policy.kind, MEMORY_POLICY_UNKNOWN);
        assert_int_equal(ledger_hold(read, "any.service", NULL)->policy.kind, MEMORY_POLICY_ANY);
        json_decref(json);
}

/* What a unit was started with is told by the name of its instance where that has the same still. */
TEST(what_goes_without_saying) {
        Ledger *ledger = ledger_new(arena, boot);
        LedgerInstance *instance = vec_push(arena, &ledger->instances);

        *instance = (LedgerInstance){.name = "pg", .page_size_bytes = 2 * MIB, .pages_wanted = 20};
        *vec_push(arena, &instance->grants) = (NodePages){0, 20};
        ledger_start(
                arena, ledger, "pg",
                &(LedgerHold){.unit = "pg.service", .run = "a1", .policy.kind = MEMORY_POLICY_ANY});
        instance->has_stood = instance->was_ready = true;
        assert_text(instances_and_holds(arena, ledger),
                    "[{\"name\":\"pg\",\"pageSizeBytes\":2097152,\"pagesWanted\":20,\"stood\":true,"
                    "\"nodes\":{\"0\":20}}]"
                    "[{\"unit\":\"pg.service\",\"run\":\"a1\",\"granted\":\"pg\"}]");
        instance->pages_wanted = instance->grants.items[0].pages = 30;
        instance->was_ready = false;
        assert_text(
                instances_and_holds(arena, ledger),
                "[{\"name\":\"pg\",\"pageSizeBytes\":2097152,\"pagesWanted\":30,\"stood\":true,\"unready\":true,"
                "\"nodes\":{\"0\":30}}]"
                "[{\"unit\":\"pg.service\",\"run\":\"a1\",\"granted\":{\"name\":\"pg\","
                "\"pageSizeBytes\":2097152,\"pagesWanted\":20,\"nodes\":{\"0\":20}}}]");
}

/* A reload under way may yet be taken back, and a daemon that is killed meanwhile has not made it. */
TEST(tentative_is_not_written) {
        Ledger *ledger = full_ledger(arena);
        size_t n = ledger->holds.n;

        *vec_push(arena, &ledger->holds) =
                running_make(arena, "hold x x 2M=0:9 tentative\n").holds.items[0];
        json_t *json = ledger_to_json(ledger);

        assert_int_equal(ledger_copy(arena, ledger)->holds.n, n + 1);
        assert_int_equal(read_ledger(arena, json)->holds.n, n);
        json_decref(json);
}

/* Who never had a page may be released all the same; but there are no pages of no size. */
TEST(released_round_trip) {
        Ledger *ledger = ledger_new(arena, boot);

        ledger_release(arena, ledger, "a");
        json_t *json = ledger_to_json(ledger);
        const Ledger *read = read_ledger(arena, json);

        assert_non_null(read);
        assert_true(ledger_instance(read, "a")->is_released);
        json_decref(json);
        *vec_push(arena, &ledger->instances.items[0].grants) = (NodePages){0, 1};
        json = ledger_to_json(ledger);
        assert_null(read_ledger(arena, json));
        json_decref(json);
}

TEST(empty_round_trip) {
        json_t *json = ledger_to_json(ledger_new(arena, boot));
        const char *lost;

        assert_null(json_object_get(json, "bootGuard"));
        assert_int_equal(read_ledger(arena, json)->guard, LEDGER_GUARD_UNDECIDED);
        assert_null(ledger_from_json(arena, json, "another boot", &lost));
        assert_text(lost, "is from another boot; a new one is started");
        assert_null(ledger_from_json(arena, json, "", &lost));
        json_decref(json);
}

/* Whatever observing and planning make of a ledger can be read back. */
TEST(lowered_pool_round_trip) {
        Ledger *ledger = ledger_new(arena, boot);

        ledger_observe(arena, ledger, host_with_pool(arena, "100"), NULL);
        ledger_observe(arena, ledger, host_with_pool(arena, "50"), NULL);
        json_t *json = ledger_to_json(ledger);

        assert_non_null(read_ledger(arena, json));
        json_decref(json);
}

TEST(copy) {
        const Ledger *ledger = full_ledger(arena);
        Ledger *copy = ledger_copy(arena, ledger);

        assert_same(ledger, copy);
        ledger_reload(copy);
        assert_int_equal(copy->guard, LEDGER_GUARD_OPEN);
        assert_int_equal(ledger->guard, LEDGER_GUARD_CLOSED);
        copy->instances.items[0].grants.items[0].pages = 99;
        copy->pools.items[0].found_pages = 99;
        assert_int_equal(ledger->instances.items[0].grants.items[0].pages, 15);
        assert_int_equal(ledger->pools.items[0].found_pages, 10);
        copy->holds.items[0].granted.grants.items[0].pages = 99;
        assert_int_equal(ledger->holds.items[0].granted.grants.items[0].pages, 12);
}

/* Any detail that is another makes another ledger, whether it is kept on disk or not. */
TEST(equals) {
        const Ledger *ledger = full_ledger(arena);
        Ledger *others[18];

        for (size_t i = 0; i < ARRAY_LEN(others); i++) {
                others[i] = ledger_copy(arena, ledger);
                ledger_note_refusal(arena, others[i], "pg-main", "a1", "no room");
        }
        assert_true(ledger_equals(others[0], others[1]));
        assert_false(ledger_equals(ledger, others[0]));
        others[1]->boot_id = "another boot";
        others[2]->guard = LEDGER_GUARD_OPEN;
        others[3]->pools.items[0].set_pages++;
        others[4]->pools.items[1].others_pages++;
        others[5]->instances.items[0].name = "pg";
        others[6]->instances.items[0].is_released = true;
        others[7]->instances.items[0].has_stood = true;
        others[8]->instances.items[0].grants.items[0].pages++;
        others[9]->instances.n--;
        others[10]->holds.items[0].run = "a2";
        others[11]->holds.items[0].is_counted = false;
        others[12]->holds.items[0].is_tentative = true;
        others[13]->holds.items[0].granted.pages_wanted++;
        id_set_add(&others[14]->holds.items[0].policy.nodes, 5);
        others[15]->refusals.items[0].text = "none";
        ledger_restore(arena, others[16], 2 * MIB, 1);
        others[17]->instances.items[0].was_ready = true;
        for (size_t i = 1; i < ARRAY_LEN(others); i++)
                if (ledger_equals(others[0], others[i]))
                        fail_msg("other %zu is the same", i);
}

/* A good ledger but for a value for PATH ("pools.0.node"); NULL takes the field away. */
static json_t *changed_ledger(Arena *arena, const char *path, const char *value_text) {
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
        return json;
}

/* What a later hugeplan adds is ignored, wherever it stands. */
TEST(other_versions) {
        static const struct {
                const char *path, *value;
        } cases[] = {
                {"version", "3"},
                {"more", "1"},
                {"pools.0.foreign", "1"},
                {"instances.0.held", "true"},
                {"holds.0.more", "[]"},
                {"holds.0.granted.more", "{}"},
                {"refusals.0.more", "null"},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                json_t *json = changed_ledger(arena, cases[i].path, cases[i].value);
                const Ledger *read = read_ledger(arena, json);

                if (!read)
                        fail_msg("not taken with %s = %s", cases[i].path, cases[i].value);
                assert_int_equal(ledger_granted_pages(ledger_instance(read, "pg-main")), 20);
                json_decref(json);
        }
}

/* By the first version that can read it, which the file says; of another, the pools are known. */
TEST(later_version) {
        json_t *json = changed_ledger(arena, "version", "9");
        const char *lost;
        const Ledger *read = ledger_from_json(arena, json, boot, &lost);

        assert_text(lost, "is of version 9, and this hugeplan reads version 3; only the "
                          "pages that existed before are taken from it: the pages that units "
                          "were started with are estimated from the kernel's counts");
        assert_int_equal(ledger_pool(read, 0, 2 * MIB)->found_pages, 10);
        assert_int_equal(read->instances.n + read->holds.n + read->refusals.n, 0);
        json_object_set_new(json, "version", json_integer(2));
        assert_int_equal(ledger_from_json(arena, json, boot, &lost)->holds.n, 0);
        json_object_set_new(json, "version", json_integer(9));
        json_object_set_new(json, "readableBy", json_integer(4));
        assert_int_equal(ledger_from_json(arena, json, boot, &lost)->holds.n, 0);
        json_object_set_new(json, "readableBy", json_integer(3));
        assert_same(read_ledger(arena, json), full_ledger(arena));
        json_decref(json);
}

static void assert_rejected(Arena *arena, const char *path, const char *value_text) {
        json_t *json = changed_ledger(arena, path, value_text);

        if (read_ledger(arena, json))
                fail_msg("taken with %s = %s", path, value_text ? value_text : "(missing)");
        json_decref(json);
}

TEST(broken) {
        static const struct {
                const char *path, *value;
        } cases[] = {
                {"version", "0"},
                {"version", "-1"},
                {"readableBy", "\"3\""},
                {"version", "\"3\""},
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
                {"pools.0", "7"},
                {"pools.0", "[]"},
                {"pools.0.others", NULL},
                {"instances.0.nodes", "[{\"node\":0,\"pages\":15}]"},
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
                {"pools.0.others", "-1"},
                {"pools.1", "{\"node\":0,\"pageSizeBytes\":2097152,\"found\":0,"
                            "\"set\":0}"}, /* the same pool twice */
                {"instances.0", "\"pg\""},
                {"instances.0.name", "\"\""},
                {"instances.0.name", "\"../etc\""},
                {"instances.0.name", "null"},
                {"instances.0.name", "\"empty\""}, /* twice */
                {"instances.0.pageSizeBytes", "0"},
                {"instances.0.pageSizeBytes", "-1"},
                {"instances.0.pagesWanted", "-1"},
                {"instances.0.pagesWanted", "1.0"},
                {"instances.0.placement", "\"interleaved\""},
                {"instances.0.released", "1"},
                {"instances.0.released", "null"},
                {"instances.0.stood", "1"},
                {"instances.0.nodes", "[15]"},
                {"instances.0.nodes", "[{\"node\":-1,\"pages\":5}]"},
                {"instances.0.nodes", "[{\"node\":0,\"pages\":0}]"},
                {"instances.0.nodes",
                 "[{\"node\":1,\"pages\":1},{\"node\":1,\"pages\":1}]"}, /* a node twice */
                {"instances.0.nodes", NULL},
                {"instances.0.nodes.-1", "5"},
                {"instances.0.nodes.1024", "5"},
                {"instances.0.nodes.18446744073709551616", "5"},
                {"instances.0.nodes.x", "5"},
                {"instances.0.nodes.00", "5"}, /* a node twice */
                {"instances.0.nodes.0", "0"},
                {"instances.0.nodes.0", "-5"},
                {"instances.0.nodes.0", "1.0"},
                {"instances.0.nodes.0", "[15]"},
                {"holds", NULL},
                {"holds", "{}"},
                {"holds.0", "\"pg.service\""},
                {"holds.0.unit", "\"\""},
                {"holds.0.unit", "\"../pg.service\""},
                {"holds.0.unit", "\"pg\""},
                {"holds.0.unit", "null"},
                {"holds.0.unit", NULL},
                {"holds.0.run", "null"},
                {"holds.0.run", NULL},
                {"holds.0.policy", "\"preferred\""},
                {"holds.0.policy", "null"},
                {"holds.0.policyNodes", "\"0-\""},
                {"holds.0.policyNodes", "\"1024\""},
                {"holds.0.policyNodes", "[0]"},
                {"holds.0.counted", "1"},
                {"holds.0.granted", NULL},
                {"holds.0.granted", "\"gone\""},    /* an instance that is not there */
                {"holds.1.granted", "\"pg-main\""}, /* a unit and an instance twice */
                {"holds.0.granted.name", "\"../etc\""},
                {"holds.0.granted.name", "\"pg-old\""}, /* a unit and an instance twice */
                {"holds.0.granted.nodes.0", "0"},
                {"holds.0.granted.nodes.02", "1"},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++)
                assert_rejected(arena, cases[i].path, cases[i].value);
}

TEST(not_an_object) {
        static const char *const texts[] = {"null", "7", "[]", "{}", "\"x\"", "true"};

        for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
                json_t *json = json_loads(texts[i], JSON_DECODE_ANY, NULL);

                assert_null(read_ledger(arena, json));
                json_decref(json);
        }
}
