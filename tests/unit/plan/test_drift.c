/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What has changed since the plan was carried out, to the page. */

#include "plan/drift.h"
#include "support/testing.h"

static const char as_planned[] =
        "sizes 1G 2M\nnode 0 total=4G free=3G 2M=100\nnode 1 total=4G free=3G 2M=7\n";

/* A plan that gives `a` its 100 pages of node 0, where they are, with none of node 1's 7, and the host as it
 * is later. */
static char *drifts_text(Arena *arena, const char *now, const char *instance,
                         const HostPlan *host) {
        const Config *config = config_make(arena, "a.conf", instance, NULL);
        const Topology *before = host_make(arena, as_planned);
        Ledger *ledger = ledger_new(arena, "boot");
        const Plan *plan = plan_with(arena, config, before, ledger, NULL);

        plan_record(arena, plan, ledger);
        const Drifts drifts = drift_find(arena, plan, ledger, host_make(arena, now), host);
        Text text = text_in(arena);

        VEC_FOREACH(drift, &drifts)
                text_printf(&text, "%s%d%s: %s", text.length > 0 ? "\n" : "", (int) drift->kind,
                            drift_wants_repair(drift) ? " repair" : "", drift_format(arena, drift));
        return arena_strdup(arena, text_string(&text));
}

#define ON_NODE_0 "[Instance]\nNodeMemory=0:200M\nPageSize=2M\n"

TEST(pools) {
        static const struct {
                const char *now, *text;
        } cases[] = {
                {as_planned, ""},
                {"sizes 1G 2M\nnode 0 total=4G free=3G 2M=99\nnode 1 total=4G free=3G 2M=7\n",
                 "0 repair: node 0 has 99 pages of 2M instead of 100"},
                {"sizes 1G 2M\nnode 0 total=4G free=3G 2M=101\nnode 1 total=4G free=3G 2M=7\n",
                 "1: node 0 has 101 pages of 2M instead of 100"},
                /* Surplus pages do not last. */
                {"sizes 1G 2M\nnode 0 total=4G free=3G 2M=100/100/1\nnode 1 total=4G free=3G 2M=7\n",
                 "0 repair: node 0 has 99 pages of 2M instead of 100"},
                /* Where no instance has anything: fewer is nobody's business. */
                {"sizes 1G 2M\nnode 0 total=4G free=3G 2M=100\nnode 1 total=4G free=3G 2M=0\n", ""},
                {"sizes 1G 2M\nnode 0 total=4G free=3G 2M=100\nnode 1 total=4G free=3G 2M=8\n",
                 "1: node 1 has 8 pages of 2M instead of 7"},
                {"sizes 1G 2M\nnode 0 total=4G free=3G 1G=1 2M=100\nnode 1 total=4G free=3G 2M=7\n",
                 "1: node 0 has 1 pages of 1G instead of 0"},
                {"sizes 1G 2M\nnode 0 total=4G free=3G 2M=100\n", ""},
                {"sizes 1G 2M\nnode 1 total=4G free=3G 2M=7\n",
                 "2 repair: node 0 is gone, and with it 100 pages of 2M"},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++)
                assert_text(drifts_text(arena, cases[i].now, ON_NODE_0, &(HostPlan){}),
                            cases[i].text);
}

/* A single page counts like many. */
TEST(one_page) {
        static const char one[] = "[Instance]\nNodeMemory=1:2M\nPageSize=2M\n";

        assert_text(drifts_text(arena, "sizes 1G 2M\nnode 0 total=4G free=3G 2M=100\n", one,
                                &(HostPlan){}),
                    "2 repair: node 1 is gone, and with it 7 pages of 2M");
        assert_text(
                drifts_text(
                        arena,
                        "sizes 1G 2M\nnode 0 total=4G free=3G 2M=100\nnode 1 total=4G free=3G 2M=0\n",
                        one, &(HostPlan){}),
                "0 repair: node 1 has 0 pages of 2M instead of 7");
}

TEST(host) {
        HostPlan host = {};

        *vec_push(arena, &host.writes) = (HostWrite){.path = "/sys/thp", .value = "never"};
        *vec_push(arena, &host.writes) = (HostWrite){.path = "/proc/shm", .value = "7"};
        assert_text(drifts_text(arena, as_planned, ON_NODE_0, &host),
                    "3 repair: /sys/thp is no longer 'never'\n"
                    "3 repair: /proc/shm is no longer '7'");
}
