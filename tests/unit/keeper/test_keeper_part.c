/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Parts of what instances want (Shortage=degrade), and who may have of them what nobody has mapped. */

#include "support/play.h"
#include "support/testing.h"

#include "base/size.h"

#define PART "Pages=1500\nNodes=0\nUnit=a.service\nShortage=degrade\n"

static uint64_t limit_of(const Play *play, const char *unit) {
        const char *path = arena_printf(play->tree->arena, GROUPS "%s/hugetlb.2MB.rsvd.max", unit);
        uint64_t bytes;

        return root_read_u64(play->tree->root, path, &bytes) < 0 ? 0 : bytes / (2 * MIB);
}

/* a was let start with a part of 1,000 pages, and has mapped some. */
static void begin_part(Play *play, const char *lines, uint64_t mapped) {
        Gate gate = starting(play, "a", "a.service");

        settle(play, lines, NULL);
        assert_text(let_start(play, &gate), "degraded");
        tree_write(play->tree, GROUPS "a.service/hugetlb.2MB.rsvd.current",
                   arena_printf(play->tree->arena, "%" PRIu64 "\n", mapped * 2 * MIB));
        play->reserved = mapped;
        show_host(play);
}

/* Whoever is more important and short has as many of them as it misses, and no more. */
TEST(more_important) {
        static const struct {
                const char *part;
                uint64_t mapped;
                unsigned priority;
                const char *answer;
                uint64_t left;   /* to the part, by its limit too; 0: nothing was taken */
                uint64_t others; /* have mapped so many */
        } rows[] = {
                {PART, 0, 90, "pass", 940},      {PART, 940, 90, "pass", 940},
                {PART, 980, 90, "refuse", 980},  {PART, 1000, 90, "refuse", 0},
                {PART, 0, 50, "refuse", 0},      {PART "Isolate=no\n", 0, 90, "refuse", 0},
                {PART, 0, 90, "pass", 640, 300},
        };

        ARRAY_FOREACH(row, rows, ARRAY_LEN(rows)) {
                Play *play = play_new();
                Gate gate = starting(play, "b", "b.service");

                begin_part(play, row->part, row->mapped);
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

/* Somebody has made its pool large enough for all of it, out of what KeepFree= leaves: what its unit would give up of its
 * part, its next start would have. */
PLAY_TEST(made_whole) {
        begin_part(play, PART, 0);

        play->pools[0].total = 1500;
        play->pools[0].lost = 100;
        show_host(play);
        for (int i = 0; i < 3; i++) {
                if (verify(play))
                        run(play);
        }
        const LedgerHold *hold = ledger_hold(keeper_look(play->keeper)->ledger, "a.service", "a");

        assert_int_equal(ledger_granted_pages(&hold->granted), 1000);
        assert_int_equal(play->pools[0].total, 1500);
}

/* A gate that would open for a part opens last. */
TEST(opens_last) {
        static const struct {
                unsigned priority;
                bool is_due, is_last;
                const char *answer;
        } rows[] = {
                {90, true, false, "b, which is more important, lacks pages"},
                {90, true, true, "degraded"},
                {90, false, false, "degraded"}, /* nothing will come */
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

/* Others have taken memory of what KeepFree= leaves: the node has it back, as far as nobody has mapped it. */
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
