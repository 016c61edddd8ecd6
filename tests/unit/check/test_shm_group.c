/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The one group that may have System V huge pages: who is told when the plan takes another one's place. */

#include "check/rules.h"
#include "support/sources.h"
#include "support/testing.h"

#define ORA "[Instance]\nEngine=oracle\nUnit=ora.service\nPages=100\n"
#define DB2 "[Instance]\nSharedMemory=sysv\nUser=db2\nUnit=db2.service\nPages=100\n"

static const char passwd[] = "root:x:0:0::/root:/bin/sh\noracle:x:54321:500::/home/oracle:/bin/sh\n"
                             "db2:x:600:501::/home/db2:/bin/sh\n";

typedef struct Case {
        const char *config, *groups, *sysctl;
        uint64_t now;         /* vm.hugetlb_shm_group */
        const char *expected; /* the problems; NULL: none */
} Case;

/* What `check` says of the group. */
static const char *judge(Arena *arena, const Case *c) {
        const Sources *sources =
                TEST_SOURCES(arena, {"/etc/passwd", passwd}, {"/etc/group", c->groups},
                             {"/etc/systemd/system/ora.service", "[Service]\nUser=oracle\n"});
        const Config *config = config_make(arena, "20-a.conf", c->config, NULL);
        Topology *topology = host_make(arena, "sizes 2M\nnode 0 total=16G free=15G\n");
        const Accounts accounts = accounts_read(arena, sources);
        SettingSources *setting_sources = setting_sources_new(arena, topology);
        const Figures figures = {};
        Diags problems = diags_in(arena);

        if (c->sysctl)
                setting_sources_add_file(setting_sources,
                                         &(SettingSourceFile){SETTING_SOURCE_SYSCTL,
                                                              "/etc/sysctl.d/99.conf", c->sysctl,
                                                              strlen(c->sysctl)});
        setting_sources_finish(setting_sources);
        topology->limits.shm_group = c->now;
        const ThpPlan thp = {.policy = THP_KEEP};
        const HostView conflict = {
                .config = config,
                .topology = topology,
                .plan = plan_simple(arena, config, topology),
                .thp = &thp,
                .setting_sources = setting_sources,
                .facts = host_facts_read(arena, sources, config, topology, &figures),
                .accounts = &accounts,
        };

        conflicts_add(arena, &conflict, &problems);
        assert_true(problems.list.n <= 1);
        if (problems.list.n == 0)
                return NULL;
        const Diag *problem = &problems.list.items[0];

        return arena_printf(arena, "%s %s: %s", severity_name(problem->severity), problem->id,
                            diag_format(arena, problem));
}

TEST(group) {
        static const Case cases[] = {
                {ORA, "hugetlb:x:990:\ndba:x:501:oracle\n", NULL, 0, NULL},
                {ORA, "hugetlb:x:990:\ndba:x:501:oracle\n", NULL, 990, NULL},
                {ORA, "hugetlb:x:990:\ndba:x:501:oracle\n", NULL, UINT64_MAX, NULL},
                /* What there is to be set is not known. */
                {ORA, "dba:x:501:oracle\n", NULL, 501, NULL},
                {"[Instance]\nPages=100\n", "hugetlb:x:990:\ndba:x:501:oracle\n", NULL, 501, NULL},
                {ORA, "hugetlb:x:990:\ndba:x:501:oracle\n", NULL, 501,
                 "error shm-group-replaced: /proc/sys/vm/hugetlb_shm_group: "
                 "vm.hugetlb_shm_group can name one group only: it is dba (501), "
                 "and will be 'hugetlb'; a database that a member of the other group only "
                 "starts by hand gets no huge pages any more (ORA-27125): oracle; "
                 "usermod -aG hugetlb oracle; stop the program that sets it"},
                /* Its own group. */
                {DB2, "hugetlb:x:990:\ndba:x:501:\n", NULL, 501,
                 "error shm-group-replaced: /proc/sys/vm/hugetlb_shm_group: "
                 "vm.hugetlb_shm_group can name one group only: it is dba (501), "
                 "and will be 'hugetlb'; a database that a member of the other group only "
                 "starts by hand gets no huge pages any more (ORA-27125): db2; "
                 "usermod -aG hugetlb db2; stop the program that sets it"},
                /* Who is told has obeyed. */
                {ORA, "hugetlb:x:990:oracle\ndba:x:501:oracle\n", NULL, 501,
                 "warning shm-group-replaced: /proc/sys/vm/hugetlb_shm_group: "
                 "vm.hugetlb_shm_group can name one group only: it is dba (501), "
                 "and will be 'hugetlb'; a database that a member of the other group only "
                 "starts by hand gets no huge pages any more (ORA-27125); stop the "
                 "program that sets it"},
                /* Once, and where it is set. */
                {ORA, "hugetlb:x:990:\ndba:x:501:oracle\n", "\nvm.hugetlb_shm_group=501\n", 501,
                 "error shm-group-replaced: /etc/sysctl.d/99.conf:2: "
                 "vm.hugetlb_shm_group: vm.hugetlb_shm_group can name one group "
                 "only: it is dba (501), and will be 'hugetlb'; a database that a member of "
                 "the other group only starts by hand gets no huge pages any more "
                 "(ORA-27125): oracle; usermod -aG hugetlb oracle; delete the line"},
                /* It has not been applied yet, or no longer is. */
                {ORA, "hugetlb:x:990:\ndba:x:501:oracle\n", "vm.hugetlb_shm_group=501\n", 990,
                 "warning conflict-sysctl: /etc/sysctl.d/99.conf:1: "
                 "vm.hugetlb_shm_group: '501' works against the plan; systemd-sysctl "
                 "applies it again whenever a package triggers it; delete the line"},
                /* The plan has the same. */
                {ORA, "hugetlb:x:990:\n", "vm.hugetlb_shm_group=990\n", 0, NULL},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                const char *is = judge(arena, &cases[i]);

                if (!text_equals(is, cases[i].expected))
                        print_error("case %zu\n", i);
                assert_text(is, cases[i].expected);
        }
}
