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
        *vec_push(arena, &ledger->pools) = (LedgerPool){0, 2 * MIB, 10, 30, .added_pages = 4};
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

/* A hold ends with the control group of its unit: not while nothing is known of it, and not while something is. */
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

/* What is given back by hand is wanted again by a start or a reload; a unit that runs keeps its own. */
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

/* ---- the file ---- */

static void assert_same(Arena *arena, const Ledger *a, const Ledger *b) {
        assert_text(ledger_format(arena, a), ledger_format(arena, b));
}

static Ledger *parse(Arena *arena, const char *text) {
        const char *lost = "not set";
        Ledger *ledger = ledger_parse(arena, arena_strdup(arena, text), boot, &lost);

        /* Where nothing is taken it is said why. */
        assert_true(ledger ? !lost : lost && strcmp(lost, "not set") != 0);
        return ledger;
}

/* Written, read, and the same again. */
static Ledger *reread(Arena *arena, const Ledger *ledger) {
        Ledger *read = parse(arena, ledger_format(arena, ledger));

        assert_non_null(read);
        assert_same(arena, ledger, read);
        return read;
}

/* What was decided about the boot is read as it was written. */
TEST(round_trip_of_guard) {
        for (int guard = LEDGER_GUARD_UNDECIDED; guard <= LEDGER_GUARD_OPEN; guard++) {
                Ledger *ledger = full_ledger(arena);

                ledger->guard = (LedgerGuard) guard;
                assert_int_equal(reread(arena, ledger)->guard, guard);
        }
}

TEST(round_trip) {
        const Ledger *read = reread(arena, full_ledger(arena));

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
}

/* Each flag, a count of an instance without a unit, pages that were left, and a reason of several words. */
TEST(round_trip_of_the_rest) {
        Ledger *ledger = full_ledger(arena);
        LedgerInstance *instance = &ledger->instances.items[1];

        *instance = (LedgerInstance){.name = "empty",
                                     .is_released = true,
                                     .is_unitless = true,
                                     .likely_pages = 7,
                                     .was_complete = true,
                                     .was_ready = true};
        *vec_push(arena, &ledger->left) = (PageCount){2 * MIB, 9};
        ledger_note_refusal(arena, ledger, "pg-main", "", "no room - on node 0");
        const Ledger *read = reread(arena, ledger);

        assert_true(ledger_equals(ledger, read));
        assert_false(read->instances.items[0].was_complete || read->instances.items[0].is_unitless);
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
        instance->was_complete = instance->was_ready = true;
        reread(arena, ledger);
        assert_contains(ledger_format(arena, ledger),
                        "instance pg 2097152 20 spread 0:20 stood,ready 0\n"
                        "hold pg.service a1 any - - pg -\n");
        instance->pages_wanted = instance->grants.items[0].pages = 30;
        instance->was_ready = false;
        reread(arena, ledger);
        assert_contains(ledger_format(arena, ledger),
                        "instance pg 2097152 30 spread 0:30 stood 0\n"
                        "hold pg.service a1 any - - pg 2097152 20 spread 0:20 - 0\n");
}

/* A reload under way may yet be taken back, and a daemon that is killed meanwhile has not made it. */
TEST(tentative_is_not_written) {
        Ledger *ledger = full_ledger(arena);
        size_t n = ledger->holds.n;

        *vec_push(arena, &ledger->holds) =
                running_make(arena, "hold x x 2M=0:9 tentative\n").holds.items[0];
        assert_int_equal(ledger_copy(arena, ledger)->holds.n, n + 1);
        assert_int_equal(parse(arena, ledger_format(arena, ledger))->holds.n, n);
}

/* Who never had a page may be released all the same; but there are no pages of no size. */
TEST(released_round_trip) {
        Ledger *ledger = ledger_new(arena, boot);

        ledger_release(arena, ledger, "a");
        assert_true(ledger_instance(reread(arena, ledger), "a")->is_released);
        *vec_push(arena, &ledger->instances.items[0].grants) = (NodePages){0, 1};
        assert_null(parse(arena, ledger_format(arena, ledger)));
}

TEST(empty_round_trip) {
        const char *text = ledger_format(arena, ledger_new(arena, boot)), *lost;

        assert_int_equal(parse(arena, text)->guard, LEDGER_GUARD_UNDECIDED);
        assert_null(ledger_parse(arena, arena_strdup(arena, text), "another boot", &lost));
        assert_text(lost, "is from another boot; a new one is started");
        assert_null(ledger_parse(arena, arena_strdup(arena, text), "", &lost));
}

/* Whatever observing and planning make of a ledger can be read back. */
TEST(lowered_pool_round_trip) {
        Ledger *ledger = ledger_new(arena, boot);

        ledger_observe(arena, ledger, host_with_pool(arena, "100"), NULL);
        ledger_observe(arena, ledger, host_with_pool(arena, "50"), NULL);
        assert_non_null(parse(arena, ledger_format(arena, ledger)));
}

TEST(copy) {
        const Ledger *ledger = full_ledger(arena);
        Ledger *copy = ledger_copy(arena, ledger);

        assert_same(arena, ledger, copy);
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
        others[7]->instances.items[0].was_complete = true;
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

/* A good ledger but for BEFORE, the first of which is AFTER. */
static char *changed_ledger(Arena *arena, const char *before, const char *after) {
        const char *text = ledger_format(arena, full_ledger(arena)), *at = strstr(text, before);

        assert_non_null(at);
        return arena_printf(arena, "%.*s%s%s", (int) (at - text), text, after, at + strlen(before));
}

/* What a later hugeplan adds is ignored. */
TEST(other_versions) {
        static const char *const cases[][2] = {
                {"closed\n", "closed more\n"},
                {"pool 0 2097152 10 30 0 4\n", "pool 0 2097152 10 30 0 4 more 1\n"},
                {"pack 0:15,2:5 - 0\n", "pack 0:15,2:5 more,unready 0 more\n"},
                {"hold ora.service", "later and more\nhold ora.service"},
                {"end\n", "later\nend\n"},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                char *text = changed_ledger(arena, cases[i][0], cases[i][1]);

                /* A record of another kind needs a new version, words do not. */
                assert_int_equal(parse(arena, text) != NULL, !strstr(text, "later"));
                text[strlen("hugeplan-ledger ")] = '9';
                const Ledger *read = parse(arena, text);

                if (!read)
                        fail_msg("not taken with %s", cases[i][1]);
                assert_int_equal(ledger_granted_pages(ledger_instance(read, "pg-main")), 20);
                assert_int_equal(read->holds.n, full_ledger(arena)->holds.n);
        }
}

/* By the first version that can read it, which the file says; of another, the pools are known. */
TEST(later_version) {
        char *text = changed_ledger(arena, "ledger 1 1", "ledger 9 2");
        const char *lost;
        const Ledger *read = ledger_parse(arena, text, boot, &lost);

        assert_text(lost, "is of version 9, and this hugeplan reads version 1; only the "
                          "pages that existed before are taken from it: the pages that units "
                          "were started with are estimated from the kernel's counts");
        assert_int_equal(ledger_pool(read, 0, 2 * MIB)->found_pages, 10);
        assert_int_equal(read->instances.n + read->holds.n + read->refusals.n, 0);
        assert_int_equal(read->guard, LEDGER_GUARD_UNDECIDED);
        text = changed_ledger(arena, "1 1 8ac7e6f2-boot closed", "9 9 8ac7e6f2-boot ajar");
        assert_non_null(ledger_parse(arena, text, boot, &lost));
        text = changed_ledger(arena, "ledger 1 1", "ledger 9 1");
        assert_same(arena, parse(arena, text), full_ledger(arena));
}

TEST(broken) {
        static const char *const cases[][2] = {
                {"hugeplan-ledger", "ledger"},
                {"ledger 1 1", "ledger 0 1"},
                {"ledger 1 1", "ledger -1 1"},
                {"ledger 1 1", "ledger x 1"},
                {"ledger 1 1", "ledger 1 x"},
                {" 1 1 8ac7e6f2-boot closed", ""},
                {"8ac7e6f2-boot closed", ""},
                {"8ac7e6f2-boot", "other"},
                {" closed", ""},
                {"closed", "ajar"},
                {"pool 0", "pond 0"},
                {"pool 0 2097152 10 30 0", "pool"},
                {"pool 0 2097152 10 30 0 4", "pool 0 2097152 10 30"},
                {"pool 0 2097152 10 30 0 4", "pool 0 2097152 10 30 0 x"},
                {"pool 0 2097152 10 30 0", "pool 0 2097152 10 30 -1"},
                {"pool 0 2097152 10 30 0", "pool 0 2097152 10 30 x"},
                {"pool 0 2097152 10 30 0", "pool 0  2097152 10 30 0"},
                {"pool 0 2097152 10 30 0", "pool 0 2097152 10 9223372036854775808 0"},
                {"pool 0", "pool -1"},
                {"pool 0", "pool 1024"},
                {"pool 0", "pool 0.5"},
                {"pool 0 2097152", "pool 0 0"},
                {"pool 0 2097152", "pool 0 -2097152"},
                {"10 30", "-1 30"},
                {"10 30", "31 30"}, /* more than was set */
                {"10 30", "10 -1"},
                {"pool 2 1073741824 0 4", "pool 0 2097152 0 0"}, /* the same pool twice */
                {"instance pg-main 2097152 20 pack 0:15,2:5 - 0", "instance"},
                {"instance pg-main", "instance -"},
                {"instance pg-main", "instance ../etc"},
                {"instance pg-main", "instance empty"}, /* twice */
                {"pg-main 2097152 20", "pg-main 0 20"},
                {"pg-main 2097152 20", "pg-main -1 20"},
                {"pg-main 2097152 20", "pg-main 2097152 -1"},
                {"pg-main 2097152 20", "pg-main 2097152 1.0"},
                {"20 pack", "20 interleaved"},
                {"20 pack", "20 -"},
                {"0:15,2:5", "15"},
                {"0:15,2:5", "-1:5"},
                {"0:15,2:5", "0:0"},
                {"0:15,2:5", "0:1,0:1"}, /* a node twice */
                {"0:15,2:5", "0:1,00:1"},
                {"0:15,2:5", "1024:5"},
                {"0:15,2:5", "18446744073709551616:5"},
                {"0:15,2:5", "x:5"},
                {"0:15,2:5", "0:-5"},
                {"0:15,2:5", "0:1.0"},
                {"0:15,2:5", "0:5:1"},
                {"0:15,2:5", "0:5,"},
                {"0:15,2:5", ",0:5"},
                {"0:15,2:5 - 0", "0:15,2:5 -"},
                {"0:15,2:5 - 0", "0:15,2:5 - x"},
                {"0:15,2:5 - 0", "0:15,2:5"},
                {"hold pg.service", "hold -"},
                {"hold pg.service", "hold ../pg.service"},
                {"hold pg.service", "hold pg"},
                {"a1 bind", "a1 preferred"},
                {"a1 bind", "a1 -"},
                {"bind 0,2", "bind 0-"},
                {"bind 0,2", "bind 1024"},
                {"counted pg-main",
                 "counted gone -\nhold x.service"}, /* an instance that is not there */
                {"counted pg-main", "counted ../etc"},
                {"counted pg-main", "counted pg-old"}, /* a unit and an instance twice */
                {"0:12,2:5", "0:0,2:5"},
                {"0:12,2:5", "0:12,00:5"},
                {"end\n", ""},
                {"end\n", "end"},
                {"end\n", "end\nend\n"},
                {"end\n", "left 0 5\nend\n"},
                {"end\n", "left 2097152\nend\n"},
                {"end\n", "refusal ../etc no room\nend\n"},
                {"end\n", "refusal pg-main\nend\n"},
                {"end\n", "hold\nend\n"},
                {"end\n", "hold x.service r any - - pg-main\nend\n"},
                {"end\n", "\nend\n"},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++)
                if (parse(arena, changed_ledger(arena, cases[i][0], cases[i][1])))
                        fail_msg("taken with %s", cases[i][1]);
}

TEST(no_ledger) {
        static const char *const texts[] = {"", "\n", "{}", "hugeplan-ledger", "end\n"};

        for (size_t i = 0; i < ARRAY_LEN(texts); i++)
                assert_null(parse(arena, texts[i]));
}

/* A ledger that was cut off at any byte is not taken. */
TEST(cut_off) {
        const char *text = ledger_format(arena, full_ledger(arena));

        for (size_t n = 0; n < strlen(text); n++)
                assert_null(parse(arena, arena_strndup(arena, text, n)));
}
