/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a unit's processes have mapped. */

#include "inspect/pages/unit_mappings.h"
#include "support/testing.h"
#include "support/tree.h"

#include <sys/mman.h>
#include <unistd.h>

#define HUGE_LINE(from, to, inode) \
        from "-" to " rw-s 00000000 00:11 " inode " /anon_hugepage (deleted)\n"
#define SMALL_LINE(from, to, inode) \
        from "-" to " rw-s 00000000 00:01 " inode " /SYSV00000000 (deleted)\n"
#define HUGE_FIELDS  "KernelPageSize: 2048 kB\nVmFlags: rd wr sh ht \n"
#define SMALL_FIELDS "KernelPageSize: 4 kB\nVmFlags: rd wr sh \n"

static void write_process(const Tree *tree, unsigned pid, const char *name, const char *text) {
        tree_write(tree, arena_printf(tree->arena, "/proc/%u/%s", pid, name), text);
}

static void write_group(const Tree *tree, const char *group, const char *pids) {
        tree_write(tree,
                   arena_printf(tree->arena, "/sys/fs/cgroup/system.slice/%s/cgroup.procs", group),
                   pids);
}

/* A postmaster and a backend of one segment, the second with a segment of its own of small pages; a helper of
 * a group below; and somebody else's. */
static void test_unit(void **state) {
        const Tree *tree = *state;
        static const char segment[] = HUGE_LINE("7f1000000000", "7f1043c00000", "5");
        static const char backend[] = HUGE_LINE("7f1000000000", "7f1043c00000", "5")
                SMALL_LINE("7f2000000000", "7f2000900000", "6")
                        SMALL_LINE("7f3000000000", "7f3000001000", "7");

        write_group(tree, "db.service", "101\n102\n103\n");
        write_group(tree, "db.service/below", "104\n");
        write_group(tree, "other.service", "105\n");
        write_process(tree, 101, "maps", segment);
        write_process(tree, 101, "smaps", arena_printf(tree->arena, "%s" HUGE_FIELDS, segment));
        write_process(tree, 102, "maps", backend);
        write_process(tree, 102, "smaps",
                      HUGE_LINE("7f1000000000", "7f1043c00000", "5")
                              HUGE_FIELDS SMALL_LINE("7f2000000000", "7f2000900000", "6")
                                      SMALL_FIELDS SMALL_LINE("7f3000000000", "7f3000001000", "7")
                                              SMALL_FIELDS);
        /* 103 has ended; 104 has the same segment, of which it maps more. */
        write_process(tree, 104, "maps", HUGE_LINE("7f1000000000", "7f1080000000", "8"));
        write_process(tree, 104, "smaps",
                      HUGE_LINE("7f1000000000", "7f1080000000", "8") HUGE_FIELDS);
        write_process(tree, 105, "maps", HUGE_LINE("7f1000000000", "7f1080000000", "9"));
        write_process(tree, 105, "smaps",
                      HUGE_LINE("7f1000000000", "7f1080000000", "9") HUGE_FIELDS);
        write_process(tree, 101, "status", "Name:\tpostgres\nVmRSS:\t 2048 kB\nVmPTE:\t  100 kB\n");
        write_process(tree, 102, "status", "Name:\tpostgres\nVmRSS:\t 1024 kB\nVmPTE:\t  300 kB\n");
        write_process(tree, 105, "status", "Name:\tpostgres\nVmRSS:\t 9999 kB\nVmPTE:\t  999 kB\n");
        UnitMappings mappings = unit_mappings_read(tree->root, tree->arena, "db.service");
        PageCounts huge = unit_mappings_huge(tree->arena, &mappings);

        assert_int_equal(mappings.table_bytes, 400 * KIB);
        assert_int_equal(mappings.resident_bytes, 2 * MIB);
        assert_int_equal(mappings.n_processes, 4);
        assert_true(mappings.is_complete);
        assert_int_equal(huge.n, 1);
        assert_int_equal(page_counts_find(&huge, 2 * MIB), 542 + 1024);
        /* 9 MiB are five pages; one of 4 KiB is no loss. */
        assert_int_equal(unit_mappings_small(&mappings, 2 * MIB), 5);
        assert_int_equal(unit_mappings_small(&mappings, GIB), 0);
        assert_int_equal(unit_mappings_read(tree->root, tree->arena, "none.service").n_processes,
                         0);
}

/* Parts of one segment: what overlaps counts once. */
static void test_parts(void **state) {
        const Tree *tree = *state;
        static const char *const lines =
                "7f1000000000-7f1000800000 rw-s 00000000 00:11 5 /anon_hugepage (deleted)\n" HUGE_FIELDS
                "7f2000000000-7f2000800000 rw-s 00400000 00:11 5 /anon_hugepage (deleted)\n" HUGE_FIELDS
                "7f3000000000-7f3000400000 rw-s 02000000 00:11 5 /anon_hugepage (deleted)\n" HUGE_FIELDS;

        write_group(tree, "db.service", "101\n");
        write_process(tree, 101, "maps", lines);
        write_process(tree, 101, "smaps", lines);
        UnitMappings mappings = unit_mappings_read(tree->root, tree->arena, "db.service");
        PageCounts huge = unit_mappings_huge(tree->arena, &mappings);

        assert_int_equal(page_counts_find(&huge, 2 * MIB), 6 + 2);
}

TEST_FILE(unit_mappings) {
        const struct CMUnitTest tests[] = {
                TREE_TEST(test_unit),
                TREE_TEST(test_parts),
        };

        return RUN_TESTS(tests);
}
