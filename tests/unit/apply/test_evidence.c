/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "apply/apply.h"
#include "support/testing.h"

static const char host[] = "sizes 2M\n"
                           "node 0 total=8G free=2G cache=3G 2M=10/10/0\n"
                           "node 1 total=8G free=1G cache=16M 2M=10/10/0\n";

static PlanPool pool; /* of the result */

static ApplyResult shortfall_of(unsigned node) {
        pool = (PlanPool){.node = node, .page_size_bytes = 2 * MIB};
        return (ApplyResult){.step = {.pool = &pool, .to_pages = 300},
                             .reached_pages = 10,
                             .escalation = {.n_rounds = 2}};
}

/* Orders are powers of two of the base page. */
TEST(largest_block) {
        const Topology *now =
                host_make(arena, "sizes 2M\nnode 0 total=4G free=3G\nnode 1 total=4G free=3G\n"
                                 "node 2 total=4G free=3G\n"
                                 "blocks 0 0=1\nblocks 1 3=2 9=1 10=0\n");

        assert_int_equal(evidence_largest_block_bytes(now, 0), now->base_page_bytes);
        assert_int_equal(evidence_largest_block_bytes(now, 1), now->base_page_bytes << 9);
        assert_int_equal(evidence_largest_block_bytes(now, 2), 0);
        assert_int_equal(evidence_largest_block_bytes(now, 7), 0);
}

/* Only free blocks that are large enough can become pages immediately. */
TEST(ready_pages) {
        Topology *now = host_make(arena,
                                  "sizes 2M\nnode 0 total=4G free=3G\nnode 1 total=4G free=3G\n"
                                  "blocks 0 0=7 8=5 9=2 10=3\n");

        assert_int_equal(evidence_ready_pages(now, 0, 2 * MIB), 2 + 2 * 3);
        assert_int_equal(evidence_ready_pages(now, 0, 4 * MIB), 3);
        assert_int_equal(evidence_ready_pages(now, 0, now->base_page_bytes),
                         7 + 5 * 256 + 2 * 512 + 3 * 1024);
        assert_int_equal(evidence_ready_pages(now, 1, 2 * MIB), 0);
        assert_int_equal(evidence_ready_pages(now, 7, 2 * MIB), 0);
        now->base_page_bytes = 64 * KIB; /* 2M is a block of order 5 */
        assert_int_equal(evidence_ready_pages(now, 0, 2 * MIB), 5 * 8 + 2 * 16 + 3 * 32);
        assert_int_equal(evidence_largest_block_bytes(now, 0), 64 * MIB);
        now->base_page_bytes = 0;
        assert_int_equal(evidence_ready_pages(now, 0, 2 * MIB), 0);
}

TEST(fragmented) {
        Topology *now = host_make(arena, host);
        ApplyResult shortfall = shortfall_of(1);
        Reason reason = evidence_of_shortfall(arena, now, &shortfall);

        assert_int_equal(reason.kind, REASON_FRAGMENTED);
        assert_contains(reason.text, "node 1 gave 10 of 300 pages of 2M: 1G is free");
        assert_contains(reason.text, "2 rounds of compaction");
        assert_text(reason.remedy, "reboot so that the pages are reserved before memory fragments");
        shortfall.escalation.n_rounds = 1;
        assert_contains(evidence_of_shortfall(arena, now, &shortfall).text,
                        "; 1 round of compaction)");
        shortfall.escalation.n_rounds = 0;
        assert_contains(evidence_of_shortfall(arena, now, &shortfall).text,
                        "compaction is disabled, or there was no time for it");
        now->base_page_bytes = 0;
        reason = evidence_of_shortfall(arena, now, &shortfall);
        assert_contains(reason.text, "fragmented (the size of its blocks is not known; comp");
}

/* Lists of free blocks end below 1G, so an empty list is no evidence for pages of that size. */
TEST(beyond_the_lists) {
        Topology *now =
                host_make(arena, "sizes 1G\nnode 0 total=64G free=60G\nblocks 0 9=0 10=9\n");
        ApplyResult shortfall = shortfall_of(0);

        now->nodes[0].n_orders = 11;
        pool.page_size_bytes = GIB;
        shortfall.step.to_pages = 12;
        const Reason reason = evidence_of_shortfall(arena, now, &shortfall);

        assert_int_equal(reason.kind, REASON_FRAGMENTED);
        assert_contains(
                reason.text,
                "node 0 gave 10 of 12 pages of 1G: 60G is free, and the kernel found no range of 1G");
        assert_contains(reason.text,
                        "(its lists of free blocks end at 4M; 2 rounds of compaction)");
}

/* Missing pages are those between the target and the result. With as much free memory or page cache, there could be
 * more pages. */
TEST(just_enough) {
        ApplyResult shortfall = shortfall_of(0);

        shortfall.step.to_pages = 1034; /* 2G are missing */
        const Topology *enough = host_make(arena, "sizes 2M\nnode 0 total=8G free=2G cache=2G\n");
        const Topology *less =
                host_make(arena, "sizes 2M\nnode 0 total=8G free=2097148K cache=2097148K\n");
        Reason reason = evidence_of_shortfall(arena, enough, &shortfall);

        assert_int_equal(reason.kind, REASON_FRAGMENTED);
        assert_contains(reason.remedy, "DropCaches=yes");
        reason = evidence_of_shortfall(arena, less, &shortfall);
        assert_int_equal(reason.kind, REASON_NOT_ENOUGH_MEMORY);
        assert_null(strstr(reason.remedy, "DropCaches=yes"));
        /* A node that has disappeared has no free memory. */
        pool.node = 7;
        reason = evidence_of_shortfall(arena, enough, &shortfall);
        assert_int_equal(reason.kind, REASON_NOT_ENOUGH_MEMORY);
        assert_contains(reason.text, "the node has 0 free, and 2G more would be needed");
}

/* Page cache that reclaim has not freed is mentioned, unless caches may be dropped. */
TEST(cache_is_left) {
        const Topology *now = host_make(arena, host);
        ApplyResult shortfall = shortfall_of(0);

        assert_contains(evidence_of_shortfall(arena, now, &shortfall).remedy,
                        "or set DropCaches=yes in [Host] and reload: 3G of the node are cache");
        shortfall.escalation.is_clamped = true;
        assert_contains(evidence_of_shortfall(arena, now, &shortfall).remedy,
                        "reserve at boot before it fills; or set DropCaches=yes");
        shortfall.escalation.options.may_drop_caches = true;
        assert_text(
                evidence_of_shortfall(arena, now, &shortfall).remedy,
                "free memory on that node, allow more nodes, or reserve at boot before it fills");
}

TEST(not_enough_memory) {
        const Topology *now = host_make(arena, host);
        ApplyResult shortfall = shortfall_of(1);

        shortfall.step.to_pages = 2000;
        Reason reason = evidence_of_shortfall(arena, now, &shortfall);

        assert_int_equal(reason.kind, REASON_NOT_ENOUGH_MEMORY);
        assert_contains(reason.text, "the node has 1G free, and 3.9G more would be needed");
}

TEST(errors) {
        const Topology *now = host_make(arena, host);
        ApplyResult shortfall = shortfall_of(0);

        shortfall.error = -EINVAL;
        assert_contains(
                evidence_of_shortfall(arena, now, &shortfall).remedy,
                "(hugepagesz= and hugepages=); a partition of POWER must have those of 16G from its firmware");
        shortfall.error = -EACCES;
        assert_contains(evidence_of_shortfall(arena, now, &shortfall).remedy, "as root");
        shortfall.error = -EPERM;
        assert_contains(evidence_of_shortfall(arena, now, &shortfall).remedy, "as root");
        shortfall.error = -EROFS;
        assert_contains(evidence_of_shortfall(arena, now, &shortfall).remedy, "as root");
        shortfall.error = -EIO;
        assert_text(evidence_of_shortfall(arena, now, &shortfall).remedy, "see the kernel log");
        pool.node = 7;
        assert_int_equal(evidence_of_shortfall(arena, now, &shortfall).kind, REASON_NODE_ABSENT);
}
