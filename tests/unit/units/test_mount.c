/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Mount=: what may be written, the units made of it, and what is said of what is there. */

#include "base/size.h"
#include "host/mounts.h"
#include "support/sources.h"
#include "support/story.h"
#include "units/mount_unit.h"

/* ---- the value ---- */

static const char *parse(Arena *arena, const char *value) {
        MountConfig mount = {};
        const char *wrong = mount_config_parse(arena, value, &mount);

        if (wrong)
                return wrong;
        return arena_printf(arena, "%s %o %s:%s %" PRIu64 "/%" PRIu64, mount.path, mount.mode,
                            mount.user ? mount.user : "-", mount.group ? mount.group : "-",
                            mount.min_size_bytes / MIB, mount.size_bytes / MIB);
}

/* Bytes that no line of a story can have. */
TEST(hostile_bytes) {
        static const char *const bad[] = {"/mnt/a\x1b[2J", "/mnt/gr\xf6\xdf\x65",
                                          "/mnt/\xc2\x85next"};

        for (size_t i = 0; i < ARRAY_LEN(bad); i++)
                assert_contains(parse(arena, bad[i]), "with a special meaning in unit files");
}

TEST(long_path) {
        char path[400] = "/mnt/";
        size_t fits = 255 - strlen("mnt-.mount");

        memset(path + strlen("/mnt/"), 'a', fits);
        assert_contains(parse(arena, path), " 770 ");
        path[strlen("/mnt/") + fits] = 'a';
        assert_contains(parse(arena, path), "too long");
        /* What has to be escaped takes four bytes each. */
        memset(path + strlen("/mnt/"), 0, sizeof(path) - strlen("/mnt/"));
        memset(path + strlen("/mnt/"), '-', 100);
        assert_contains(parse(arena, path), "too long");
}

TEST(overlap) {
        assert_true(mount_paths_overlap("/mnt/a", "/mnt/a"));
        assert_true(mount_paths_overlap("/mnt/a", "/mnt/a/b"));
        assert_true(mount_paths_overlap("/mnt/a/b", "/mnt/a"));
        assert_false(mount_paths_overlap("/mnt/a", "/mnt/ab"));
}

/* ---- in a configuration ---- */

static const char *refusal(Arena *arena, const char *lines) {
        const Config *config = config_line(arena, "20-pg %s", lines);

        assert_int_equal(config->n_instances, 1);
        return config->instances[0].refusal ? diag_format(arena, config->instances[0].refusal)
                                            : NULL;
}

TEST(reset) {
        const Config *config = config_make(arena, "a.conf",
                                           "[Instance]\nPages=1\nMount=/mnt/a owner=db\n",
                                           "a.conf.d/1.conf", "[Instance]\nMount=\n", NULL);

        assert_null(config->instances[0].refusal);
        assert_null(config->instances[0].mount);
}

TEST(one_place_each) {
        const Config *config = config_line(
                arena, "a Pages=1 User=db Mount=/mnt/a; b Pages=1 User=db Mount=/mnt/a/b; c "
                       "Pages=1 User=db Mount=/mnt/ab");

        assert_text(problems_text(arena, &config->problems),
                    "/etc/hugeplan.d/b.conf:4: Mount: /mnt/a/b conflicts with /mnt/a, "
                    "the mount of a; give each instance a path of its own");
        assert_null(config->instances[0].refusal);
        assert_non_null(config->instances[1].refusal);
        assert_null(config->instances[2].refusal);
}

/* ---- units ---- */

static const char host_text[] = "sizes 1G 2M\nnode 0 total=64G free=60G\n";

static Accounts test_accounts(Arena *arena) {
        return accounts_read(arena, TEST_SOURCES(arena,
                                                 {"/etc/passwd", "root:x:0:0::/:/bin/sh\n"
                                                                 "db:x:109:117::/:/bin/sh\n"},
                                                 {"/etc/group", "root:x:0:\ndba:x:54321:db\n"}));
}

static MountUnits make(Arena *arena, Config *config, const char *host) {
        Accounts accounts = test_accounts(arena);

        mount_check_owners(arena, config, &accounts);
        return mount_units_make(arena, config, host_make(arena, host), &accounts);
}

static const char *options(Arena *arena, const char *lines) {
        Config *config = config_line(arena, "20-db %s", lines);
        MountUnits units = make(arena, config, host_text);

        assert_text(problems_text(arena, &config->problems), "");
        assert_int_equal(units.n, 1);
        return huge_mount_format(arena, &units.items[0].wanted);
}

TEST(unit_text) {
        MountUnits units = make(arena,
                                config_make(arena, "20-orders.conf",
                                            "[Instance]\nMemory=8G\nMount=/run/hugepages/orders "
                                            "owner=db min_size=4G\n",
                                            NULL),
                                host_text);

        assert_int_equal(units.n, 1);
        assert_text(units.items[0].name, "run-hugepages-orders.mount");
        assert_text(
                units.items[0].text,
                "# Generated by hugeplan-generator from "
                "/etc/hugeplan.d/20-orders.conf\n"
                "# See hugeplan.d(5). A unit of this name in /etc/systemd/system "
                "replaces it.\n"
                "\n"
                "[Unit]\n"
                "Description=Huge Pages of the Database Instance orders\n"
                "Documentation=man:hugeplan.d(5)\n"
                "DefaultDependencies=no\n"
                "Requires=hugeplan-wait@orders.service\n"
                "After=local-fs.target hugeplan-wait@orders.service\n"
                "Conflicts=umount.target\n"
                "Before=umount.target\n"
                "AssertDirectoryNotEmpty=!/run/hugepages/orders\n"
                "\n"
                "[Mount]\n"
                "What=hugetlbfs\n"
                "Where=/run/hugepages/orders\n"
                "Type=hugetlbfs\n"
                "Options=pagesize=2M,uid=109,gid=117,mode=0770,size=8589934592,min_size=4294967296,nosuid,nodev\n");
}

/* By file and line; the others go on. */
TEST(no_owner) {
        Config *config =
                config_make(arena, "a.conf", "[Instance]\nPages=1\nMount=/mnt/a owner=ora\n",
                            "b.conf", "[Instance]\nPages=1\nMount=/mnt/b owner=db:oinstall\n",
                            "c.conf", "[Instance]\nPages=1\nMount=/mnt/c owner=db\n", NULL);
        MountUnits units = make(arena, config, host_text);

        assert_text(
                problems_text(arena, &config->problems),
                "/etc/hugeplan.d/a.conf:3: Mount: there is no user 'ora' in /etc/passwd to own "
                "/mnt/a; create the user, or write owner=USER:GROUP with others or with numbers\n"
                "/etc/hugeplan.d/b.conf:3: Mount: there is no group 'oinstall' in /etc/group "
                "to own /mnt/b; create the group, or write owner=USER:GROUP with others or with "
                "numbers");
        assert_non_null(config->instances[0].refusal);
        assert_non_null(config->instances[1].refusal);
        assert_int_equal(units.n, 1);
        assert_text(units.items[0].name, "mnt-c.mount");
}

/* Whose group nobody knows owns nothing by half. */
TEST(number_without_group) {
        Config *config = config_make(arena, "a.conf",
                                     "[Instance]\nPages=1\nMount=/mnt/a owner=1000\n", NULL);

        assert_int_equal(make(arena, config, host_text).n, 0);
        assert_contains(problems_text(arena, &config->problems), "there is no user '1000' in ");
}

TEST(no_page_size) {
        Config *config = config_line(arena, "a Pages=1 PageSize=512M User=db Mount=/mnt/a");

        assert_int_equal(make(arena, config, host_text).n, 0);
        assert_int_equal(make(arena, config, "node 0 total=64G free=60G\n").n, 0);
}

/* ---- the reservation that goes with it ---- */

static const char *reason(Arena *arena, const char *lines, const char *host) {
        const Config *config = config_line(arena, "a User=db %s", lines);
        const Plan *plan = plan_simple(arena, config, host_make(arena, host));

        return plan->instances[0].reason.kind == REASON_NONE
                       ? grants_text(arena, plan, "a")
                       : arena_printf(arena, "%s: %s", reason_id(plan->instances[0].reason.kind),
                                      plan->instances[0].reason.text);
}

/* No more is earmarked than was reserved, or neighbours would pay for it. */
TEST(min_size_within_the_reservation) {
        assert_text(reason(arena, "Pages=10\nMount=/mnt/a min_size=20M", host_text), "0:10");
        assert_text(reason(arena, "Pages=10\nMount=/mnt/a min_size=21M", host_text),
                    "config: min_size= of Mount= earmarks 11 pages of 2M, and only 10 are reserved "
                    "for the instance");
}

/* Its pages are of the mount's size, or it has none. */
TEST(one_page_size) {
        static const char small_host[] = "sizes 1G 2M\nnode 0 total=4G free=900M\n";

        assert_text(reason(arena, "Memory=100M\nPageSize=1G,2M", small_host), "0:50");
        assert_contains(reason(arena, "Memory=100M\nPageSize=1G,2M\nMount=/mnt/a", small_host),
                        "not-enough-memory: ");
}

/* ---- what is there ---- */

static const char mountinfo[] =
        "22 1 0:20 / / rw - ext4 /dev/sda1 rw\n"
        "junk\n"
        "29 22 0:25 / /mnt/a rw,nosuid shared:9 master:1 - hugetlbfs hugetlbfs "
        "rw,uid=109,gid=117,mode=770,pagesize=2M,size=20971520,min_size=4194304\n"
        "30 22 0:26 / /mnt/with\\040blank rw - tmpfs tmpfs rw\n"
        "31 22 0:27 / /mnt/b rw - hugetlbfs none rw,pagesize=1024M\n"
        "32 22 0:28 / /mnt/c rw - hugetlbfs none rw,pagesize=2M\n"
        "33 22 0:29 / /mnt/c rw - tmpfs none rw\n"
        "34 22 0:30 / /mnt/cut rw - hugetlbfs\n";

static const char *mounted(Arena *arena, const char *path) {
        MountTable table = mount_table_parse(arena, mountinfo);
        const MountEntry *entry = mount_table_find(&table, path);
        HugeMount mount;

        if (!entry)
                return "-";
        return mount_entry_read(arena, entry, &mount) ? huge_mount_format(arena, &mount)
                                                      : entry->type;
}

TEST(mountinfo) {
        assert_text(mounted(arena, "/mnt/a"),
                    "pagesize=2M,uid=109,gid=117,mode=0770,size=20971520,min_size=4194304");
        assert_text(mounted(arena, "/mnt/b"), "pagesize=1G,uid=0,gid=0,mode=0755");
        assert_text(mounted(arena, "/mnt/with blank"), "tmpfs");
        assert_text(mounted(arena, "/mnt/c"), "tmpfs"); /* the last one covers the first */
        assert_text(mounted(arena, "/mnt/cut"), "-");
        assert_text(mounted(arena, "/mnt"), "-");
}

TEST(fstab) {
        static const char fstab[] = "# /dev/sda1 /mnt/a ext4\n"
                                    "\n"
                                    "UUID=1 / ext4 defaults 0 1\n"
                                    "none\t//mnt/a/\thugetlbfs\n"
                                    "/dev/sdb none swap sw 0 0\n"
                                    "x /mnt/with\\040blank tmpfs";

        assert_int_equal(mount_fstab_line(arena, fstab, "/mnt/a"), 4);
        assert_int_equal(mount_fstab_line(arena, fstab, "/mnt/with blank"), 6);
        assert_int_equal(mount_fstab_line(arena, fstab, "/mnt"), 0);
        assert_int_equal(mount_fstab_line(arena, fstab, "/mnt/a/b"), 0);
        assert_int_equal(mount_fstab_line(arena, "", "/mnt"), 0);
}

/* ---- what is said of it ---- */

typedef struct Scene {
        MountUnits units;
        MountTable table;
        MountSight sight;
} Scene;

static Scene *scene(Arena *arena, const char *mount) {
        Scene *scene = ARENA_NEW(arena, Scene);

        scene->units = make(
                arena, config_line(arena, "a Pages=10 User=db Unit=db.service Mount=%s", mount),
                host_text);
        scene->table = mount_table_parse(arena, mountinfo);
        scene->sight.table = &scene->table;
        assert_int_equal(scene->units.n, 1);
        return scene;
}

static const char *said(Arena *arena, const Scene *scene) {
        const Diag *obstacle = mount_obstacle(arena, &scene->units.items[0], &scene->sight);
        const Diag *difference = mount_difference(arena, &scene->units.items[0], &scene->sight);
        const Diag *diag = obstacle ? obstacle : difference;

        return diag ? arena_printf(arena, "%s %s: %s", severity_name(diag->severity), diag->id,
                                   diag_format(arena, diag))
                    : "-";
}

TEST(obstacles) {
        Scene *free_place = scene(arena, "/mnt/free");

        assert_text(said(arena, free_place), "-");
        free_place->sight.is_directory_used = true;
        assert_text(said(arena, free_place),
                    "warning mount-taken: /etc/hugeplan.d/a.conf:5: Mount: the "
                    "directory contains files, so the mount of a at /mnt/free is left "
                    "to it; move them away, or give Mount= a path of its own");
        free_place->sight.fstab_line = 7;
        assert_contains(said(arena, free_place),
                        "notice mount-taken: /etc/fstab:7: this line mounts the same path, so ");
        free_place->sight.unit_file = "/etc/systemd/system/mnt-free.mount";
        assert_contains(
                said(arena, free_place),
                "notice mount-taken: /etc/systemd/system/mnt-free.mount: this unit mounts ");
        assert_contains(
                said(arena, scene(arena, "/mnt/c")),
                "warning mount-taken: /etc/hugeplan.d/a.conf:5: Mount: a file system of type tmpfs is mounted, so ");
}

TEST(difference) {
        Scene *same = scene(arena, "/mnt/a min_size=4M");

        assert_text(said(arena, same), "-");
        same->sight.is_directory_used = true; /* by files of its own */
        assert_text(said(arena, same), "-");
        assert_text(said(arena, scene(arena, "/mnt/a min_size=6M")),
                    "warning mount-outdated: /mnt/a, the mount of a, has "
                    "pagesize=2M,uid=109,gid=117,mode=0770,size=20971520,min_size=4194304 instead "
                    "of pagesize=2M,uid=109,gid=117,mode=0770,size=20971520,min_size=6291456; stop "
                    "db.service, then 'systemctl daemon-reload' and 'systemctl restart "
                    "mnt-a.mount'; a remount does not change min_size=");
}

/* ---- stories ---- */

static const char *do_value(void *context UNUSED, const StoryLine *line) {
        return parse(line->arena, story_unescape(line->arena, line->rest));
}

static const char *do_refusal(void *context UNUSED, const StoryLine *line) {
        return refusal(line->arena, story_lines(line, 1));
}

static const char *do_options(void *context UNUSED, const StoryLine *line) {
        return options(line->arena, story_lines(line, 1));
}

static const char *do_unit_name(void *context UNUSED, const StoryLine *line) {
        return mount_unit_name(line->arena, story_unescape(line->arena, line->rest));
}

STORY_TEST(stories, "unit/units/mount", {"value", do_value}, {"refusal", do_refusal},
           {"options", do_options}, {"unit-name", do_unit_name})
