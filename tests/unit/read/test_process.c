/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a process has mapped, as /proc/PID/smaps has it. */

#include "read/process.h"
#include "support/testing.h"

#define FIELDS(size, shared, flags)       \
        "Size:            1000000 kB\n"   \
        "KernelPageSize: " size " kB\n"   \
        "MMUPageSize:    " size " kB\n"   \
        "Shared_Hugetlb: " shared " kB\n" \
        "Private_Hugetlb:       0 kB\n"   \
        "THPeligible:           0\n"      \
        "VmFlags: rd wr " flags " \n"

/* As kernel 6.18 prints them, but for the fields that do not matter. */
static const char smaps[] =
        "55d0c0000000-55d0c0800000 r-xp 00000000 fe:01 131 /usr/bin/-odd name\n" FIELDS("4", "0", "mr mw me") "7f0000000000-7f0040000000 rw-p 00000000 00:00 0 \n" FIELDS("4", "0", "mr mw me ac") "7f1000000000-7f1043c00000 rw-s 00000000 00:11 454962   /anon_hugepage (deleted)\n" FIELDS("2048", "4096", "sh mr ht") "7f2000000000-7f2000800000 rw-s 00000000 00:01 98306    /SYSV00000000 (deleted)\n" FIELDS(
                "4", "0",
                "sh mr") "7f3000000000-7f3040000000 rw-p 00000000 00:12 7        /anon_hugepage (deleted)\n" FIELDS("1048576",
                                                                                                                    "0",
                                                                                                                    "mr ht") "7f4000000000-7f4000a00000 rw-s 00100000 00:01 62       /dev/zero (deleted)\n" FIELDS("4",
                                                                                                                                                                                                                   "0",
                                                                                                                                                                                                                   "sh mr") "7f5000000000-7f5040000000 rw-p 00000000 00:11 9        /anon_hugepage (deleted)\n" FIELDS("2048",
                                                                                                                                                                                                                                                                                                                       "6144",
                                                                                                                                                                                                                                                                                                                       "mr nr ht") "7f6000000000-7f6000a00000 rw-s 00000000 fe:01 62       /dev/zero (deleted)x\n" FIELDS("4",
                                                                                                                                                                                                                                                                                                                                                                                                                          "0",
                                                                                                                                                                                                                                                                                                                                                                                                                          "sh mr");

static void test_smaps(void **state) {
        static const struct {
                uint64_t inode, page_size_bytes, length_bytes;
                bool is_small, is_private;
        } expected[] = {
                {454962, 2 * MIB, UINT64_C(0x43c00000), false, false}, /* touched or not */
                {98306, 4 * KIB, 8 * MIB, true, false},
                {7, GIB, GIB, false, true}, /* untouched, and its size of page is known */
                {62, 4 * KIB, 10 * MIB, true, false},
                {9, 2 * MIB, 6 * MIB, false, true}, /* not reserved: what was touched */
                {62, 4 * KIB, 10 * MIB, true, false},
        };
        HugeMappings mappings = process_parse_smaps(*state, smaps);

        assert_int_equal(mappings.n, ARRAY_LEN(expected));
        for (size_t i = 0; i < mappings.n; i++) {
                assert_int_equal(mappings.items[i].inode, expected[i].inode);
                assert_int_equal(mappings.items[i].page_size_bytes, expected[i].page_size_bytes);
                assert_int_equal(mappings.items[i].length_bytes, expected[i].length_bytes);
                assert_int_equal(mappings.items[i].is_small, expected[i].is_small);
                assert_int_equal(mappings.items[i].is_private, expected[i].is_private);
        }
        assert_int_equal(mappings.items[3].offset_bytes, MIB);
}

/* Cut anywhere, it is taken as far as it goes. */
static void test_cut(void **state) {
        for (size_t n = 0; n < sizeof(smaps); n++) {
                HugeMappings mappings =
                        process_parse_smaps(*state, arena_strndup(*state, smaps, n));

                assert_true(mappings.n <= 6);
        }
        assert_int_equal(process_parse_smaps(*state, "VmFlags: ht\nKernelPageSize: 4 kB\n").n, 0);
}

static void test_new(void **state) {
        const Devices none = {};
        HugeMappings known = {};
        static const char maps[] =
                "7f1000000000-7f1043c00000 rw-s 00000000 00:11 454962 /anon_hugepage (deleted)\n"
                "7f4000000000-7f4000a00000 rw-s 00000000 00:01 62 /dev/zero (deleted)\n";

        assert_false(process_maps_have_new(*state, "", &none, &known));
        assert_true(process_maps_have_new(*state, maps, &none, &known));
        *vec_push(*state, &known) = (HugeMapping){.device = 0x11, .inode = 454962};
        assert_true(process_maps_have_new(*state, maps, &none, &known));
        *vec_push(*state, &known) = (HugeMapping){.device = 1, .inode = 62};
        assert_false(process_maps_have_new(*state, maps, &none, &known));
}

TEST_FILE(process) {
        const struct CMUnitTest tests[] = {
                TEST(test_smaps),
                TEST(test_cut),
                TEST(test_new),
        };

        return RUN_TESTS(tests);
}
