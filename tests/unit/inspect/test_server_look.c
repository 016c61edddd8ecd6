/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The mappings of a unit's processes, if the hugetlb controller does not count. */

#include "inspect/pages/server_look.h"
#include "support/testing.h"
#include "support/tree.h"

#define HUGE_LINE(from, to, offset, inode) \
        from "-" to " rw-s " offset " 00:11 " inode " /anon_hugepage (deleted)\n"
#define SMALL_LINE(from, to, inode) \
        from "-" to " rw-s 00000000 00:01 " inode " /SYSV00000000 (deleted)\n"
#define HUGE_PAGES(from) \
        from " default file=/anon_hugepage\\040(deleted) huge dirty=1 N0=1 kernelpagesize_kB=2048\n"

static void write_process(const Tree *tree, unsigned pid, const char *name, const char *text) {
        tree_write(tree, arena_printf(tree->arena, "/proc/%u/%s", pid, name), text);
}

static void write_group(const Tree *tree, const char *group, const char *pids) {
        tree_write(tree,
                   arena_printf(tree->arena, "/sys/fs/cgroup/system.slice/%s/cgroup.procs", group),
                   pids);
}

static ServerLook look_at(const Tree *tree, const char *unit) {
        const Topology *topology =
                host_make(tree->arena, "sizes 1G 2M\nnode 0 total=16G free=15G 2M=2000/400/0\n");

        const ServerHost host = server_host(tree->root, tree->arena, topology);

        return server_look(&host, NULL, unit, false);
}

/* A postmaster and a backend with one segment, and small ones beside it; a helper in a group below, with a segment
 * of its own; and a process of another unit. */
TREE_TEST(unit) {
        static const char server[] = HUGE_LINE("7f1000000000", "7f1043c00000", "00000000", "5")
                SMALL_LINE("7f2000000000", "7f2000900000", "6")
                        SMALL_LINE("7f3000000000", "7f3000001000", "7");
        static const char helper[] = HUGE_LINE("7f1000000000", "7f1080000000", "00000000", "8");

        write_group(tree, "db.service", "101\n102\n103\n");
        write_group(tree, "db.service/below", "104\n");
        write_group(tree, "other.service", "105\n");
        write_process(tree, 101, "maps", server);
        write_process(tree, 102, "maps", server);
        /* 103 has ended. */
        write_process(tree, 104, "maps", helper);
        write_process(tree, 105, "maps", helper);
        for (unsigned pid = 101; pid <= 105; pid++)
                if (pid != 103)
                        write_process(tree, pid, "numa_maps", HUGE_PAGES("7f1000000000"));
        write_process(
                tree, 101, "status",
                "Name:\tpostgres\nVmSize:\t 9999 kB\nVmRSS:\t 2048 kB\nVmPTE:\t  100 kB\nHugetlbPages:\t 2048 kB\n");
        write_process(
                tree, 102, "status",
                "Name:\tpostgres\nPPid:\t101\nVmSize:\t 9999 kB\nVmRSS:\t 1024 kB\nVmPTE:\t  300 kB\nHugetlbPages:\t 2048 kB\n");
        write_process(
                tree, 104, "status",
                "Name:\thelper\nPPid:\t101\nVmSize:\t 8888 kB\nVmRSS:\t 512 kB\nHugetlbPages:\t 2048 kB\n");
        write_process(tree, 105, "status",
                      "Name:\tpostgres\nVmSize:\t 9999 kB\nVmRSS:\t 9999 kB\nVmPTE:\t  999 kB\n");
        const ServerLook look = look_at(tree, "db.service");

        assert_int_equal(look.pid, 101);
        assert_int_equal(look.page_table_bytes, 400 * KIB);
        assert_int_equal(look.n_processes, 3);
        assert_int_equal(look.missing.n, 0);
        assert_true(look.is_all_mapped);
        assert_int_equal(look.pages.n, 1);
        assert_int_equal(look.pages.items[0].page_size_bytes, 2 * MIB);
        assert_int_equal(look.pages.items[0].mapped_pages, 542 + 1024);
        /* Less than any huge page is no loss. */
        assert_int_equal(look.map.unnamed_bytes, 9 * MIB);
        assert_int_equal(server_mapped_bytes(tree->root, 101), UINT64_C(0x43c00000) + 9 * MIB);
        assert_int_equal(server_mapped_bytes(tree->root, 103), 0);
        assert_false(look_at(tree, "none.service").is_running);
}

/* Parts of one segment: an overlap counts once. */
TREE_TEST(parts) {
        write_group(tree, "db.service", "101\n");
        write_process(tree, 101, "status",
                      "Name:\tdb\nVmSize:\t 9999 kB\nHugetlbPages:\t 2048 kB\n");
        write_process(tree, 101, "maps",
                      HUGE_LINE("7f1000000000", "7f1000800000", "00000000", "5")
                              HUGE_LINE("7f2000000000", "7f2000800000", "00400000", "5")
                                      HUGE_LINE("7f3000000000", "7f3000400000", "02000000", "5"));
        write_process(tree, 101, "numa_maps",
                      HUGE_PAGES("7f1000000000") HUGE_PAGES("7f2000000000")
                              HUGE_PAGES("7f3000000000"));
        const ServerLook look = look_at(tree, "db.service");

        assert_int_equal(look.pages.items[0].mapped_pages, 6 + 2);
}
