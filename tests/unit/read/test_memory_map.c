/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Listings of kernel 6.18, of servers with and without huge pages. */

#include "read/process.h"
#include "support/testing.h"

#define SMALL_SEGMENT "7f6940000000-7f6951600000 rw-s 00000000 00:01 454962 /dev/zero (deleted)\n"
#define HUGE_SEGMENT \
        "7f6940000000-7f6951600000 rw-s 00000000 00:0f 454962 /anon_hugepage (deleted)\n"
#define SYSV  "7f6960000000-7f696c800000 rw-s 00000000 00:0f 36 /SYSV00000000 (deleted)\n"
#define MEMFD "7f6970000000-7f6972000000 rw-s 00000000 00:0f 37 /memfd:java_heap (deleted)\n"
#define REST                                                                                 \
        "7f6980000000-7f69c0000000 rw-p 00000000 00:00 0 \n"                                 \
        "7f69d0000000-7f69d0800000 rw-p 00000000 00:00 0 \n"                                 \
        "7f69e0000000-7f69f0000000 ---p 00000000 00:00 0 \n"                                 \
        "7f69f8000000-7f69fc000000 r--p 00000000 fe:00 131 /usr/lib/locale/locale-archive\n" \
        "7f6a00000000-7f6a00001000 rw-s 00000000 00:01 3 /SYSV0052e2c1 (deleted)\n"          \
        "7ffd0f3a0000-7ffd0f3c1000 rw-p 00000000 00:00 0 [stack]\n"

static MemoryMap parse(Arena *arena, const char *maps, const char *numa_maps) {
        const Devices none = {};

        return memory_map_parse(arena, maps, numa_maps, &none);
}

/* Only large, writable mappings can be a database's memory. */
TEST(small) {
        const MemoryMap map = parse(arena, SMALL_SEGMENT REST, NULL);

        assert_int_equal(map.shared_bytes, 278 * MIB);
        assert_int_equal(map.private_bytes, GIB);
        assert_int_equal(map.private_largest_bytes, GIB);
        assert_int_equal(map.sysv_bytes, 0);
        assert_int_equal(map.huge_bytes, 0);
        assert_int_equal(map.doubtful_bytes, 0);
        assert_int_equal(memory_map_small_bytes(&map), GIB + 278 * MIB);
}

/* Even the segment of a small PostgreSQL counts; the heap of malloc(3) is no mapping of its own. */
TEST(little) {
        const MemoryMap map =
                parse(arena,
                      "7f6940000000-7f6940400000 rw-s 00000000 00:01 4 /dev/zero (deleted)\n"
                      "7f6950000000-7f6950400000 rw-s 00000000 00:01 4 /dev/shm/PostgreSQL.812\n"
                      "55d0c8000000-55d0d0000000 rw-p 00000000 00:00 0 [heap]\n",
                      NULL);

        assert_int_equal(map.shared_bytes, 4 * MIB);
        assert_int_equal(map.unnamed_bytes, 4 * MIB); /* and no file of any size */
        assert_int_equal(map.private_bytes, 0);
}

TEST(huge) {
        const MemoryMap map = parse(arena, HUGE_SEGMENT REST, NULL);

        assert_int_equal(map.huge_bytes, 278 * MIB);
        assert_int_equal(map.shared_bytes, 0);
}

/* maps alone does not tell the pages of a segment or memfd; a page of 4K is certainly small. */
TEST(doubtful) {
        const char numa_maps[] =
                "7f6940000000 default file=/dev/zero\\040(deleted) dirty=4 N0=4 kernelpagesize_kB=4\n"
                "7f6960000000 interleave:0-1 file=/SYSV00000000\\040(deleted) huge dirty=1 N0=1 kernelpagesize_kB=2048\n"
                "7f6970000000 default file=/memfd:java_heap\\040(deleted) dirty=1 N0=1 kernelpagesize_kB=4\n";
        MemoryMap map = parse(arena, SMALL_SEGMENT SYSV MEMFD REST, NULL);

        assert_int_equal(map.doubtful_bytes, 200 * MIB + 32 * MIB);
        assert_int_equal(map.shared_bytes, 278 * MIB);
        map = parse(arena, SMALL_SEGMENT SYSV MEMFD REST, numa_maps);
        assert_int_equal(map.doubtful_bytes, 0);
        assert_int_equal(map.huge_bytes, 200 * MIB);
        assert_int_equal(map.shared_bytes, (278 + 32) * MIB);
        assert_int_equal(map.sysv_bytes, 0);
        assert_int_equal(map.unnamed_bytes, (278 + 32) * MIB);
        map = parse(arena, SYSV,
                    "7f6960000000 default file=/SYSV00000000\\040(deleted) dirty=1 N0=1\n");
        assert_int_equal(map.sysv_bytes, 200 * MIB);
}

/* A file in a hugetlbfs mount counts like the mount. */
TEST(mount) {
        const Devices devices = process_parse_hugetlbfs(
                arena,
                "29 1 0:25 / /dev/hugepages rw shared:9 - hugetlbfs hugetlbfs rw,pagesize=2M\n");
        const MemoryMap map = memory_map_parse(
                arena, "7f0000000000-7f0002000000 rw-s 00000000 00:19 5 /dev/hugepages/guest\n",
                NULL, &devices);

        assert_int_equal(map.huge_bytes, 32 * MIB);
}

/* A listing may be cut anywhere. */
TEST(cut) {
        const char whole[] = HUGE_SEGMENT SYSV;

        for (size_t n = 0; n < sizeof(whole); n++) {
                const MemoryMap map = parse(arena, arena_strndup(arena, whole, n),
                                            arena_strndup(arena, whole, n));

                assert_true(map.huge_bytes == 0 || map.huge_bytes == 278 * MIB);
        }
        assert_int_equal(parse(arena, "", "x huge").huge_bytes, 0);
}

TEST(age) {
        uint64_t usec = 7;

        assert_int_equal(
                process_parse_age(
                        arena,
                        "812 (a (b) 1 2 c) S 1 812 812 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 "
                        "0 6000 100 6000 1\n",
                        "3661.20 70.1", &usec),
                0);
        assert_int_equal(usec, 3601 * USEC_PER_SEC);
        assert_int_equal(process_parse_age(arena, "812 (x) S 1", "3661.20 70.1", &usec), -EINVAL);
        assert_int_equal(process_parse_age(arena, "", "", &usec), -EINVAL);
        assert_int_equal(usec, 3601 * USEC_PER_SEC);
}

TEST(field) {
        const char status[] =
                "Name:\tMems_allowed_list:\nMems_allowed:\t3\nMems_allowed_list:\t0-1\nx";

        assert_text(process_find_field(arena, status, "Mems_allowed_list"), "0-1");
        assert_text(process_find_field(arena, status, "Name"), "Mems_allowed_list:");
        assert_null(process_find_field(arena, status, "THP_enabled"));
        assert_null(process_find_field(arena, "", "Name"));
}
