/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "host/cgroup_limit.h"
#include "inspect/pages/page_users.h"
#include "inspect/process_files.h"
#include "support/testing.h"
#include "support/tree.h"

#define ROOT  "/sys/fs/cgroup"
#define SLICE ROOT "/system.slice"
#define UNIT  SLICE "/x.service"

/* ---- can it be had ---- */

static void assert_judged(const Tree *tree, const char *text) {
        if (text)
                assert_contains(cgroup_limit_judge(tree->root).text, text);
        else
                assert_int_equal(cgroup_limit_judge(tree->root).kind, REASON_NONE);
}

TREE_TEST(judge) {
        assert_judged(tree, NULL); /* a recorded host without control groups: unknown */
        tree_write(tree, ROOT "/cgroup.controllers", "cpu memory pids\n");
        assert_judged(tree, "has no hugetlb controller");
        tree_write(tree, ROOT "/cgroup.controllers", "cpu hugetlb pids\n");
        assert_judged(tree, NULL);
}

TREE_TEST(judge_hybrid) {
        tree_mkdir(tree, ROOT "/systemd");
        assert_judged(tree, "legacy hierarchy"); /* of a kernel without the controller */
        tree_write(tree, ROOT "/unified/cgroup.controllers", "hugetlb\n");
        assert_judged(tree, NULL);
        tree_write(tree, ROOT "/unified/cgroup.controllers", "\n");
        assert_judged(tree, "has no hugetlb controller");
        tree_mkdir(tree, ROOT "/hugetlb");
        assert_judged(tree, "legacy hierarchy");
        assert_contains(cgroup_limit_judge(tree->root).remedy, "unified_cgroup_hierarchy=1");
}

/* ---- whose group ---- */

TREE_TEST(own) {
        static const struct {
                const char *line, *unit, *expects;
        } groups[] = {
                {"0::/system.slice/x.service", "x.service", UNIT},
                /* Delegated groups: control processes, and those in a subgroup. */
                {"0::/system.slice/x.service/.control", "x.service", UNIT},
                {"0::/system.slice/x.service/main/y.service", "x.service", UNIT},
                {"0::/system.slice/system-pg.slice/pg@1.service", "pg@1.service",
                 SLICE "/system-pg.slice/pg@1.service"},
                {"0::/db.slice/db-pg.slice/x.service", "x.service",
                 ROOT "/db.slice/db-pg.slice/x.service"},
                /* Called by hand, or by another unit. */
                {"0::/user.slice/user-0.slice/session-1.scope", "x.service", NULL},
                {"0::/system.slice/cron.service", "x.service", NULL},
                {"0::/", "x.service", NULL},
                {"0::/../x.service", "x.service", NULL},
                {"4:memory:/system.slice/x.service", "x.service", NULL},
                /* By another name. */
                {"0::/system.slice/x.service", "alias.service", UNIT},
                {"0::/system.slice/other.service", "alias.service", NULL},
        };

        assert_null(unit_cgroup_own(tree->root, tree->arena, "x.service"));
        tree_write(tree, ROOT "/cgroup.controllers", "hugetlb\n");
        tree_write(tree, "/usr/lib/systemd/system/x.service", "[Service]\n");
        tree_link(tree, "/usr/lib/systemd/system/x.service", "/etc/systemd/system/alias.service");
        assert_null(unit_cgroup_own(tree->root, tree->arena, "x.service"));
        for (size_t i = 0; i < ARRAY_LEN(groups); i++) {
                tree_write(tree, "/proc/self/cgroup",
                           arena_printf(tree->arena, "%s\n", groups[i].line));
                assert_text(unit_cgroup_own(tree->root, tree->arena, groups[i].unit),
                            groups[i].expects);
                assert_int_equal(unit_cgroup_is_own(tree->root, groups[i].unit),
                                 groups[i].expects != NULL);
        }
        /* A host with version 1 has units only in systemd's own hierarchy, which counts no pages. */
        tree_write(tree, "/proc/self/cgroup", "1:name=systemd:/system.slice/x.service\n0::/\n");
        assert_true(unit_cgroup_is_own(tree->root, "x.service"));
        assert_null(unit_cgroup_own(tree->root, tree->arena, "x.service"));
}

/* ---- setting it ---- */

static PageCount counts[] = {{GIB, 0}, {2 * MIB, 140}};
static const PageCounts limits = {.items = counts, .n = ARRAY_LEN(counts)};

static void make_groups(const Tree *tree) {
        tree_write(tree, ROOT "/cgroup.controllers", "hugetlb memory\n");
        tree_write(tree, ROOT "/cgroup.subtree_control", "memory hugetlb\n");
        tree_write(tree, SLICE "/cgroup.subtree_control", "memory hugetlb\n");
        tree_write(tree, UNIT "/hugetlb.1GB.rsvd.max", "max\n");
        tree_write(tree, UNIT "/hugetlb.2MB.rsvd.max", "max\n");
        tree_write(tree, UNIT "/hugetlb.2MB.max", "max\n");
}

TREE_TEST(set) {
        make_groups(tree);
        assert_int_equal(cgroup_limit_set(tree->root, tree->arena, UNIT, &limits).kind,
                         REASON_NONE);
        assert_text(tree_read(tree, UNIT "/hugetlb.1GB.rsvd.max"), "0\n");
        assert_text(tree_read(tree, UNIT "/hugetlb.2MB.rsvd.max"), "293601280\n");
        /* A limit that would cause SIGBUS. */
        assert_text(tree_read(tree, UNIT "/hugetlb.2MB.max"), "max\n");
        /* An enabled controller is not written again. */
        assert_text(tree_read(tree, SLICE "/cgroup.subtree_control"), "memory hugetlb\n");
}

/* Counting is enabled above the unit's group, and no limit is set. Plain files do not change as the kernel's do, so
 * reading back fails. */
TREE_TEST(count) {
        make_groups(tree);
        assert_int_equal(cgroup_limit_count(tree->root, tree->arena, UNIT).kind, REASON_NONE);
        assert_text(tree_read(tree, UNIT "/hugetlb.2MB.rsvd.max"), "max\n");
        assert_null(tree_read(tree, UNIT "/cgroup.subtree_control"));
        tree_write(tree, SLICE "/cgroup.subtree_control", "\n");
        Reason reason = cgroup_limit_count(tree->root, tree->arena, UNIT);

        assert_int_equal(reason.kind, REASON_NO_HUGETLB_LIMIT);
        assert_contains(reason.text, SLICE "/cgroup.subtree_control: ");
        assert_text(tree_read(tree, SLICE "/cgroup.subtree_control"), "+hugetlb");
        assert_text(cgroup_limit_set(tree->root, tree->arena, UNIT, &limits).text, reason.text);
        assert_text(tree_read(tree, UNIT "/hugetlb.2MB.rsvd.max"), "max\n");
        assert_int_equal(cgroup_limit_count(tree->root, tree->arena, "/elsewhere").kind,
                         REASON_NO_HUGETLB_LIMIT);
}

TREE_TEST(kernel_without) {
        make_groups(tree);
        assert_int_equal(root_remove(tree->root, UNIT "/hugetlb.2MB.rsvd.max"), 0);
        Reason reason = cgroup_limit_set(tree->root, tree->arena, UNIT, &limits);

        assert_int_equal(reason.kind, REASON_NO_HUGETLB_LIMIT);
        assert_contains(reason.text, "hugetlb.2MB.rsvd.max: No such file");
        assert_contains(reason.remedy, "5.7");
        reason = cgroup_limit_set(tree->root, tree->arena, "/elsewhere", &limits);
        assert_int_equal(reason.kind, REASON_NO_HUGETLB_LIMIT);
}

/* ---- who has one ---- */

static bool is_page_user_limited(const Tree *tree) {
        const Topology *host =
                host_make(tree->arena, "sizes 2M\nnode 0 total=4G free=3G 2M=9/0/0\n");
        const PageUsers *page_users = page_users_find(tree->root, tree->arena, host);

        assert_int_equal(page_users->list.n, 1);
        assert_text(page_users->list.items[0].unit, "x.service");
        return page_users->list.items[0].is_limited;
}

/* The unit's own limit counts, and those of its slices. */
TREE_TEST(page_user) {
        static const char none[] = "9223372036854771712\n";

        tree_write(tree, ROOT "/cgroup.controllers", "hugetlb\n");
        tree_write(tree, "/proc/812/status",
                   "Name:\tx\nPid:\t812\nPPid:\t1\n"
                   "HugetlbPages:\t   18432 kB\n");
        tree_write(tree, "/proc/812/cgroup", "0::/system.slice/x.service\n");
        assert_false(is_page_user_limited(tree));
        tree_write(tree, UNIT "/hugetlb.2MB.numa_stat", "total=18874368 N0=18874368\n");
        tree_write(tree, UNIT "/hugetlb.2MB.rsvd.current", "18874368\n");
        tree_write(tree, UNIT "/hugetlb.2MB.rsvd.max", "max\n");
        tree_write(tree, SLICE "/hugetlb.2MB.rsvd.max", none);
        assert_false(is_page_user_limited(tree));
        tree_write(tree, SLICE "/hugetlb.2MB.rsvd.max", "41943040\n");
        assert_true(is_page_user_limited(tree));
        tree_write(tree, SLICE "/hugetlb.2MB.rsvd.max", none);
        tree_write(tree, UNIT "/hugetlb.2MB.rsvd.max", "20971520\n");
        assert_true(is_page_user_limited(tree));
}
