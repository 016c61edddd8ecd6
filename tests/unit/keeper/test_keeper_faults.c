/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A keeper on a host that is unreadable, or has an unreadable file: it draws no conclusion from that, reports it
 * once, and tries again. property/test_read_faults.c does the same for every single read. Linked with
 * --wrap=look_make. */

#include "support/play.h"
#include "support/testing.h"

#include "base/size.h"
#include "host/state.h"
#include "model/names.h"

#include <errno.h>
#include <unistd.h>

/* The number of the look that fails; 0: none. */
static struct {
        unsigned n, at;
        int error;
        const char *path;
} looks = {.error = -EIO, .path = "/sys/a"};

Look *__real_look_make(Arena *arena, const LookInput *input);
Look *__wrap_look_make(Arena *arena, const LookInput *input);

Look *__wrap_look_make(Arena *arena, const LookInput *input) {
        Look *look = __real_look_make(arena, input);

        if (++looks.n == looks.at)
                look->fault = (ReadFault){looks.error, looks.path};
        return look;
}

static KeeperReload reload_failing(Play *play, unsigned at, bool is_forced) {
        looks.n = 0;
        looks.at = at;
        KeeperReload state = keeper_reload(play->keeper, is_forced, play->now_usec);

        looks.at = 0;
        return state;
}

/* The previous state stays. The fault is reported once, and so is its end. */
PLAY_TEST(host_cannot_be_read) {
        settle(play, "Pages=100\nNodes=0", NULL);
        const HostFiles before = break_host();

        for (int i = 0; i < 2; i++) {
                play->wants_repair = false;
                assert_false(verify_as(play, true, true));
                assert_true(play->wants_repair);
                assert_true(keeper_wants_retry(play->keeper, UINT64_MAX));
                assert_text(round_of(play), "-");
        }
        assert_int_equal(keeper_reload(play->keeper, true, 0), KEEPER_RELOAD_REJECTED);
        keeper_release(play->keeper, "a", 0);
        assert_text(run(play), "-");
        assert_int_equal(keeper_pool_changes(play->keeper, play->tree->arena).n, 0);
        assert_int_equal(keeper_look(play->keeper)->plan->n_instances, 1);
        mend_host(&before);
        assert_int_equal(count(&play->warnings,
                               "cannot be read: Too many open files; plan and pages "
                               "stay as they are"),
                         1);
        assert_null(strstr(text_string(&play->notices), "can be read again"));
        /* Problems are shown until the next attempt. */
        assert_contains(problems_of(play), "cannot be read: Too many open files");
        /* Requests that arrived meanwhile are performed now. */
        assert_true(verify(play));
        assert_false(play->wants_repair);
        assert_text(run(play), "0:0");
        assert_int_equal(count(&play->notices, "can be read again"), 1);
        assert_null(strstr(problems_of(play), "cannot be read"));
        assert_false(keeper_wants_retry(play->keeper, 0));
}

/* Each look of a reload: the dry run, by the new configuration, without kept pages, with all kept pages, and
 * without. If one fails, nothing has happened; if none fails, the reload begins. */
PLAY_TEST(looks_of_reload) {
        Arena *arena = play->tree->arena;

        settle(play, "Pages=600\nNodes=0", "Pages=300\nNodes=0");
        write_config(play, "a", "Pages=600\nNodes=1");
        write_config(play, "b", "Pages=900\nNodes=0");
        for (unsigned at = 1; at <= 5; at++) {
                assert_int_equal(reload_failing(play, at, false), KEEPER_RELOAD_REJECTED);
                assert_int_equal(looks.n, at);
                assert_false(keeper_is_working(play->keeper));
                assert_int_equal(keeper_reload_result(play->keeper).state, KEEPER_RELOAD_REJECTED);
                assert_int_equal(count(&play->warnings, "the previous plan stays in effect"), at);
                assert_int_equal(count(&play->warnings, "there is no memory"), 0);
                assert_grants(keeper_look(play->keeper)->plan, "a", "0:600");
                assert_grants(keeper_look(play->keeper)->plan, "b", "0:300");
                assert_text(round_of(play), "-");
        }
        assert_int_equal(reload_failing(play, 0, false), KEEPER_RELOAD_BEGUN);
        assert_int_equal(keeper_reload_result(play->keeper).state, KEEPER_RELOAD_BEGUN);
        /* The kept pages of a did not fit. */
        assert_grants(keeper_look(play->keeper)->plan, "a", "1:600");
        assert_grants(keeper_look(play->keeper)->plan, "b", "0:900");
        assert_text(run(play), "1:512 1:600");
        assert_int_equal(keeper_reload_result(play->keeper).state, KEEPER_RELOAD_APPLIED);
        assert_text(state_text(play), "a 1:600; b 0:900");
}

/* Another error or another path is reported, the same one is not. */
PLAY_TEST(faults_are_reported_once_each) {
        static const struct {
                int error;
                const char *path;
                size_t n_told;
        } cases[] = {
                {-EIO, "/sys/a", 1},
                {-EIO, "/sys/a", 1},
                {-EIO, "/sys/b", 2},
                {-ENOMEM, "/sys/b", 3},
        };

        settle(play, "Pages=100\nNodes=0", NULL);
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                looks = (typeof(looks)){.at = 1, .error = cases[i].error, .path = cases[i].path};
                assert_false(verify(play));
                assert_int_equal(count(&play->warnings, "cannot be read: "), cases[i].n_told);
        }
        looks = (typeof(looks)){.error = -EIO, .path = "/sys/a"};
}

/* With --force nothing is kept, so there are two looks. */
PLAY_TEST(looks_of_forced_reload) {
        settle(play, "Pages=100\nNodes=0", NULL);
        write_config(play, "a", "Pages=100\nNodes=1");
        for (unsigned at = 1; at <= 2; at++) {
                assert_int_equal(reload_failing(play, at, true), KEEPER_RELOAD_REJECTED);
                assert_int_equal(looks.n, at);
                assert_text(round_of(play), "-");
        }
        assert_int_equal(reload_failing(play, 0, true), KEEPER_RELOAD_BEGUN);
        assert_text(run(play), "0:0 1:100");
        assert_int_equal(keeper_reload_result(play->keeper).state, KEEPER_RELOAD_APPLIED);
}

/* The same for a pool that disappears and comes back. */
PLAY_TEST(pool_goes_away) {
        ApplyOperation operation;
        const char *path = arena_printf(play->tree->arena, POOL_FORMAT, 0u, "nr_hugepages");

        set_pool(play, 0, 5);
        begin(play, "Pages=100\nNodes=0", NULL);
        keeper_begin(play->keeper, KEEPER_FRESH, 0);
        assert_true(keeper_next(play->keeper, 0, &operation));
        react(play, &operation);
        remove(tree_path(play->tree, path));
        keeper_done(play->keeper, &operation, 0, 1);
        assert_false(keeper_next(play->keeper, 0, &operation));
        show_host(play);
        round_of(play);
        assert_int_equal(pool_on_disk(play, 0)->found_pages, 5);
        assert_int_equal(pool_on_disk(play, 0)->set_pages, 100);
}

/* An unreadable file of the configuration is waited for, but not long. Then the fault is a mistake of its instance,
 * until the file is readable. */
PLAY_TEST(config_cannot_be_read) {
        write_config(play, "a", "Pages=100\nNodes=0");
        write_config(play, "b", "Pages=30\nNodes=1");
        int fd = lease_file(play, "/etc/hugeplan.d/b.conf");

        if (fd < 0)
                skip();
        boot(play);
        for (int i = 0; i < 2; i++)
                assert_text(round_of(play), "-");
        assert_text(round_of(play), "0:100");
        assert_true(keeper_wants_retry(play->keeper, UINT64_MAX));
        keeper_begin(play->keeper, KEEPER_RETRY, 0);
        assert_text(run(play), "-");
        close(fd);
        keeper_begin(play->keeper, KEEPER_FRESH, 0); /* the known pages stay */
        assert_text(run(play), "-");
        keeper_begin(play->keeper, KEEPER_RETRY, 0);
        assert_text(run(play), "1:30");
        assert_false(keeper_wants_retry(play->keeper, 0));
}

/* A file that is readable again and has a mistake changes nothing. Other instances are served. */
PLAY_TEST(config_read_with_mistake) {
        write_config(play, "a", "Pages=100\nNodes=0");
        write_config(play, "b", "Pages=x");
        int fd = lease_file(play, "/etc/hugeplan.d/b.conf");

        if (fd < 0)
                skip();
        boot(play);
        for (int i = 0; i < 3; i++)
                round_of(play);
        assert_int_equal(play->pools[0].total, 100);
        close(fd);
        set_pool(play, 0, 60);
        keeper_begin(play->keeper, KEEPER_RETRY, 0);
        assert_text(run(play), "0:100");
        assert_int_equal(keeper_reload_result(play->keeper).state, KEEPER_RELOAD_REJECTED);
}

/* No plan is made before it is known whether boots have failed. */
PLAY_TEST(guard_cannot_be_read) {
        BootGuard guard = {.failed_boots = 3, .boot_id = "before"};

        assert_int_equal(boot_count_save(play->tree->root, play->tree->arena, &guard), 0);
        write_config(play, "a", "Pages=100\nNodes=0");
        int fd = lease_file(play, PATH_BOOT_COUNT);

        if (fd < 0)
                skip();
        boot(play);
        assert_text(round_of(play), "-");
        assert_true(keeper_wants_retry(play->keeper, UINT64_MAX));
        close(fd);
        assert_text(round_of(play), "-");
        assert_int_equal(status_of(play, "a")->reason.kind, REASON_BOOT_GUARD);
        assert_false(keeper_wants_retry(play->keeper, UINT64_MAX));
}

/* Nor before everything that a plan needs was read: here, the group for System V segments. */
PLAY_TEST(plan_cannot_be_read) {
        tree_write(play->tree, "/etc/group", "hugetlb:x:990:\n");
        write_config(play, "a", "Pages=100\nNodes=0\nEngine=oracle\nSharedMemory=sysv");
        int fd = lease_file(play, "/etc/group");

        if (fd < 0)
                skip();
        boot(play);
        assert_text(round_of(play), "-");
        assert_true(keeper_wants_retry(play->keeper, UINT64_MAX));
        close(fd);
        assert_text(round_of(play), "0:100");
}
