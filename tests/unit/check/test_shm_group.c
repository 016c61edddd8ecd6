/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The one group that may have System V huge pages: a line that sets another one than the plan's works against it. */

#include "check/rules.h"
#include "support/sources.h"
#include "support/testing.h"

#define SYSCTL "/etc/sysctl.d/99.conf"

static Diags judge(Arena *arena, const char *groups, const char *sysctl) {
        const Sources *sources = TEST_SOURCES(arena, {"/etc/group", groups});
        const Config *config =
                config_make(arena, "20-a.conf",
                            "[Instance]\nEngine=oracle\nUnit=ora.service\nPages=100\n", NULL);
        Topology *topology = host_make(arena, "sizes 2M\nnode 0 total=16G free=15G\n");
        const Accounts accounts = accounts_read(arena, sources);
        SettingSources *setting_sources = setting_sources_new(arena, topology);
        const ThpPlan thp = {.policy = THP_KEEP};
        Diags problems = diags_in(arena);

        setting_sources_add_file(
                setting_sources,
                &(SettingSourceFile){SETTING_SOURCE_SYSCTL, SYSCTL, sysctl, strlen(sysctl)});
        setting_sources_finish(setting_sources);
        conflicts_add(arena,
                      &(HostView){.config = config,
                                  .topology = topology,
                                  .plan = plan_simple(arena, config, topology),
                                  .thp = &thp,
                                  .setting_sources = setting_sources,
                                  .accounts = &accounts},
                      &problems);
        return problems;
}

TEST(group) {
        static const char groups[] = "hugetlb:x:990:\ndba:x:501:oracle\n";
        const Diags others = judge(arena, groups, "vm.hugetlb_shm_group=501\n");

        assert_int_equal(others.list.n, 1);
        assert_text(diag_format(arena, &others.list.items[0]),
                    SYSCTL ":1: vm.hugetlb_shm_group: '501' works against the plan; systemd-sysctl "
                           "applies it again whenever a package triggers it; delete the line");
        assert_int_equal(judge(arena, groups, "vm.hugetlb_shm_group=990\n").list.n, 0);
}
