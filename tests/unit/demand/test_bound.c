/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "demand/unit_policy.h"

#include "base/size.h"
#include "support/testing.h"

#define AUTO "[Instance]\nEngine=postgresql\nUnit=pg.service\n"

/* The bounds of learned sizes: 16G on two nodes, 80% of each for learned sizes. */
TEST(bounds) {
        static const struct {
                const char *file;
                uint64_t pages;
                const char *wrong; /* NULL: accepted */
        } rows[] = {
                {AUTO "Memory=auto\n", 6552, NULL},
                {AUTO "Memory=auto\n", 6554,
                 "it is 6,554 pages of 2M (12.8G), and learned sizes may have 12.8G "
                 "of nodes 0-1 (AutoMemory=80% of each node)"},
                {AUTO "Memory=auto\nNodes=1\n", 3276, NULL},
                {AUTO "Memory=auto\nNodes=1\n", 3277,
                 "it is 3,277 pages of 2M (6.4G), and learned sizes may have 6.4G "
                 "of node 1 (AutoMemory=80% of each node)"},
                {AUTO "Memory=auto\n", 8193,
                 "it is 8,193 pages of 2M (16G), and this host has 16G of memory"},
                {AUTO "Memory=auto:4G\n", 2048, NULL},
                {AUTO "Memory=auto:4G\n", 2049,
                 "it is 2,049 pages of 2M (4G), and Memory=auto:4G in "
                 "/etc/hugeplan.d/20-pg.conf:4 allows no more"},
                {AUTO "Memory=auto:4G\n", UINT64_MAX / 2,
                 "it is 9,223,372,036,854,775,807 pages of 2M (16E), and this host "
                 "has 16G of memory"},
                /* The administrator's own size is bounded by the plan. */
                {AUTO "Memory=15G\n", 8192, NULL},
        };
        const Topology *topology = host_make(arena, "sizes 1G 2M\nnode 0 total=8G free=6G\n"
                                                    "node 1 total=8G free=6G\n");

        ARRAY_FOREACH(row, rows, ARRAY_LEN(rows)) {
                const Config *config = config_make(arena, "20-pg.conf", row->file, NULL);
                const Reason reason = bound_check(arena, config, &config->instances[0], topology,
                                                  &(PageCount){2 * MIB, row->pages});

                assert_int_equal(reason.kind, row->wrong ? REASON_BEYOND_BOUND : REASON_NONE);
                if (row->wrong)
                        assert_text(reason.text, row->wrong);
        }
}

/* Resetting a key also removes its bound. */
TEST(bound_is_taken_back) {
        const Config *config = config_make(arena, "20-pg.conf", AUTO "Memory=auto:4G\n",
                                           "20-pg.conf.d/10.conf", "[Instance]\nMemory=\n", NULL);

        assert_int_equal(config->instances[0].memory_kind, MEMORY_AUTO);
        assert_int_equal(config->instances[0].memory_bytes, 0);
}
