/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The ledger of promises: what is counted, what is estimated where nobody counts, and what is left for
 * others. */

#include "base/size.h"
#include "plan/promise/promise.h"
#include "support/testing.h"

/* Pages of 2M, of which 60 of node 0 and 30 of node 1 are in use, and 50 are reserved. */
static const char host[] = "sizes 1G 2M\n"
                           "node 0 total=20G 2M=100/40\n"
                           "node 1 total=20G 2M=80/50\n"
                           "node 2\n"
                           "reserved 2M=50\n";

static Promises make(Arena *arena, const char *host_text, const char *running) {
        const Topology *topology = host_make(arena, host_text);
        Running *who = ARENA_NEW(arena, Running);

        *who = running_make(arena, running);
        return promises_make(arena, topology, (size_t) topology_page_size_index(topology, 2 * MIB),
                             &who->holds, &who->use, ledger_of_idle(arena, topology));
}

static char *policy_text(Arena *arena, const MemoryPolicy *policy) {
        static const char *const kinds[] = {
                [MEMORY_POLICY_UNKNOWN] = "unknown",
                [MEMORY_POLICY_ANY] = "any",
                [MEMORY_POLICY_BIND] = "bind",
                [MEMORY_POLICY_INTERLEAVE] = "interleave",
        };

        return policy->kind >= MEMORY_POLICY_BIND
                       ? arena_printf(arena, "%s=%s", kinds[policy->kind],
                                      id_set_format(arena, &policy->nodes))
                       : arena_strdup(arena, kinds[policy->kind]);
}

/* "0:3 1:4"; "-" for none. */
static char *pages_text(Arena *arena, const Promises *promises, const uint64_t *pages) {
        Text text = text_in(arena);

        for (size_t i = 0; i < promises->topology->n_nodes; i++)
                if (pages[i] > 0)
                        text_printf(&text, "%s%u:%" PRIu64, text.length > 0 ? " " : "",
                                    promises->topology->nodes[i].id, pages[i]);
        return arena_strdup(arena, text.length > 0 ? text_string(&text) : "-");
}

/* One row to a line: "a.service any, used 0:3, promised 2, likely 0, owed 5 to 8", then what is others'. */
static char *promises_text(Arena *arena, const Promises *promises) {
        Text text = text_in(arena);

        VEC_FOREACH(row, &promises->list) {
                if (row->mount_of)
                        text_printf(&text, "mount of %s", row->mount_of);
                else
                        text_printf(&text, "%s %s", row->unit, policy_text(arena, &row->policy));
                text_printf(&text,
                            ", used %s, promised %" PRIu64 ", likely %" PRIu64 ", owed %" PRIu64,
                            pages_text(arena, promises, row->used), row->pages, row->likely_pages,
                            row->owed_pages);
                if (row->owed_most_pages != row->owed_pages)
                        text_printf(&text, " to %" PRIu64, row->owed_most_pages);
                text_add(&text, "\n");
        }
        text_printf(&text, "others: used %s, unknown %" PRIu64 ", theirs %" PRIu64,
                    pages_text(arena, promises, promises->others_used), promises->unknown_pages,
                    promises->others_promised_pages);
        return arena_strdup(arena, text_string(&text));
}

#define assert_promises(running, expected) assert_promises_on(host, (running), (expected))

#define assert_promises_on(host_text, running, expected)                      \
        do {                                                                  \
                const Promises made_ = make((arena), (host_text), (running)); \
                                                                              \
                assert_text(promises_text((arena), &made_), (expected));      \
        } while (0)

/* Nothing is known of them. */
TEST(without_use) {
        const Topology *topology = host_make(arena, host);
        const Running running = running_make(arena, "hold a.service a 2M=0:20 counted\n");
        const Promises promises = promises_make(arena, topology, 1, &running.holds, NULL,
                                                ledger_of_idle(arena, topology));

        assert_text(promises_text(arena, &promises),
                    "a.service any, used 0:20, promised 0, likely 0, owed 0\n"
                    "others: used 0:40 1:30, unknown 50, theirs 50");
}

/* ---- where nobody counts ---- */

/* Pages in use are its own as far as it was granted some, first where they were granted; of what is
 * reserved it likely has the rest. */
TEST(estimates) {
        static const struct {
                const char *hold, *expected;
        } cases[] = {
                {"2M=0:30", "a.service any, used 0:30, promised 0, likely 0, owed 0\n"
                            "others: used 0:30 1:30, unknown 50, theirs 50"},
                {"2M=0:70", /* 60 there, 10 elsewhere */
                 "a.service any, used 0:60 1:10, promised 0, likely 0, owed 0\n"
                 "others: used 1:20, unknown 50, theirs 50"},
                {"2M=0:70 bind=0", "a.service bind=0, used 0:60, promised 0, likely 10, owed 0\n"
                                   "others: used 1:30, unknown 50, theirs 40"},
                {"2M=0:70 interleave=0", /* takes others where one of them has none left */
                 "a.service interleave=0, used 0:60 1:10, promised 0, likely 0, owed 0\n"
                 "others: used 1:20, unknown 50, theirs 50"},
                {"2M=1:20/0:20", "a.service any, used 0:20 1:20, promised 0, likely 0, owed 0\n"
                                 "others: used 0:40 1:10, unknown 50, theirs 50"},
                {"2M=0:100/1:80", /* all that there is, and more than is reserved */
                 "a.service any, used 0:60 1:30, promised 0, likely 50, owed 40\n"
                 "others: used -, unknown 50, theirs 0"},
                {"2M=9:20", /* a node that has gone */
                 "a.service any, used 0:20, promised 0, likely 0, owed 0\n"
                 "others: used 0:40 1:30, unknown 50, theirs 50"},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++)
                assert_promises(
                        arena_printf(arena, "hold a.service a %s\nunit a.service\n", cases[i].hold),
                        cases[i].expected);
}

/* Nobody's estimate takes what is more likely another's: all who were granted pages of a node come before
 * those who may have strayed there. */
TEST(estimates_of_several) {
        assert_promises("hold a.service a 2M=1:50\n"
                        "hold b.service b 2M=0:50\n"
                        "unit a.service\nunit b.service\n",
                        "a.service any, used 0:10 1:30, promised 0, likely 10, owed 0\n"
                        "b.service any, used 0:50, promised 0, likely 0, owed 0\n"
                        "others: used -, unknown 50, theirs 40");
        /* The pages of node 0 may be b's, and a's still to come. */
        assert_promises("hold a.service a 2M=0:60 bind=0\n"
                        "hold b.service b 2M=1:90\n"
                        "unit a.service\nunit b.service\n",
                        "a.service bind=0, used 0:60, promised 0, likely 0, owed 0 to 10\n"
                        "b.service any, used 1:30, promised 0, likely 50, owed 10\n"
                        "others: used -, unknown 50, theirs 0");
        /* What is counted is not estimated again, whoever comes first. */
        assert_promises("hold a.service a 2M=0:50\n"
                        "hold b.service b 2M=1:50 counted\n"
                        "unit a.service\nunit b.service 2M=55/0:45\n",
                        "a.service any, used 0:15 1:30, promised 0, likely 5, owed 0\n"
                        "b.service any, used 0:45, promised 10, likely 0, owed 0\n"
                        "others: used -, unknown 40, theirs 35");
}

/* What is reserved goes to them in order, and is said of nobody twice. */
TEST(likely_promises) {
        assert_promises_on("sizes 2M\nnode 0 total=20G 2M=100\nreserved 2M=50\n",
                           "hold a.service a 2M=0:30\n"
                           "hold b.service b 2M=0:15 counted\n"
                           "hold c.service c 2M=0:30\n"
                           "unit a.service\nunit b.service 2M=15\nunit c.service\n",
                           "a.service any, used -, promised 0, likely 30, owed 0 to 25\n"
                           "b.service any, used -, promised 15, likely 0, owed 0\n"
                           "c.service any, used -, promised 0, likely 5, owed 25\n"
                           "others: used -, unknown 35, theirs 0");
}

/* It runs, and nobody knows what it was let start with: as much as its instance wants may be its own,
 * wherever it is. */
TEST(assumed) {
        Running running = running_make(arena, "hold a.service a 2M= wanted=70 unknown\n"
                                              "unit a.service 2M=5/0:5\n");
        const Topology *topology = host_make(arena, host);

        running.holds.items[0].is_assumed = true;
        const Promises promises = promises_make(arena, topology, 1, &running.holds, &running.use,
                                                ledger_of_idle(arena, topology));

        assert_text(promises_text(arena, &promises),
                    "a.service unknown, used 0:60 1:10, promised 0, likely 0, owed 0\n"
                    "others: used 1:20, unknown 50, theirs 50");
}

/* ---- mounts ---- */

/* What a mount earmarks is reserved until files use it, and nobody else's; nor is what they use. */
TEST(mounts) {
        static const struct {
                const char *mount, *expected;
        } cases[] = {
                {"mount m 2M=30/10", "mount of m, used 0:10, promised 20, likely 0, owed 0\n"
                                     "others: used 0:50 1:30, unknown 30, theirs 30"},
                {"mount m 2M=30/30", "mount of m, used 0:30, promised 0, likely 0, owed 0\n"
                                     "others: used 0:30 1:30, unknown 50, theirs 50"},
                {"mount m 2M=0/70", "mount of m, used 0:60 1:10, promised 0, likely 0, owed 0\n"
                                    "others: used 1:20, unknown 50, theirs 50"},
                {"mount m 2M=1/0", "mount of m, used -, promised 1, likely 0, owed 0\n"
                                   "others: used 0:60 1:30, unknown 49, theirs 49"},
                {"mount m 2M=0/1", "mount of m, used 0:1, promised 0, likely 0, owed 0\n"
                                   "others: used 0:59 1:30, unknown 50, theirs 50"},
                {"mount m 1G=30/0", "others: used 0:60 1:30, unknown 50, theirs 50"},
                /* Earmarked and not reserved: files must have it, though nobody knows of them. */
                {"mount m 2M=70/0", "mount of m, used 0:20, promised 50, likely 0, owed 0\n"
                                    "others: used 0:40 1:30, unknown 0, theirs 0"},
                /* The unit's that runs: what it has mapped there is counted for it, too. */
                {"mount m 2M=30/10\nhold m.service m 2M=1:30 counted\nunit m.service 2M=0",
                 "m.service any, used 1:10, promised 20, likely 0, owed 0\n"
                 "others: used 0:60 1:20, unknown 30, theirs 30"},
                {"mount m 2M=30/10\nhold m.service m 2M=1:40 counted\nunit m.service 2M=30/1:10",
                 "m.service any, used 1:10, promised 20, likely 0, owed 10\n"
                 "others: used 0:60 1:20, unknown 30, theirs 30"},
                /* Ten pages were touched by an earlier run. */
                {"mount m 2M=30/30\nhold m.service m 2M=1:30 counted\nunit m.service 2M=20/1:5",
                 "m.service any, used 1:15, promised 15, likely 0, owed 0\n"
                 "others: used 0:60 1:15, unknown 35, theirs 35"},
                /* What is mapped in a file counts as its, touched or not: these it has all mapped itself. */
                {"mount m 2M=0/25\nhold m.service m 2M=1:25 counted\nunit m.service 2M=25",
                 "m.service any, used -, promised 25, likely 0, owed 0\n"
                 "others: used 0:60 1:30, unknown 25, theirs 25"},
                {"mount m 2M=10/25\nhold m.service m 2M=1:40 counted\nunit m.service 2M=20/1:5",
                 "m.service any, used 1:10, promised 15, likely 0, owed 15\n"
                 "others: used 0:60 1:20, unknown 35, theirs 35"},
                /* Files that were left behind have ten that nobody has touched. */
                {"mount m 2M=0/100", "mount of m, used 0:60 1:30, promised 10, likely 0, owed 0\n"
                                     "others: used -, unknown 40, theirs 40"},
                {"mount m 2M=30/10\nhold m.service m 2M=1:35\nunit m.service",
                 "m.service any, used 1:15, promised 20, likely 0, owed 0\n"
                 "others: used 0:60 1:15, unknown 30, theirs 30"},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++)
                assert_promises(cases[i].mount, cases[i].expected);
}

/* Of an instance without a unit pages are estimated: by what its own mount has, where it has one. */
TEST(loose) {
        static const struct {
                const char *mounts;
                size_t n_rows;
                uint64_t pages;
                const char *used;
        } cases[] = {
                {"", 1, 20, "0:20"},
                {"mount a 2M=30/10\n", 2, 20, "0:20"},
                {"mount m 2M=5/0\n", 1, 15, "0:15"}, /* the others it has earmarked */
                {"mount a 2M=30/10\nmount m 2M=5/0\n", 2, 15, "0:15"},
        };
        const Topology *topology = host_make(arena, host);

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                Running who = running_make(
                        arena, arena_printf(arena, "hold x m 2M=0:20 bind=0\n%s", cases[i].mounts));

                who.holds.items[0].unit = NULL;
                const Promises promises = promises_make(arena, topology, 1, &who.holds, &who.use,
                                                        ledger_of_idle(arena, topology));
                const Promise *last = &promises.list.items[promises.list.n - 1];

                assert_int_equal(promises.list.n, cases[i].n_rows);
                assert_text(last->loose, "m");
                assert_text(policy_text(arena, &last->policy), "bind=0");
                assert_text(pages_text(arena, &promises, last->used), cases[i].used);
                for (size_t k = 0; k + 1 < promises.list.n; k++)
                        assert_null(promises.list.items[k].loose);
                assert_int_equal(promises_loose_pages(&promises, "m"), cases[i].pages);
                assert_int_equal(promises_loose_pages(&promises, "a"), 0);
        }
}

/* ---- policies and cpusets ---- */

/* A cpuset binds whatever the policy says; where it leaves all nodes with memory, it does not. */
TEST(cpusets) {
        static const struct {
                const char *policy, *mems, *expected;
        } cases[] = {
                {"", "0-2", "any"},
                {"", "0-1", "any"}, /* node 2 has no memory */
                {"", "1", "bind=1"},
                {"", "1-2", "bind=1-2"},
                {" bind=0-1", "1", "bind=1"},
                {" bind=0", "0-1", "bind=0"},
                {" bind=0", "1", "bind=1"},
                {" interleave=0-1", "1", "bind=1"},
                {" interleave=1", "1-2", "bind=1-2"},
                {" interleave=0-1", "0-1", "interleave=0-1"},
                {" unknown", "0", "bind=0"},
                {" unknown", "1-2", "unknown"},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                const Promises promises = make(arena, host,
                                               arena_printf(arena,
                                                            "hold a.service a 2M=0:1%s counted\n"
                                                            "unit a.service 2M=1 mems=%s\n",
                                                            cases[i].policy, cases[i].mems));

                assert_text(policy_text(arena, &promises.list.items[0].policy), cases[i].expected);
        }
}

/* Counts that do not belong together make pages of units look like others': these have no more than before. */
TEST(moving_counts) {
        static const struct {
                bool is_moving;
                const char *others;
        } cases[] = {{false, "0:60 1:30"}, {true, "0:20 1:30"}};
        const Topology *topology = host_make(arena, host);
        Ledger *ledger = ledger_of_idle(arena, topology);
        const LedgerHolds nobody = {};

        VEC_FOREACH(pool, &ledger->pools)
                pool->others_pages = pool->page_size_bytes == 2 * MIB ? pool->node == 0 ? 20 : 50
                                                                      : 0;
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                const HostUse use = {.is_moving = cases[i].is_moving};
                const Promises promises = promises_make(arena, topology, 1, &nobody, &use, ledger);

                assert_text(pages_text(arena, &promises, promises.others_used), cases[i].others);
        }
}

TEST(find) {
        const Promises promises = make(arena, host,
                                       "hold a.service a 2M=0:1\nhold b.service b 2M=0:1\n"
                                       "unit a.service\nunit b.service\nmount m 2M=5/0\n");

        assert_text(promises_find(&promises, "b.service")->unit, "b.service");
        assert_null(promises_find(&promises, "c.service"));
        assert_int_equal(promises.list.n, 3);
}
