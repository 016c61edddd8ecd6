/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The keeper on a host that is a directory, for tests that would be long as stories (test_keeper_stories.c): many
 * repetitions or variants, pools of larger pages, a full host. */

#include "support/play.h"
#include "support/testing.h"

#include "apply/host_apply.h"
#include "base/size.h"
#include "host/state.h"
#include "model/names.h"

#include <signal.h>
#include <sys/stat.h>

/* ---- gates ---- */

/* A unit that calls again and again while it starts, with other pages mapped each time, gets no additional page. */
PLAY_TEST(start_is_believed_once) {
        begin(play, "Pages=100\nNodes=0\nUnit=a.service", NULL);
        static const struct {
                uint64_t mapped, used;
        } uses[] = {{0, 0}, {100, 0}, {100, 100}, {30, 30}, {100, 60}};
        const char *const hold = "a 0:100; hold a.service/a 100 any counted run r1";

        round_of(play);
        start_unit(play, "a.service", 0, 0);
        for (size_t i = 0; i < 100; i++) {
                Gate gate = starting(play, "a", "a.service");

                use_pages(play, "a.service", uses[i % ARRAY_LEN(uses)].mapped,
                          uses[i % ARRAY_LEN(uses)].used);
                assert_text(pass_gate(play, &gate), "pass");
                assert_int_equal(play->pools[0].total + play->pools[1].total, 100);
                assert_int_equal(gate.is_starting, i == 0);
                if (i % 20 == 19)
                        assert_text(round_of(play), "-");
        }
        assert_text(state_text(play), hold);
        boot(play); /* not even from a daemon that was restarted */
        Gate gate = starting(play, "a", "a.service");

        assert_text(pass_gate(play, &gate), "pass");
        assert_false(gate.is_starting);
        assert_text(round_of(play), "-");
        assert_text(state_text(play), hold);
        use_pages(play, "a.service", 0, 0);
}

/* Two instances of one unit, in turn. */
PLAY_TEST(starts_of_one_unit_are_believed_once) {
        settle(play, "Pages=100\nNodes=0\nUnit=x.service", "Pages=30\nNodes=0\nUnit=x.service");
        start_unit(play, "x.service", 0, 0);
        for (size_t i = 0; i < 100; i++) {
                Gate gate = starting(play, i % 2 ? "b" : "a", "x.service");

                use_pages(play, "x.service", i < 2 ? 0 : 130, i < 2 ? 0 : i);
                assert_text(pass_gate(play, &gate), "pass");
                assert_int_equal(play->pools[0].total, 130);
                assert_int_equal(gate.is_starting, i < 2);
        }
        assert_text(state_text(play), "a 0:100; b 0:30; hold x.service/a 100 any counted run r1; "
                                      "hold x.service/b 30 any counted run r1");
        use_pages(play, "x.service", 0, 0);
}

/* ---- reload ---- */

/* Pages attributed to an instance without a unit belong to others once that instance is gone or needs fewer, never
 * to another instance. Only the name decides between two such instances: if one of them needs fewer pages or none,
 * the pages may have been its. */
PLAY_TEST(likely_stays) {
        static const struct {
                const char *name;
                const char *config; /* NULL: removed; "": released */
                uint64_t pages, after;
        } changes[] = {
                {"a", NULL, 250, 100},
                {"a", "Pages=50\nNodes=0", 250, 150},
                {"a", "", 250, 100},
                {"b", NULL, 300, 200},
                {"b", "Pages=40\nNodes=0", 300, 240},
                {"b", "Pages=1\nPageSize=1G\nNodes=0", 300, 200},
                {"b", "", 300, 200},
        };

        for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
                play->pools[0] = play->pools[1] = (PlayedPool){.most = UINT64_MAX};
                show_host(play);
                remove(tree_path(play->tree, PATH_LEDGER));
                settle(play, "Pages=200\nNodes=0", "Pages=100\nNodes=0");
                assert_int_equal(play->pools[0].total, 300);
                play->pools[0].used = 140;
                play->reserved = 10;
                show_host(play);
                round_of(play);
                if (!changes[i].config)
                        remove_config(play, changes[i].name);
                else if (*changes[i].config)
                        write_config(play, changes[i].name, changes[i].config);
                if (text_equals(changes[i].config, ""))
                        keeper_release(play->keeper, changes[i].name, play->now_usec);
                else
                        assert_int_equal(keeper_reload(play->keeper, true, play->now_usec),
                                         KEEPER_RELOAD_BEGUN);
                run(play);
                assert_int_equal(play->pools[0].total, changes[i].pages);
                assert_verdict(play, *changes[i].name == 'a' ? "b" : "a", "ready");
                assert_text(round_of(play), "-");
                boot(play);
                assert_text(round_of(play), "-");
                play->pools[0].used = play->reserved = 0;
                show_host(play);
                round_of(play);
                assert_int_equal(play->pools[0].total, changes[i].after);
        }
}

/* ---- what was done ---- */

/* The last 200 are kept without a gap. */
PLAY_TEST(attempts_are_bounded) {
        begin(play, "Pages=1000\nShortage=degrade", NULL);
        const Attempt *before = NULL;

        for (unsigned node = 0; node < NODES; node++)
                play->pools[node] = (PlayedPool){.most = 0, .more = 1};
        round_of(play);
        const Attempts *attempts = &keeper_judge(play->keeper, play->tree->arena, false)->attempts;

        assert_int_equal(attempts->n, 200);
        VEC_FOREACH(attempt, attempts) {
                if (before && before->node == attempt->node)
                        assert_int_equal(attempt->record.pages_before, before->record.pages_after);
                before = attempt;
        }
        assert_int_equal(before->node, 1);
        assert_int_equal(before->record.pages_after, play->pools[1].total);
}

/* ---- larger pages that are split ---- */

#define LARGE_FORMAT "/sys/devices/system/node/node%u/hugepages/hugepages-1048576kB/%s"

static void show_large_pool(const Play *play, unsigned node, unsigned pages) {
        static const char *const counts[] = {"nr_hugepages", "free_hugepages"};
        const Tree *tree = play->tree;

        for (size_t i = 0; i < ARRAY_LEN(counts); i++)
                tree_write(tree, arena_printf(tree->arena, LARGE_FORMAT, node, counts[i]),
                           arena_printf(tree->arena, "%u\n", pages));
        tree_write(tree, arena_printf(tree->arena, LARGE_FORMAT, node, "surplus_hugepages"), "0\n");
        tree_write(tree, arena_printf(tree->arena, LARGE_FORMAT, node, "demote"), "");
        tree_write(tree, arena_printf(tree->arena, LARGE_FORMAT, node, "demote_size"), "2048kB\n");
        tree_write(tree, "/sys/kernel/mm/hugepages/hugepages-1048576kB/resv_hugepages", "0\n");
        tree_write(tree, "/sys/kernel/mm/hugepages/hugepages-1048576kB/demote_size", "2048kB\n");
}

/* Pages that come from existing pages exist, too: they stay when no instance needs them. */
PLAY_TEST(split) {
        const char *wrong;
        ApplyOperation operation;

        for (unsigned node = 0; node < NODES; node++)
                show_large_pool(play, node, 2);
        set_pool(play, 0, NODE_PAGES); /* memory for no more */
        begin(play, "Pages=1100\nPageSize=2M\nNodes=0", NULL);
        keeper_begin(play->keeper, KEEPER_FRESH, 0);
        while (keeper_next(play->keeper, 0, &operation)) {
                assert_int_equal(operation.move.action, ESCALATION_DEMOTE);
                show_large_pool(play, 0, 1);
                set_pool(play, 0, NODE_PAGES + 512);
                keeper_done(play->keeper, &operation, 0, 1);
        }
        assert_verdict(play, "a", "ready");
        const Ledger *ledger = state_load(play->tree->root, play->tree->arena, "boot", &wrong);

        assert_int_equal(ledger_pool(ledger, 0, GIB)->found_pages, 1);
        assert_int_equal(ledger_pool(ledger, 0, 2 * MIB)->found_pages, NODE_PAGES + 512);
        remove_config(play, "a");
        keeper_reload(play->keeper, false, 0);
        assert_text(run(play), "-");
}

/* ---- parts (Shortage=degrade), and who gets their unmapped pages ---- */

#define PART "Pages=1500\nNodes=0\nUnit=a.service\nShortage=degrade\n"

static uint64_t limit_of(const Play *play, const char *unit) {
        const char *path = arena_printf(play->tree->arena, GROUPS "%s/hugetlb.2MB.rsvd.max", unit);
        uint64_t bytes;

        return root_read_u64(play->tree->root, path, &bytes) < 0 ? 0 : bytes / (2 * MIB);
}

/* The unit of a was started with a part of 1,000 pages, and has mapped some. */
static void begin_part(Play *play, const char *lines, uint64_t mapped) {
        Gate gate = starting(play, "a", "a.service");

        settle(play, lines, NULL);
        assert_text(let_start(play, &gate), "degraded");
        tree_write(play->tree, GROUPS "a.service/hugetlb.2MB.rsvd.current",
                   arena_printf(play->tree->arena, "%" PRIu64 "\n", mapped * 2 * MIB));
        play->reserved = mapped;
        show_host(play);
}

/* A unit keeps its pages of an instance whose file was removed, also when its database restarts within it. */
PLAY_TEST(limit_after_removal) {
        Gate first = starting(play, "a", "u.service"), second = starting(play, "b", "u.service");
        Gate again = starting(play, "a", "u.service");

        settle(play, "Pages=100\nNodes=0\nUnit=u.service\nIsolate=yes\n",
               "Pages=30\nNodes=0\nUnit=u.service\n");
        assert_text(let_start(play, &first), "pass");
        assert_text(pass_gate(play, &second), "pass");
        assert_int_equal(limit_of(play, "u.service"), 130);
        remove_config(play, "b");
        keeper_reload(play->keeper, false, play->now_usec);
        run(play);
        again.is_starting = false;
        again.is_restarting = true;
        const HostFiles before = break_host();

        assert_text(try_gate(play, &again, true), "wait");
        mend_host(&before);
        assert_text(pass_gate(play, &again), "pass");
        assert_int_equal(limit_of(play, "u.service"), 130);
}

/* A more important instance that is short gets as many of them as it lacks, and no more. */
TEST(more_important) {
        static const struct {
                const char *part;
                uint64_t mapped;
                unsigned priority;
                const char *answer;
                uint64_t left;     /* of the part, also by its limit; 0: nothing was taken */
                uint64_t others;   /* mapped pages */
                const char *later; /* a's file since its start; NULL: the same */
        } rows[] = {
                {PART, 0, 90, "pass", 940},
                {PART, 940, 90, "pass", 940},
                {PART, 980, 90, "refuse", 980},
                {PART, 1000, 90, "refuse", 0},
                {PART, 0, 50, "refuse", 0},
                {PART "Isolate=no\n", 0, 90, "refuse", 0},
                {PART, 0, 90, "pass", 640, 300},
                {PART, 0, 90, "pass", 940, 0,
                 "Pages=1500\nNodes=0\nUnit=c.service\nShortage=degrade\n"},
        };

        ARRAY_FOREACH(row, rows, ARRAY_LEN(rows)) {
                Play *play = play_new();
                Gate gate = starting(play, "b", "b.service");

                begin_part(play, row->part, row->mapped);
                if (row->later)
                        write_config(play, "a", row->later);
                write_config(play, "b",
                             arena_printf(play->tree->arena,
                                          "Pages=60\nNodes=0\nUnit=b.service\nPriority=%u\n",
                                          row->priority));
                keeper_reload(play->keeper, false, play->now_usec);
                run(play);
                start_unit(play, "b.service", 0, 0);
                play->reserved += row->others;
                show_host(play);
                assert_contains(pass_gate(play, &gate), row->answer);
                const LedgerHold *hold =
                        ledger_hold(keeper_look(play->keeper)->ledger, "a.service", "a");

                assert_int_equal(ledger_granted_pages(&hold->granted),
                                 row->left ? row->left : 1000);
                if (row->left)
                        assert_int_equal(limit_of(play, "a.service"), row->left);
                play_free(play);
        }
}

/* A gate that would pass with a part waits until the others are served. */
TEST(opens_last) {
        static const struct {
                unsigned priority;
                bool is_due, is_last;
                const char *answer;
        } rows[] = {
                {90, true, false, "b, which is more important, lacks pages"},
                {90, true, true, "degraded"},
                {90, false, false, "degraded"}, /* no more pages will come */
                {50, true, false, "degraded"},
        };

        ARRAY_FOREACH(row, rows, ARRAY_LEN(rows)) {
                Play *play = play_new();
                Gate gate = starting(play, "a", "a.service");

                begin(play, PART,
                      row->priority == 90 ? "Pages=2000\nNodes=0\nUnit=b.service\nPriority=90\n"
                                          : "Pages=2000\nNodes=0\nUnit=b.service\n");
                gate.is_due = row->is_due;
                gate.is_last = row->is_last;
                round_of(play);
                assert_contains(let_start(play, &gate), row->answer);
                play_free(play);
        }
}

/* Others have taken memory below KeepFree=: the node gets back the part's pages that are not mapped. */
TEST(host_is_short) {
        static const struct {
                uint64_t mapped, lost, left;
                bool runs;
        } rows[] = {
                {0, 100, 900, true},     {950, 100, 950, true}, {0, 100, 900, false},
                {1000, 100, 1000, true}, {0, 500, 500, false},  {0, 0, 1000, false},
        };

        ARRAY_FOREACH(row, rows, ARRAY_LEN(rows)) {
                Play *play = play_new();

                if (row->runs)
                        begin_part(play, PART, row->mapped);
                else {
                        settle(play, PART, NULL);
                }
                assert_int_equal(play->pools[0].total, 1000);
                play->pools[0].lost = row->lost;
                show_host(play);
                if (verify(play))
                        run(play);
                assert_int_equal(play->pools[0].total, row->left);
                /* Then nothing is left to do. */
                assert_false(verify(play));
                play_free(play);
        }
}

/* ---- what it writes besides ---- */

PLAY_TEST(guard_of_pool) {
        begin(play, "Pages=1\nNodes=0", NULL);
        struct stat before, after;

        assert_null(tree_read(play->tree, PATH_SYSCTL_GUARD));
        round_of(play);
        assert_text(tree_read(play->tree, PATH_SYSCTL_GUARD), guard_text(play->tree->arena, 1));
        /* A setting with the right value is not written again. */
        stat(tree_path(play->tree, PATH_SYSCTL_GUARD), &before);
        round_of(play);
        stat(tree_path(play->tree, PATH_SYSCTL_GUARD), &after);
        assert_int_equal(before.st_ino, after.st_ino);
        write_config(play, "a", "Pages=30\nNodes=0");
        keeper_reload(play->keeper, false, 0);
        run(play);
        assert_text(tree_read(play->tree, PATH_SYSCTL_GUARD), guard_text(play->tree->arena, 30));
        remove_config(play, "a");
        keeper_reload(play->keeper, false, 0);
        run(play);
        assert_null(tree_read(play->tree, PATH_SYSCTL_GUARD));
}

/* Files cannot grow, as on a full file system. */
static struct rlimit fill_host(void) {
        struct rlimit before;

        signal(SIGXFSZ, SIG_IGN);
        getrlimit(RLIMIT_FSIZE, &before);
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){0, before.rlim_max});
        return before;
}

/* A failed write of the ledger is reported, and tried again with the next round. */
PLAY_TEST(cannot_write) {
        ApplyOperation operation;

        tree_write(play->tree, PATH_THP "/enabled", "[always] madvise never\n");
        tree_write(play->tree, PATH_SHMMAX, "1024\n");
        tree_write(play->tree, PATH_SHMALL, "1\n");
        tree_write(play->tree, "/etc/hugeplan.d/00.conf",
                   "[Host]\nKeepFree=1G\nTransparentHugePages=never\n");
        begin(play, "Pages=100\nNodes=0\nEngine=oracle\nSharedMemory=sysv", NULL);
        const struct rlimit before = fill_host();

        keeper_begin(play->keeper, KEEPER_FRESH, 0);
        assert_contains(problems_of(play), "cannot set " PATH_THP "/enabled: File too large");
        assert_contains(problems_of(play), "cannot set " PATH_SHMMAX ": File too large");
        assert_null(strstr(text_string(&play->notices), " now "));
        while (keeper_next(play->keeper, 0, &operation)) {
                setrlimit(RLIMIT_FSIZE, &before);
                react(play, &operation);
                fill_host();
                keeper_done(play->keeper, &operation, 0, 1);
        }
        assert_contains(problems_of(play), "cannot write " PATH_LEDGER ": File too large; if");
        verify(play);
        setrlimit(RLIMIT_FSIZE, &before);
        assert_int_equal(count(&play->warnings, "cannot write " PATH_LEDGER ": File too large"), 1);
        assert_contains(text_string(&play->warnings),
                        "cannot keep " PATH_SYSCTL_GUARD " up to date: File too large");
        /* The next look stores it. */
        assert_text(state_text(play), "-");
        verify(play);
        assert_text(state_text(play), "a 0:100");
        assert_null(strstr(problems_of(play), "cannot write"));
        tree_write(play->tree, PATH_THP "/enabled", "[always] madvise never\n");
        tree_write(play->tree, PATH_SHMMAX, "1024\n");
        round_of(play);
        assert_null(strstr(problems_of(play), "cannot set"));
        assert_contains(text_string(&play->notices), "transparent huge pages are now 'never'");
        assert_contains(text_string(&play->notices), PATH_SHMMAX " is now 209715200");
        assert_text(state_text(play), "a 0:100");
}
