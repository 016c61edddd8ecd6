/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "support/sources.h"
#include "support/testing.h"
#include "units/memory_limit.h"

#define ROOT  "/sys/fs/cgroup"
#define SLICE ROOT "/db.slice/db-pg.slice"
#define UNIT  SLICE "/pg.service"

TEST(counts) {
        static const struct {
                const char *mounts;
                bool expects;
        } hosts[] = {
                {"cgroup2 /sys/fs/cgroup cgroup2 rw,nsdelegate,memory_hugetlb_accounting 0 0\n",
                 true},
                {"proc /proc proc rw 0 0\n"
                 "cgroup /c cgroup2 rw,memory_hugetlb_accounting 0 0\n",
                 true},
                {"cgroup2 /sys/fs/cgroup cgroup2 rw,nsdelegate,memory_recursiveprot 0 0\n", false},
                {"cgroup2 /memory_hugetlb_accounting tmpfs rw,memory_hugetlb_accounting 0 0\n",
                 false},
                {"", false},
                {"cgroup2\n", false},
        };

        for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
                const TestFile files[] = {{"/proc/mounts", hosts[i].mounts}};

                assert_int_equal(memory_limits_count_huge_pages(
                                         arena, test_sources(arena, files, ARRAY_LEN(files))),
                                 hosts[i].expects);
        }
}

static Reason judge(Arena *arena, const Sources *sources, uint64_t bytes) {
        MemoryLimits limits = memory_limits_read(arena, sources, ROOT, UNIT, 2 * MIB, true);
        MemoryUse own = {"pg", UNIT, 2 * MIB, bytes};

        return memory_limits_judge(arena, &limits, &(MemoryUses){&own, 1, 1});
}

/* The lowest limit of all levels, and nothing above the hierarchy. */
TEST(judge) {
        const TestFile files[] = {
                {"/sys/fs/memory.max", "1\n"},
                {ROOT "/memory.max", "2\n"},
                {ROOT "/db.slice/memory.max", "4294967296\n"},
                {SLICE "/memory.max", "max\n"},
                {SLICE "/memory.high", "1073741824\n"},
                {UNIT "/memory.max", "2147483648\n"},
        };
        const Sources *sources = test_sources(arena, files, ARRAY_LEN(files));
        Reason reason = judge(arena, sources, 3 * GIB);

        assert_int_equal(reason.kind, REASON_MEMORY_LIMIT);
        assert_contains(reason.text,
                        "MemoryHigh= of db-pg.slice is 1G, and its huge pages alone are 3G; ");
        assert_contains(reason.remedy, "raise it to 3G");
        assert_int_equal(judge(arena, sources, GIB).kind, REASON_NONE);
        assert_int_equal(judge(arena, sources, GIB + 1).kind, REASON_MEMORY_LIMIT);
        assert_int_equal(judge(arena, sources, 0).kind, REASON_NONE);
}

/* Units in the same slice count, units in a slice with a longer name do not. */
TEST(judge_together) {
        const TestFile files[] = {
                {ROOT "/db.slice/memory.max", "4294967296\n"},
                {UNIT "/memory.max", "4294967296\n"},
        };
        const Sources *sources = test_sources(arena, files, ARRAY_LEN(files));
        MemoryLimits limits = memory_limits_read(arena, sources, ROOT, UNIT, 2 * MIB, true);
        MemoryUse uses[] = {
                {"pg", UNIT, 2 * MIB, 3 * GIB},
                {"maria", ROOT "/db.slice/maria.service", GIB, 2 * GIB},
                {"java", ROOT "/db.slicer/java.service", 2 * MIB, 7 * GIB},
        };
        Reason reason = memory_limits_judge(arena, &limits, &(MemoryUses){uses, 3, 3});

        assert_int_equal(reason.kind, REASON_MEMORY_LIMIT);
        assert_contains(reason.text, "MemoryMax= of db.slice is 4G, and the huge pages alone of "
                                     "pg (3G), maria (2G) are 5G; ");
        assert_contains(reason.remedy, "raise it to 5G");
        uses[1].bytes = GIB;
        assert_int_equal(memory_limits_judge(arena, &limits, &(MemoryUses){uses, 3, 3}).kind,
                         REASON_NONE);
}

TEST(no_limits) {
        assert_int_equal(memory_limits_read(arena, NULL, NULL, UNIT, 2 * MIB, true).n, 0);
        const TestFile files[] = {{UNIT "/memory.max", "max\n"},
                                  {UNIT "/memory.high", "nonsense\n"}};

        assert_int_equal(
                judge(arena, test_sources(arena, files, ARRAY_LEN(files)), UINT64_MAX).kind,
                REASON_NONE);
}
