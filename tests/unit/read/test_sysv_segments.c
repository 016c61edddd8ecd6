/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "read/process.h"
#include "support/testing.h"

/* As printed by kernel 6.1. */
static const char listed[] =
        "       key      shmid perms                  size  cpid  lpid nattch   uid   gid  cuid  cgid"
        "      atime      dtime      ctime                   rss                  swap\n"
        "  23102145          3   600                    56   614   614      6   104   112   104   112"
        " 1732215000          0 1732215000                  4096                     0\n"
        "         0      32769  1640            1073741824   777   801      2   110   117   110   117"
        " 1732215001 1732215002 1732215000            1073741824                     0\n"
        "cut 1 2\n";

TEST(parse) {
        SysvSegments segments = sysv_segments_parse(arena, listed);

        assert_int_equal(segments.n, 2);
        assert_int_equal(segments.items[0].id, 3);
        assert_int_equal(segments.items[0].size_bytes, 56);
        assert_int_equal(segments.items[1].id, 32769);
        assert_int_equal(segments.items[1].size_bytes, GIB);
        assert_int_equal(segments.items[1].pid, 777);
        assert_int_equal(segments.items[1].n_attached, 2);
        assert_int_equal(segments.items[1].resident_bytes, GIB);
}

TEST(nothing) {
        assert_int_equal(sysv_segments_parse(arena, NULL).n, 0);
        assert_int_equal(sysv_segments_parse(arena, "").n, 0);
        assert_int_equal(sysv_segments_parse(arena, "1 2\n\n").n, 0);
}
