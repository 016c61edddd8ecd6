/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The mounts of instances on a host. */

#include "base/size.h"
#include "host/mounts.h"
#include "host/unit_facts.h"
#include "support/testing.h"
#include "support/tree.h"

static const char mounted[] =
        "29 22 0:25 / /mnt/a rw shared:9 - hugetlbfs hugetlbfs "
        "rw,uid=109,gid=117,mode=770,pagesize=2M,size=20971520,min_size=4194304\n";

static const Config *config_of(const Tree *tree, const char *mount) {
        return config_make(tree->arena, "a.conf",
                           arena_printf(tree->arena,
                                        "[Instance]\nPages=10\nUser=db\nMount=%s min_size=4M\n",
                                        mount),
                           NULL);
}

static MountUnits units_of(const Tree *tree, const char *mount) {
        tree_write(tree, "/etc/passwd", "db:x:109:117::/:/bin/sh\n");
        tree_write(tree, "/run/systemd/system/x.service", "");
        return mounts_of(tree->root, tree->arena, config_of(tree, mount),
                         host_make(tree->arena, "sizes 2M\nnode 0 total=64G free=60G\n"));
}

static const char *problems_of(const Tree *tree, const char *mount) {
        MountUnits units = units_of(tree, mount);
        Diags problems = diags_in(tree->arena);

        assert_int_equal(units.n, 1);
        mounts_check(tree->root, &units, &problems);
        return problems_text(tree->arena, &problems);
}

static void generate(const Tree *tree) {
        MountUnits units = units_of(tree, "/mnt/a");

        tree_write(tree, "/run/systemd/generator.late/mnt-a.mount", units.items[0].text);
}

TREE_TEST(daemon_reload) {
        assert_text(
                problems_of(tree, "/mnt/a"),
                "/run/systemd/generator.late/mnt-a.mount: systemd has not loaded the current mount of a"
                "; run 'systemctl daemon-reload'");
        generate(tree);
        assert_text(problems_of(tree, "/mnt/a"), "");
        assert_contains(problems_of(tree, "/mnt/a mode=0700"), "run 'systemctl daemon-reload'");
}

TREE_TEST(mounted) {
        generate(tree);
        tree_write(tree, "/proc/self/mountinfo", mounted);
        tree_write(tree, "/mnt/a/file", ""); /* a database's own */
        assert_text(problems_of(tree, "/mnt/a"), "");
        tree_write(tree, "/proc/self/mountinfo",
                   "29 22 0:25 / /mnt/a rw - hugetlbfs none rw,pagesize=2M\n");
        assert_contains(problems_of(tree, "/mnt/a"),
                        "has pagesize=2M,uid=0,gid=0,mode=0755 instead of ");
}

TREE_TEST(units_of_others) {
        static const char *const paths[] = {
                "/etc/systemd/system/mnt-a.mount",
                "/run/systemd/system/mnt-a.mount",
                "/run/systemd/generator/mnt-a.mount", /* of a line of fstab */
                "/usr/lib/systemd/system/mnt-a.mount",
        };

        for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
                tree_write(tree, paths[i], "[Mount]\n");
                assert_contains(problems_of(tree, "/mnt/a"),
                                arena_printf(tree->arena, "%s: this unit", paths[i]));
                root_remove(tree->root, paths[i]);
        }
        tree_link(tree, "/dev/null", paths[0]); /* masked; this host has no such file */
        assert_contains(problems_of(tree, "/mnt/a"), "mnt-a.mount: this unit");
}

TREE_TEST(other_file_system) {
        tree_write(tree, "/proc/self/mountinfo", "29 22 0:25 / /mnt/a rw - ext4 /dev/sdb rw\n");
        assert_contains(problems_of(tree, "/mnt/a"), "of type ext4");
}

/* The generator runs too early to know; the unit's assertion checks it. */
TREE_TEST(files) {
        tree_write(tree, "/mnt/a/PG_VERSION", "15\n");
        assert_contains(problems_of(tree, "/mnt/a"), "the directory contains files");
        generate(tree);
        assert_contains(problems_of(tree, "/mnt/a"), "the directory contains files");
}

TREE_TEST(use) {
        MountUse use = mounts_use(tree->root, &config_of(tree, "/mnt/a")->instances[0]);

        assert_int_equal(use.page_size_bytes, 0);
        tree_mkdir(tree, "/mnt/a");
        tree_write(tree, "/proc/self/mountinfo", mounted);
        use = mounts_use(tree->root, &config_of(tree, "/mnt/a")->instances[0]);
        assert_int_equal(use.page_size_bytes, 2 * MIB);
        assert_int_equal(use.earmarked_pages, 2);
        assert_int_equal(use.used_pages, 0); /* not a hugetlbfs */
        use = mounts_use(tree->root, &config_of(tree, "/mnt/b")->instances[0]);
        assert_int_equal(use.page_size_bytes, 0);
}
