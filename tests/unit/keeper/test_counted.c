/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The kernel's count for a unit: when it is final, what is stored of it, and what it gives back. */

#include "support/play.h"
#include "support/testing.h"

#include "base/size.h"
#include "host/config_load.h"
#include "host/state.h"

/* A unit that was started with 120 pages, or with LEARNED. */
static void start_learned(Play *play, const char *lines, const char *learned) {
        Gate gate = starting(play, "a", "a.service");

        tree_write(play->tree, "/etc/hugeplan.d/a.conf.d/90-learned.conf",
                   arena_printf(play->tree->arena, "[Instance]\n%s", learned));
        settle(play, arena_printf(play->tree->arena, "%s\nNodes=0\nUnit=a.service", lines), NULL);
        let_start(play, &gate);
}

/* The result of a look this many seconds later: "100 exact of 120 14.5", or "-". */
static const char *counted(Play *play, unsigned seconds) {
        const Config *files = config_load(play->tree->root, play->tree->arena, NULL);

        play->now_usec += seconds * USEC_PER_SEC;
        if (verify_as(play, false, false))
                run(play);
        const LearnedNewsList news =
                keeper_count(play->keeper, play->tree->arena, files, play->now_usec);
        if (news.n == 0)
                return "-";
        const LearnedNews *one = news.items;
        const Seen *seen = &one->learned.seen;

        assert_int_equal(news.n, 1);
        assert_text(one->instance->name, "a");
        assert_text(seen->unit, "a.service");
        const LearnedFile file = learned_file(play->tree->arena, one->instance, &one->learned);

        assert_int_equal(root_store_file(play->tree->root, file.path, file.text), 0);
        return arena_printf(play->tree->arena, "%" PRIu64 "%s of %" PRIu64 " %s",
                            page_counts_find(&seen->pages, 2 * MIB), seen->is_exact ? " exact" : "",
                            page_counts_find(&seen->base, 2 * MIB),
                            seen->version ? seen->version : "-");
}

#define LEARNED "Pages=2M:120\nX-Version=14.5\n"

/* Granted pages that the unit has not mapped are given back while it runs, and no more. */
PLAY_TEST(counted) {
        start_learned(play, "Engine=postgresql\nIsolate=yes", LEARNED);

        assert_true(keeper_is_counting(play->keeper, true));
        assert_false(keeper_is_counting(play->keeper, false));
        assert_text(counted(play, 5), "-");
        use_pages(play, "a.service", 90, 40);
        assert_text(counted(play, 5), "-");
        use_pages(play, "a.service", 100, 40); /* not final yet */
        assert_text(counted(play, 5), "-");
        assert_text(counted(play, 3), "-");
        assert_true(keeper_is_counting(play->keeper, false));
        tree_write(play->tree, GROUPS "a.service/hugetlb.2MB.rsvd.max", "251658240\n");
        assert_text(counted(play, 2), "100 exact of 120 14.5");
        assert_false(keeper_is_counting(play->keeper, true));
        assert_text(tree_read(play->tree, GROUPS "a.service/hugetlb.2MB.rsvd.max"), "209715200\n");
        assert_text(run(play), "0:100");
        assert_text(state_text(play), "a 0:100; hold a.service/a 100 any counted run r1");
        assert_null(status_of(play, "a")->until_restart);
        assert_verdict(play, "a", "ready");
        assert_int_equal(
                count(&play->notices, "was determined to need 100 pages of 2M (before: 120)"), 1);
        assert_text(counted(play, 60), "-");
        /* The next keeper stores the same, and waits from the beginning. */
        boot(play);
        round_of(play);
        assert_text(state_text(play), "a 0:100; hold a.service/a 100 any counted run r1");
        assert_text(counted(play, 5), "-");
        assert_text(counted(play, 5), "-");
        use_pages(play, "a.service", 0, 0);
}

/* The effect of MAPPED pages that no longer change on plan and hold. */
TEST(counted_rows) {
        static const char pg[] = "Engine=postgresql", java[] = "Engine=jvm", own[] = "Memory=auto";
        static const char fixed[] = "Pages=2M:120\nX-Version=17\nX-Settings=1\nX-Fixed=yes\n";
        static const char *const gone = NULL;
        static const struct {
                const char *lines, *learned;
                uint64_t mapped;
                const char *events, *is, *state; /* events NULL: unreadable */
        } rows[] = {
                {pg, LEARNED, 100, "max 0", "100 exact of 120 14.5",
                 "a 0:100; hold a.service/a 100"},
                /* The kernel has refused pages, or that is unknown. */
                {pg, LEARNED, 100, "max 1", "100 of 120 14.5", "a 0:120; hold a.service/a 120"},
                {pg, LEARNED, 100, gone, "100 of 120 14.5", "a 0:120; hold a.service/a 120"},
                /* All pages of the host: the unit may have wanted more. */
                {pg, LEARNED, 120, "max 0", "120 of 120 14.5", "a 0:120; hold a.service/a 120"},
                /* Far from the figure of its settings: incomplete, or the settings are others. */
                {pg, LEARNED, 60, "max 0", "-", "a 0:120; hold a.service/a 120"},
                /* The server maps more than it has answered. */
                {pg, LEARNED "X-Exact=yes\n", 200, "max 0", "200 of 120 14.5",
                 "a 0:200; hold a.service/a 120"},
                /* A figure learned while the unit ran applies to its next start. */
                {pg, LEARNED "X-Running=yes\n", 100, "max 0", "100 exact of 0 -",
                 "a 0:120; hold a.service/a 120"},
                /* An engine that may map more gives back nothing; otherwise its new figure applies. */
                {java, "Pages=2M:120\nX-Version=17\n", 116, "max 0", "116 exact of 120 17",
                 "a 0:120; hold a.service/a 120"},
                {java, fixed, 116, "max 0", "116 exact of 120 17", "a 0:116; hold a.service/a 120"},
                {java, fixed, 90, "max 0", "90 exact of 120 17", "a 0:120; hold a.service/a 120"},
                /* An explicit size stays. */
                {"Engine=mariadb\nPages=120", "", 100, "max 0", "100 exact of 0 -",
                 "a 0:120; hold a.service/a 120"},
                /* Without any figure, the grant that the unit has mapped is its size. */
                {own, "X-Seen=2M:120\nX-SeenUnit=a.service\n", 120, "max 0", "120 exact of 0 -",
                 "a 0:120; hold a.service/a 120"},
                {own, "X-Seen=2M:120\nX-SeenUnit=a.service\n", 120, "max 3", "-",
                 "a 0:120; hold a.service/a 120"},
                {own, "X-Seen=2M:120\nX-SeenUnit=a.service\n", 100, "max 0", "100 exact of 0 -",
                 "a 0:100; hold a.service/a 120"},
                {own, "", 100, "max 0", "100 of 0 -", "a 0:100"},
                {own, "", 0, "max 0", "-", "-"},
        };

        ARRAY_FOREACH(row, rows, ARRAY_LEN(rows)) {
                Play *play = play_new();
                const char *events = GROUPS "a.service/hugetlb.2MB.events";

                start_learned(play, row->lines, row->learned);
                play->pools[0].total = MAX(play->pools[0].total, row->mapped);
                use_pages(play, "a.service", row->mapped, 40 * (row->mapped > 0));
                if (row->events)
                        tree_write(play->tree, events,
                                   arena_printf(play->tree->arena, "%s\n", row->events));
                else
                        assert_int_equal(remove(tree_path(play->tree, events)), 0);
                counted(play, 5);
                assert_text(counted(play, 5), row->is);
                run(play);
                const char *state_now = state_text(play);

                assert_text(arena_strdup_to(play->tree->arena, state_now,
                                            state_now + strlen(row->state)),
                            row->state);
                use_pages(play, "a.service", 0, 0);
                play_free(play);
        }
}

/* Two instances of one unit cannot be distinguished. */
PLAY_TEST(counted_together) {
        write_config(play, "b", "Engine=postgresql\nPages=50\nUnit=a.service");
        start_learned(play, "Engine=postgresql", LEARNED);
        use_pages(play, "a.service", 100, 40);
        for (int i = 0; i < 3; i++)
                assert_text(counted(play, 5), "-");
        use_pages(play, "a.service", 0, 0);
}

/* The count includes pages of an earlier run's processes: nothing is learned, and nothing given back. */
PLAY_TEST(counted_left_behind) {
        Gate gate = starting_as(play, "a", "a.service", "r2");

        start_learned(play, "Engine=jvm", LEARNED);
        use_pages(play, "a.service", 100, 100);
        assert_text(pass_gate(play, &gate), "pass");
        counted(play, 5);
        assert_text(counted(play, 5), "-");
        use_pages(play, "a.service", 220, 100);
        counted(play, 5);
        assert_text(counted(play, 5), "-");
        assert_int_equal(play->pools[0].total, 220);
        use_pages(play, "a.service", 0, 0);
}

/* A count above the grant is the size of the next start. A file that was changed in between does not belong to this
 * start. */
PLAY_TEST(counted_more) {
        start_learned(play, "Engine=mariadb", LEARNED);

        play->pools[0].total = 200;
        use_pages(play, "a.service", 130, 40);
        counted(play, 5);
        write_config(play, "a", "Engine=mariadb\nUnit=b.service");
        assert_text(counted(play, 5), "-");
        write_config(play, "a", "Engine=mariadb\nNodes=0\nUnit=a.service");
        use_pages(play, "a.service", 131, 40);
        counted(play, 5);
        assert_text(counted(play, 5), "131 exact of 120 14.5");
        run(play);
        assert_int_equal(plan_find(keeper_look(play->keeper)->plan, "a")->pages_wanted, 131);
        assert_verdict(play, "a", "ready");
        use_pages(play, "a.service", 0, 0);
}
