/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Whether units start the servers of their instances, and which units were probably meant. */

#include "support/testing.h"
#include "units/loaded_unit.h"

/* Of a file with a mistake only the unit is known. */
TEST(refused) {
        const Config *config = config_make(arena, "20-a.conf",
                                           "[Instance]\nUnit=x.service\nPages=z\n", "30-b.conf",
                                           "[Instance]\nUnit=x.service\nMemory=1G\n", NULL);
        const LoadedUnits units = {};
        Diags problems = diags_in(arena);

        unit_match_judge(arena,
                         &(LoadedUnitInput){.config = config,
                                            .plan = plan_simple(arena, config,
                                                                host_make(arena, "sizes 2M\nnode 0 "
                                                                                 "total=64G\n"))},
                         &units, &problems);
        assert_int_equal(problems.list.n, 0);
}

/* A database that numactl binds to a node is killed if its pages are elsewhere. */
TEST(policy_of_numactl) {
        static const struct {
                const char *command_line;
                MemoryPolicyKind kind;
                const char *nodes;
        } cases[] = {
                {"/usr/bin/postgres -m 0", MEMORY_POLICY_BIND, "7"}, /* as the unit's */
                {"/usr/bin/numactl --membind=1 /usr/bin/postgres", MEMORY_POLICY_BIND, "1"},
                {"numactl --cpunodebind=3 --membind 0,2-3 /usr/bin/postgres -i 5",
                 MEMORY_POLICY_BIND, "0,2-3"},
                {"/usr/bin/env LANG=C numactl -N 3 -m1 postgres", MEMORY_POLICY_BIND, "1"},
                {"numactl --membind=all postgres", MEMORY_POLICY_ANY, ""},
                {"numactl --interleave=all mongod", MEMORY_POLICY_ANY, ""},
                {"numactl -i 0,1 -- mysqld", MEMORY_POLICY_INTERLEAVE, "0-1"},
                {"numactl --localalloc mysqld", MEMORY_POLICY_ANY, ""},
                {"numactl -p 1 mysqld", MEMORY_POLICY_ANY, ""},
                {"numactl -C all mysqld -m 1", MEMORY_POLICY_BIND, "7"},
                {"numactl --membind=!0 postgres", MEMORY_POLICY_BIND, "7"}, /* not understood */
        };
        MemoryPolicy own = {.kind = MEMORY_POLICY_BIND};

        id_set_add(&own.nodes, 7);
        ARRAY_FOREACH(each, cases, ARRAY_LEN(cases)) {
                MemoryPolicy policy = unit_policy_of_start(arena, each->command_line, own);

                assert_int_equal(policy.kind, each->kind);
                assert_text(id_set_format(arena, &policy.nodes), each->nodes);
        }
}
