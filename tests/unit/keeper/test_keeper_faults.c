/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A keeper on a host that cannot be read, or of which one file cannot: nothing is concluded from that, it is told
 * once, and tried again. That it holds for every single read is in property/test_read_faults.c. Linked with
 * --wrap=look_make. */

#include "support/play.h"
#include "support/testing.h"

#include "base/size.h"
#include "host/state.h"
#include "model/names.h"

#include <errno.h>
#include <unistd.h>

/* Of the looks that plans are made from, this one cannot be read; 0: all can. */
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

/* What was known stands; it is told once, and once that it is over. */
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
        assert_int_equal(count(&play->told, "cannot be read: Too many open files; plan and pages "
                                            "stay as they are"),
                         1);
        assert_null(strstr(text_string(&play->noted), "can be read again"));
        /* What is shown stays so until it was tried again. */
        assert_contains(problems_of(play), "cannot be read: Too many open files");
        /* What was asked for meanwhile is done now. */
        assert_true(verify(play));
        assert_false(play->wants_repair);
        assert_text(run(play), "0:0");
        assert_int_equal(count(&play->noted, "can be read again"), 1);
        assert_null(strstr(problems_of(play), "cannot be read"));
        assert_false(keeper_wants_retry(play->keeper, 0));
}

/* Each look of a reload: in mind, by the new configuration, what it would have if nothing were kept, with all that
 * can be kept, and without. Where one fails nothing has happened; where none does, it begins. */
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
                assert_int_equal(count(&play->told, "the previous plan stays in effect"), at);
                assert_int_equal(count(&play->told, "there is no memory"), 0);
                assert_grants(keeper_look(play->keeper)->plan, "a", "0:600");
                assert_grants(keeper_look(play->keeper)->plan, "b", "0:300");
                assert_text(round_of(play), "-");
        }
        assert_int_equal(reload_failing(play, 0, false), KEEPER_RELOAD_BEGUN);
        assert_int_equal(keeper_reload_result(play->keeper).state, KEEPER_RELOAD_BEGUN);
        /* What was kept of a was in the way. */
        assert_grants(keeper_look(play->keeper)->plan, "a", "1:600");
        assert_grants(keeper_look(play->keeper)->plan, "b", "0:900");
        assert_text(run(play), "1:512 1:600");
        assert_int_equal(keeper_reload_result(play->keeper).state, KEEPER_RELOAD_APPLIED);
        assert_text(state_text(play), "a 1:600; b 0:900");
}

/* Another error is told, and another path, and not the same again. */
PLAY_TEST(faults_are_told_once_each) {
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
                assert_int_equal(count(&play->told, "cannot be read: "), cases[i].n_told);
        }
        looks = (typeof(looks)){.error = -EIO, .path = "/sys/a"};
}

/* By force nothing is kept, and two looks are all. */
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

/* The same of a pool that has gone, and comes again. */
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

/* A file of the configuration that cannot be read is waited for, but not for long: then it is a mistake of its
 * own instance, until it can be read again. */
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
        keeper_begin(play->keeper, KEEPER_FRESH, 0); /* is for what is known */
        assert_text(run(play), "-");
        keeper_begin(play->keeper, KEEPER_RETRY, 0);
        assert_text(run(play), "1:30");
        assert_false(keeper_wants_retry(play->keeper, 0));
}

/* When it can be read and has a mistake, nothing comes of that; the others are looked after all the same. */
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

/* Nor is a plan made before it is known whether boots have failed. */
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

/* Nor before everything was read that only a plan needs: here, the group that may have System V segments. */
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
