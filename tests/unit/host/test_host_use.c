/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the control groups of a host show about units. */

#include "host/host_use.h"
#include "support/tree_story.h"

#include "base/size.h"

#define ROOT "/sys/fs/cgroup"

static const char host[] = "sizes 1G 2M\nnode 0 total=16G free=8G 1G=3/3 2M=20/17\n"
                           "node 1 total=16G free=8G 2M=20/15\n";

/* "20/0:3/1:5" as in support/testing.h; "-": not counted. */
static const char *charge_text(Arena *arena, const UnitUse *unit, uint64_t page_size_bytes) {
        const UnitCharge *charge = unit_use_charge(unit, page_size_bytes);
        Text text = text_in(arena);

        if (!charge)
                return "-";
        text_printf(&text, "%" PRIu64, charge->reserved_pages);
        VEC_FOREACH(used, &charge->used)
                text_printf(&text, "/%u:%" PRIu64, used->node, used->pages);
        return text_string(&text);
}

/* "stopped", or "running", pages of 2M and 1G, and the nodes of the unit; "unit-2M": the host has no pages of 1G. */
TREE_VERB(do_unit, "unit unit-2M") {
        const Tree *tree = story->tree;
        const Config *config = config_line(line->arena, "a Pages=1 Unit=%s", line->words[1]);
        const char *of = text_equals(line->words[0], "unit")
                                 ? host
                                 : "sizes 1G 2M\nnode 0 total=16G free=8G 2M=20/17\n";
        const HostUse *use = host_use_read(tree->root, line->arena, config,
                                           ledger_new(line->arena, ""), host_make(line->arena, of));
        const UnitUse *unit = &use->units.items[0];

        assert_int_equal(use->units.n, 1);
        assert_text(unit->unit, line->words[1]);
        if (!unit->is_running)
                assert_int_equal(unit->charges.n, 0);
        return arena_printf(
                line->arena, "%s 2M=%s 1G=%s nodes=%s", unit->is_running ? "running" : "stopped",
                charge_text(line->arena, unit, 2 * MIB), charge_text(line->arena, unit, GIB),
                unit->has_memory_nodes ? id_set_format(line->arena, &unit->memory_nodes) : "-");
}

STORY_TEST(stories, "unit/host/host_use", TREE_TELLER)

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

        tree_write(tree, ROOT "/system.slice/a.service/hugetlb.2MB.rsvd.current", "41943040\n");
        tree_write(tree, ROOT "/system.slice/a.service/hugetlb.2MB.numa_stat",
                   "total=16777216 N0=6291456 N1=10485760\n");
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
