/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "support/testing.h"
#include "units/dropin.h"

static const char ctl[] = "/usr/bin/hugeplanctl";

static Dropins make(Arena *arena, const Config *config) {
        const DropinInput input = {.config = config, .ctl = ctl, .has_group = true};

        const Dropins dropins = dropins_make(arena, &input);
        const SourceNames units = dropin_units(arena, config);

        assert_int_equal(units.n, dropins.n);
        for (size_t i = 0; i < units.n; i++)
                assert_text(units.items[i], dropins.items[i].unit);
        return dropins;
}

/* With a policy whose nodes have no memory not even the gate could start: the policy is left out, with a message.
 * One node with memory is enough; if the kernel does not tell, all nodes count. */
TEST(policy_that_cannot_be_had) {
        static const struct {
                const char *lines, *nodes, *policy;
        } rows[] = {
                {"Nodes=2\nPlacement=bind", "0-1", NULL},
                {"Nodes=2\nPlacement=interleave", "0-1", NULL},
                {"Nodes=1-2\nPlacement=bind", "0-1", "NUMAPolicy=bind\nNUMAMask=1-2\n"},
                {"Nodes=2\nPlacement=bind", "0-2", "NUMAPolicy=bind\nNUMAMask=2\n"},
                {"Nodes=2\nPlacement=bind", NULL, "NUMAPolicy=bind\nNUMAMask=2\n"},
                {"Placement=interleave", "0", "NUMAPolicy=interleave\nNUMAMask=all\n"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const Config *config =
                        config_line(arena, "a Pages=1 Unit=a.service %s", rows[i].lines);
                IdSet nodes = {};
                DropinInput input = {.config = config, .ctl = ctl};

                if (rows[i].nodes) {
                        assert_int_equal(id_set_parse(rows[i].nodes, &nodes), 0);
                        input.memory_nodes = &nodes;
                }
                const char *text = dropins_make(arena, &input).items[0].text;

                assert_contains(text, "\nExecStartPre=/usr/bin/hugeplanctl wait a\n");
                assert_contains(text,
                                rows[i].policy ? rows[i].policy : ": node 2 has no memory now");
                assert_int_equal(strstr(text, "\nNUMA") != NULL, rows[i].policy != NULL);
                assert_null(dropin_odd_line(arena, text, ctl));
        }
}

/* In bytes, although limits.d has kB; the largest of the instances that share the unit. */
TEST(limits) {
        static const char oracle[] = "[Instance]\nEngine=oracle\nPages=1\nUnit=ora.service\n";
        Dropins dropins = make(arena, config_make(arena, "a.conf", oracle, NULL));

        assert_contains(dropins.items[0].text,
                        "LimitMEMLOCK=infinity\nSupplementaryGroups=hugetlb\n");
        dropins =
                make(arena,
                     config_line(arena,
                                 "a Pages=1 Unit=a.service MemoryLock=1G; b Pages=1 Unit=a.service "
                                 "MemoryLock=2G"));
        assert_contains(dropins.items[0].text, "\nLimitMEMLOCK=2147483648\n");
        assert_null(strstr(dropins.items[0].text, "SupplementaryGroups="));

        /* A unit with a missing group would not start. */
        const Config *config = config_make(arena, "a.conf", oracle, NULL);
        const DropinInput input = {.config = config, .ctl = ctl};

        dropins = dropins_make(arena, &input);
        assert_null(strstr(dropins.items[0].text, "\nSupplementaryGroups="));
        assert_contains(dropins.items[0].text,
                        "LimitMEMLOCK=infinity\n# Without SupplementaryGroups=hugetlb: ");
}

/* The host's present state, and the earlier drop-in. */
TEST(outdated) {
        static const struct {
                const char *lines, *nodes, *text;
                bool has_group, is_outdated;
        } rows[] = {
                {"Engine=oracle", "0", "\nSupplementaryGroups=hugetlb\n", true, false},
                {"Engine=oracle", "0", "\nSupplementaryGroups=hugetlb\n", false, true},
                {"Engine=oracle", "0", "\n# Without SupplementaryGroups=hugetlb\n", true, true},
                {"Engine=oracle", "0", "\n# Without SupplementaryGroups=hugetlb\n", false, false},
                {"Nodes=2\nPlacement=bind", "0,2", "\n# Without NUMAPolicy=bind\n", true, true},
                {"Nodes=2\nPlacement=bind", "0", "\n# Without NUMAPolicy=bind\n", true, false},
                {"Nodes=2\nPlacement=bind", "0", "\nNUMAPolicy=bind\n", true, true},
                {"Nodes=2\nPlacement=bind", "0,2", "\nNUMAPolicy=bind\n", true, false},
                {"Engine=postgresql", "0", "\n", false, false},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const Config *config =
                        config_line(arena, "a Pages=1 Unit=a.service %s", rows[i].lines);
                IdSet nodes = {};

                assert_int_equal(id_set_parse(rows[i].nodes, &nodes), 0);
                const DropinInput now = {.config = config,
                                         .ctl = ctl,
                                         .has_group = rows[i].has_group,
                                         .memory_nodes = &nodes};

                assert_int_equal(dropin_is_outdated(arena, &now, "a.service", rows[i].text),
                                 rows[i].is_outdated);
                assert_false(dropin_is_outdated(arena, &now, "b.service", rows[i].text));
        }
}

/* An instance that gets more than its preference is served by its own unit, if systemd can do that. */
TEST(memory_thp) {
        const Config *config = config_line(
                arena, "a Engine=postgresql Memory=1G Unit=a.service; b Pages=1 Unit=b.service "
                       "TransparentHugePages=always; c Pages=1 Unit=c.service "
                       "TransparentHugePages=madvise; d Pages=1 Unit=d.service");
        DropinInput input = {.config = config, .ctl = ctl, .systemd_version = 260};
        Dropins dropins = dropins_make(arena, &input);

        assert_contains(dropins.items[0].text, "\nMemoryTHP=disable\n");
        assert_null(strstr(dropins.items[1].text, "MemoryTHP="));
        assert_contains(dropins.items[2].text, "\nMemoryTHP=madvise\n");
        assert_null(strstr(dropins.items[3].text, "MemoryTHP="));
        input.systemd_version = 259;
        dropins = dropins_make(arena, &input);
        for (size_t i = 0; i < dropins.n; i++)
                assert_null(strstr(dropins.items[i].text, "MemoryTHP="));
}

/* A bound neighbour's name comes from a file, like the instance's own. */
TEST(hostile_neighbour) {
        const Dropins dropins = make(
                arena, config_make(arena, "a.conf", "[Instance]\nPages=1\nUnit=a.service\n",
                                   "b\nExecStart=x.conf",
                                   "[Instance]\nPages=1\nUnit=b.service\nNodes=1\nPlacement=bind\n",
                                   NULL));

        assert_null(dropin_odd_line(arena, dropins.items[0].text, ctl));
        assert_non_null(dropin_odd_line(
                arena, "ExecStartPre=-+/usr/bin/hugeplanctl hugetlb limit a\n", ctl));
}

/* An untrusted user may have chosen the name of a file; it must not begin a line. */
TEST(hostile_file_names) {
        static const char *const names[] = {
                "a\nExecStartPre=evil.conf",
                "a\rExecStart=x.conf",
                "a\x7f\x01.conf",
                "a\\.conf",
                "a%n.conf",
                "a\n[Service].conf",
        };

        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                const Dropins dropins = make(
                        arena, config_make(arena, names[i],
                                           "[Instance]\nPages=1\nUnit=a.service\nName=a\n", NULL));

                assert_int_equal(dropins.n, 1);
                assert_text(dropin_odd_line(arena, dropins.items[0].text, ctl), NULL);
                assert_null(strpbrk(dropins.items[0].text, "\r\x7f\x01"));
                assert_contains(dropins.items[0].text, "wait a\n");
        }
        /* Without Name= the file's name itself is hostile: no gate at all. */
        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                const Dropins dropins =
                        make(arena, config_make(arena, names[i],
                                                "[Instance]\nPages=1\nUnit=a.service\n", NULL));

                assert_int_equal(dropins.n, 0);
        }
}
