/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the control groups of a host show about units. */

#include "host/host_use.h"
#include "support/testing.h"

#include "base/size.h"
#include "support/tree.h"

#define ROOT "/sys/fs/cgroup"

static const char host[] = "sizes 1G 2M\nnode 0 total=16G free=8G 1G=3/3 2M=20/17\n"
                           "node 1 total=16G free=8G 2M=20/15\n";

static const UnitUse *read_unit(const Tree *tree, const char *unit) {
        const Config *config = config_line(tree->arena, "a Pages=1 Unit=%s", unit);
        const HostUse *use = host_use_read(tree->root, tree->arena, config,
                                           ledger_new(tree->arena, ""),
                                           host_make(tree->arena, host));

        assert_int_equal(use->units.n, 1);
        assert_text(use->units.items[0].unit, unit);
        return &use->units.items[0];
}

static void write_group(const Tree *tree, const char *group, const char *file, const char *text) {
        tree_write(tree, arena_printf(tree->arena, "%s/%s", group, file), text);
}

/* 40M mapped, of which 6M of node 0 and 10M of node 1 are touched. */
static void write_counts(const Tree *tree, const char *group) {
        write_group(tree, group, "hugetlb.2MB.rsvd.current", "41943040\n");
        write_group(tree, group, "hugetlb.2MB.numa_stat",
                    "total=16777216 N0=6291456 N1=10485760\n");
}

/* "20/0:3/1:5" as in support/testing.h; "-": not counted. */
static const char *charge_text(Arena *arena, const UnitUse *unit, uint64_t page_size_bytes) {
        const UnitCharge *charge = unit_use_charge(unit, page_size_bytes);
        Text text = text_in(arena);

        if (!charge)
                return "-";
        text_printf(&text, "%" PRIu64, charge->reserved_pages);
        for (size_t i = 0; i < charge->n_used; i++)
                text_printf(&text, "/%u:%" PRIu64, charge->used[i].node, charge->used[i].pages);
        return text_string(&text);
}

/* Without a control group the unit does not run. */
TREE_TEST(stopped) {
        const UnitUse *unit = read_unit(tree, "a.service");

        assert_false(unit->is_running);
        assert_false(unit->has_memory_nodes);
        assert_int_equal(unit->charges.n, 0);
}

TREE_TEST(counted) {
        static const char group[] = ROOT "/system.slice/a.service";

        write_counts(tree, group);
        write_group(tree, group, "hugetlb.1GB.rsvd.current", "3221225472\n");
        write_group(tree, group, "hugetlb.1GB.numa_stat", "total=0 N0=0 N1=0\n");
        const UnitUse *unit = read_unit(tree, "a.service");

        assert_true(unit->is_running);
        assert_text(charge_text(tree->arena, unit, 2 * MIB), "20/0:3/1:5");
        assert_text(charge_text(tree->arena, unit, GIB), "3");
        assert_int_equal(unit->charges.n, 2);
}

/* Pages that were mapped before the controller counted for the group are counted once they are touched. */
TREE_TEST(mapped_before) {
        static const char group[] = ROOT "/system.slice/a.service";

        write_counts(tree, group);
        write_group(tree, group, "hugetlb.2MB.rsvd.current", "4194304\n");
        assert_text(charge_text(tree->arena, read_unit(tree, "a.service"), 2 * MIB), "8/0:3/1:5");
}

/* An empty group is between two commands of a unit. A group without the controller counts nothing. */
TREE_TEST(not_counted) {
        static const char group[] = ROOT "/system.slice/a.service";

        tree_mkdir(tree, group);
        const UnitUse *unit = read_unit(tree, "a.service");

        assert_true(unit->is_running);
        assert_int_equal(unit->charges.n, 0);
        /* Incomplete files, as of a kernel before 5.7 or 5.18, are no count, and neither are unreadable ones. */
        write_group(tree, group, "hugetlb.2MB.rsvd.current", "41943040\n");
        assert_text(charge_text(tree->arena, read_unit(tree, "a.service"), 2 * MIB), "-");
        write_group(tree, group, "hugetlb.2MB.numa_stat", "nonsense\n");
        assert_text(charge_text(tree->arena, read_unit(tree, "a.service"), 2 * MIB), "-");
        write_group(tree, group, "hugetlb.2MB.numa_stat", "total=0 N0=0\n");
        assert_text(charge_text(tree->arena, read_unit(tree, "a.service"), 2 * MIB), "20");
        write_group(tree, group, "hugetlb.2MB.rsvd.current", "max\n");
        assert_text(charge_text(tree->arena, read_unit(tree, "a.service"), 2 * MIB), "-");
}

/* Wherever systemd places it: in a slice of its own, in a template's, on a hybrid host. */
TREE_TEST(where) {
        static const struct {
                const char *unit, *group;
        } cases[] = {
                {"a.service", ROOT "/system.slice/a.service"},
                {"ora.service", ROOT "/db.slice/db-large.slice/ora.service"},
                {"pg@15-main.service", ROOT "/system.slice/system-pg.slice/pg@15-main.service"},
                {"hybrid.service", ROOT "/unified/system.slice/hybrid.service"},
        };

        /* systemd's own hierarchy also has the groups, and counts nothing. */
        tree_mkdir(tree, ROOT "/systemd/system.slice/hybrid.service");
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                write_counts(tree, cases[i].group);
                const UnitUse *unit = read_unit(tree, cases[i].unit);

                assert_true(unit->is_running);
                assert_text(charge_text(tree->arena, unit, 2 * MIB), "20/0:3/1:5");
        }
        /* A user's control group is no system service. */
        write_counts(tree, ROOT "/user.slice/user-1.slice/user@1.service/own.service");
        assert_false(read_unit(tree, "own.service")->is_running);
}

TREE_TEST(legacy) {
        tree_mkdir(tree, ROOT "/systemd/system.slice/a.service");
        const UnitUse *unit = read_unit(tree, "a.service");

        assert_true(unit->is_running);
        assert_int_equal(unit->charges.n, 0);
}

/* The nodes of the unit's group, or of the nearest ancestor with the controller. */
TREE_TEST(memory_nodes) {
        static const char slice[] = ROOT "/db.slice";
        static const char group[] = ROOT "/db.slice/db-a.slice/a.service";

        tree_mkdir(tree, group);
        assert_false(read_unit(tree, "a.service")->has_memory_nodes);
        write_group(tree, slice, "cpuset.mems.effective", "0-1\n");
        const UnitUse *unit = read_unit(tree, "a.service");

        assert_true(unit->has_memory_nodes);
        assert_text(id_set_format(tree->arena, &unit->memory_nodes), "0-1");
        write_group(tree, group, "cpuset.mems.effective", "1\n");
        unit = read_unit(tree, "a.service");
        assert_text(id_set_format(tree->arena, &unit->memory_nodes), "1");
        /* Malformed counts are unknown. */
        write_group(tree, group, "cpuset.mems.effective", "\n");
        assert_false(read_unit(tree, "a.service")->has_memory_nodes);
        write_group(tree, group, "cpuset.mems.effective", "1-\n");
        assert_false(read_unit(tree, "a.service")->has_memory_nodes);
}

/* Described units and units with holds, each once. */
TREE_TEST(which) {
        const Config *config = config_line(
                tree->arena, "a Pages=1 Unit=a.service; b Pages=1 Unit=a.service; c Pages=1");
        Ledger *ledger = ledger_new(tree->arena, "");

        tree_mkdir(tree, ROOT "/system.slice/old.service");
        ledger->holds = running_make(tree->arena, "hold old.service x 2M=0:1\n"
                                                  "hold old.service y 2M=0:1\n"
                                                  "hold a.service a 2M=0:1\n")
                                .holds;
        const HostUse *use = host_use_read(tree->root, tree->arena, config, ledger,
                                           host_make(tree->arena, host));

        assert_int_equal(use->units.n, 2);
        assert_true(unit_use_is_running(use, "old.service"));
        assert_false(unit_use_is_running(use, "a.service"));
        assert_int_equal(use->mounts.n, 0);
}

/* An instance's own mount, if it exists. */
TREE_TEST(mounts) {
        const Config *config = config_make(
                tree->arena, "a.conf", "[Instance]\nPages=10\nUser=db\nMount=/mnt/a min_size=4M\n",
                "b.conf", "[Instance]\nPages=10\nUser=db\nMount=/mnt/b\n", NULL);

        tree_write(tree, "/proc/self/mountinfo",
                   "29 22 0:25 / /mnt/a rw shared:9 - hugetlbfs hugetlbfs "
                   "rw,uid=109,gid=117,mode=770,pagesize=2M,size=20971520,min_size=4194304\n");
        const HostUse *use = host_use_read(tree->root, tree->arena, config,
                                           ledger_new(tree->arena, ""),
                                           host_make(tree->arena, host));

        assert_int_equal(use->mounts.n, 2);
        assert_text(use->mounts.items[0].instance, "a");
        assert_int_equal(use->mounts.items[0].earmarked_pages, 2);
        assert_true(use->mounts.items[0].page_size_bytes == 2 * MIB);
        assert_int_equal(use->mounts.items[1].page_size_bytes, 0);
}

/* A size without pages has no users, and is not read. */
TREE_TEST(no_pages) {
        static const char group[] = ROOT "/system.slice/a.service";
        static const char without[] = "sizes 1G 2M\nnode 0 total=16G free=8G 2M=20/17\n";
        const Config *config = config_line(tree->arena, "a Pages=1 Unit=a.service");

        write_counts(tree, group);
        const HostUse *use = host_use_read(tree->root, tree->arena, config,
                                           ledger_new(tree->arena, ""),
                                           host_make(tree->arena, without));

        assert_text(charge_text(tree->arena, &use->units.items[0], GIB), "0");
        assert_text(charge_text(tree->arena, &use->units.items[0], 2 * MIB), "20/0:3/1:5");
}

/* Any different count, and any unit that starts or stops, makes a difference. */
TREE_TEST(is_current) {
        static const char *const others[] = {
                "sizes 1G 2M\nnode 0 total=16G free=8G 1G=3/3 2M=20/16\nnode 1 total=16G free=8G 2M=20/15\n",
                "sizes 1G 2M\nnode 0 total=16G free=8G 1G=3/3 2M=20/17\nnode 1 total=16G free=8G 2M=21/15\n",
                "sizes 1G 2M\nnode 0 total=16G free=8G 1G=3/3 2M=20/17\nnode 1 total=16G free=8G 2M=20/15/1\n",
                "sizes 1G 2M\nnode 0 total=16G free=8G 1G=3/3 2M=20/17\nnode 1 total=16G free=8G 2M=20/15\nreserved 2M=3\n",
                "sizes 1G 2M\nnode 0 total=16G free=8G 1G=3/3 2M=20/17\n",
        };
        Topology *then = host_make(tree->arena, host);
        const Config *config = config_line(tree->arena, "a Pages=1 Unit=a.service");

        write_counts(tree, ROOT "/system.slice/a.service");
        const HostUse *use =
                host_use_read(tree->root, tree->arena, config, ledger_new(tree->arena, ""), then);

        then = host_make(tree->arena, host);
        assert_true(host_use_is_current(tree->root, use, then, host_make(tree->arena, host)));
        ARRAY_FOREACH(other, others, ARRAY_LEN(others))
                assert_false(
                        host_use_is_current(tree->root, use, then, host_make(tree->arena, *other)));
        assert_int_equal(rename(tree_path(tree, ROOT "/system.slice/a.service"),
                                tree_path(tree, ROOT "/system.slice/b.service")),
                         0);
        assert_false(host_use_is_current(tree->root, use, then, host_make(tree->arena, host)));
}
