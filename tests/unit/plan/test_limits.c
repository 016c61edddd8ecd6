/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config/config.h"
#include "plan/host_plan.h"

#include "base/size.h"
#include "support/sources.h"
#include "support/testing.h"

static const char host_text[] = "sizes 2M\nnode 0 total=64G free=60G\n";
static const char group_text[] = "root:x:0:\ndba:x:54321:oracle\nhugetlb:x:990:\n";

static const KernelLimits unlimited = {UINT64_MAX, UINT64_MAX, 0};

/* "FILE=VALUE ...|problems" */
static char *plan_text(Arena *arena, const Config *config, const KernelLimits *kernel,
                       const char *groups) {
        Topology *host = host_make(arena, host_text);
        Diags problems = diags_in(arena);
        Text text = text_in(arena);
        Accounts accounts = accounts_read(arena, TEST_SOURCES(arena, {"/etc/group", groups}));
        const HostPlanInput input = {config, plan_simple(arena, config, host), host, &accounts};

        host->limits = *kernel;
        const HostWrites writes = limits_plan_make(arena, &input, &problems);

        VEC_FOREACH(write, &writes)
                text_printf(&text, "%s%s=%s", write == writes.items ? "" : " ",
                            strrchr(write->path, '/') + 1, write->value);
        text_printf(&text, "|%s", problems_text(arena, &problems));
        return text.string;
}

static const char oracle_10[] = "[Instance]\nEngine=oracle\nPages=5120\n";
static const char oracle_20[] = "[Instance]\nEngine=oracle\nPages=10240\n";
static const char postgresql[] = "[Instance]\nEngine=postgresql\nPages=20000\n";

/* Memory that is mapped privately needs no shared memory limits, however large. */
TEST(mmap_needs_nothing) {
        const KernelLimits low = {32 * MIB, 8192, 0};

        assert_text(
                plan_text(arena, config_make(arena, "pg.conf", postgresql, NULL), &low, group_text),
                "|");
}

/* shmmax in bytes, for the largest; shmall in base pages, for all and an eighth. */
TEST(limits_are_raised) {
        const Config *config = config_make(arena, "a.conf", oracle_10, "b.conf", oracle_20,
                                           "pg.conf", postgresql, NULL);
        const KernelLimits low = {10 * GIB, 1000, 990};
        const KernelLimits shmall_low = {20 * GIB, 30 * GIB / 4096, 990};
        const KernelLimits enough = {20 * GIB, 34 * GIB / 4096, 990};

        assert_text(plan_text(arena, config, &low, group_text),
                    arena_printf(arena, "shmmax=%" PRIu64 " shmall=%" PRIu64 "|", 20 * GIB,
                                 (30 * GIB + 30 * GIB / 8) / 4096));
        assert_text(plan_text(arena, config, &shmall_low, group_text),
                    arena_printf(arena, "shmall=%" PRIu64 "|", (30 * GIB + 30 * GIB / 8) / 4096));
        assert_text(plan_text(arena, config, &enough, group_text), "|");
}

TEST(limits_are_kept) {
        const Config *config = config_make(arena, "00-host.conf",
                                           "[Host]\nSharedMemoryLimits=keep\n", "a.conf", oracle_10,
                                           NULL);
        const KernelLimits low = {1, 1, 990};

        assert_text(plan_text(arena, config, &low, group_text), "|");
}

/* Base pages have the host's size, if known. A limit that just suffices stays. */
TEST(limits_in_base_pages) {
        static const struct {
                uint64_t base_page_bytes, shmall_pages;
                const char *written;
        } cases[] = {
                {4096, 10 * GIB / 8 * 9 / 4096, NULL},
                {4096, 10 * GIB / 8 * 9 / 4096 - 1, "2949120"},
                {65536, 0, "184320"},
                {0, 0, NULL}, /* a recorded host without that size: the problem says so */
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                const Config *config = config_make(arena, "o.conf", oracle_10, NULL);
                Topology *host = host_make(arena, host_text);
                Diags problems = diags_in(arena);
                Accounts accounts =
                        accounts_read(arena, TEST_SOURCES(arena, {"/etc/group", group_text}));
                const HostPlanInput input = {config, plan_simple(arena, config, host), host,
                                             &accounts};

                host->base_page_bytes = cases[i].base_page_bytes;
                host->limits = (KernelLimits){UINT64_MAX, cases[i].shmall_pages, 990};
                const HostWrites writes = limits_plan_make(arena, &input, &problems);

                assert_int_equal(writes.n, cases[i].written != NULL);
                if (cases[i].written)
                        assert_text(writes.items[0].value, cases[i].written);
                assert_int_equal(problems.list.n, cases[i].base_page_bytes == 0);
                if (problems.list.n > 0)
                        assert_contains(problems.list.items[0].text, "kernel.shmall");
        }
}

TEST(group) {
        const Config *config = config_make(arena, "a.conf", oracle_10, NULL);
        KernelLimits kernel = unlimited;

        assert_text(plan_text(arena, config, &kernel, group_text), "hugetlb_shm_group=990|");
        kernel.shm_group = 990;
        assert_text(plan_text(arena, config, &kernel, group_text), "|");
        kernel.shm_group = 54321;
        const char *text = plan_text(arena, config, &kernel, group_text);

        assert_contains(text, "hugetlb_shm_group=990|");
        assert_contains(text, "vm.hugetlb_shm_group is group dba (54321)");
        kernel.shm_group = 0;
        text = plan_text(arena, config, &kernel, "root:x:0:\n");
        assert_contains(text, "|");
        assert_contains(text, "the group 'hugetlb' does not exist");
        assert_null(strstr(text, "hugetlb_shm_group="));
        kernel.shm_group = UINT64_MAX; /* a kernel without huge pages */
        assert_text(plan_text(arena, config, &kernel, group_text), "|");
}

static const InstanceConfig *instance_of(Arena *arena, const char *keys) {
        const Config *config = config_line(arena, "a Pages=5 %s", keys);

        assert_text(problems_text(arena, &config->problems), "");
        return &config->instances[0];
}

TEST(memory_lock) {
        static const struct {
                const char *keys, *expected;
        } cases[] = {
                {"Engine=oracle\n", "infinity"},
                {"Engine=oracle\nMemoryLock=no\n", NULL},
                {"Engine=oracle\nMemoryLock=80GiB\n", "85899345920"},
                {"Engine=oracle\nSharedMemory=mmap\n", NULL},
                {"Engine=postgresql\n", NULL},
                {"Engine=postgresql\nSharedMemory=sysv\n", "infinity"},
                {"Engine=jvm\nMemoryLock=infinity\n", "infinity"},
                {"Engine=mongodb\n", NULL},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                const char *keys = cases[i].keys;
                const InstanceConfig *instance =
                        strstr(keys, "mongodb")
                                ? &config_line(arena, "a Engine=mongodb")->instances[0]
                                : instance_of(arena, keys);

                assert_text(instance_memory_lock(instance), cases[i].expected);
        }
}

static char *pam_lines(Arena *arena, const Config *config) {
        const Topology *host = host_make(arena, host_text);
        char *text = limits_pam_text(arena, config, plan_simple(arena, config, host));

        return text ? strstr(text, "limits.conf(5).\n") + strlen("limits.conf(5).\n") : NULL;
}

/* In kB, although a unit counts bytes. Instances of one user are added up. */
TEST(logins) {
        assert_null(pam_lines(arena, config_make(arena, "pg.conf", postgresql, NULL)));
        assert_text(pam_lines(arena, config_make(arena, "a.conf", oracle_10, "b.conf", oracle_20,
                                                 "pg.conf", postgresql, NULL)),
                    "oracle soft memlock 31457280\noracle hard memlock 31457280\n");
        assert_text(
                pam_lines(arena,
                          config_line(arena,
                                      "a Engine=oracle Pages=1 User=ora19 MemoryLock=infinity")),
                "ora19 soft memlock unlimited\nora19 hard memlock unlimited\n");
        assert_text(
                pam_lines(arena,
                          config_line(arena, "a Engine=generic Pages=1 User=ifx MemoryLock=64M")),
                "ifx soft memlock 65536\nifx hard memlock 65536\n");
        assert_text(
                pam_lines(arena,
                          config_line(arena, "a Engine=generic Pages=1 User=54321 MemoryLock=64M")),
                ":54321 soft memlock 65536\n:54321 hard memlock 65536\n");
}

TEST(accounts) {
        const Sources *sources = TEST_SOURCES(
                arena,
                {"/etc/passwd", "root:x:0:0:root:/root:/bin/bash\n\nbroken\n+nis::::::\n"
                                "postgres:x:112:118::/var/lib/postgresql:/bin/bash\n"
                                "short:x:7:8\n"},
                {"/usr/lib/passwd", "postgres:x:1:1::/:/bin/sh\nvendor:x:2:2::/:/bin/sh\n"},
                {"/etc/group", "postgres:x:118:\nempty::7\ndba:x:501:www,postgres\n"},
                {"/usr/lib/group", "vendors:x:2:\n"},
                {"/etc/nsswitch.conf",
                 "# x\npasswd: files systemd\ngroup:\tfiles [!UNAVAIL=return] sss\n"});
        Accounts accounts = accounts_read(arena, sources);

        assert_int_equal(account_find_user(arena, &accounts, "postgres")->id, 112);
        assert_int_equal(account_find_user(arena, &accounts, "postgres")->group_id, 118);
        assert_int_equal(account_find_group(arena, &accounts, "postgres")->id, 118);
        assert_int_equal(account_find_user(arena, &accounts, "vendor")->id, 2);
        assert_int_equal(account_find_group(arena, &accounts, "vendors")->id, 2);
        assert_null(account_find_group(arena, &accounts, "empty"));
        assert_null(account_find_user(arena, &accounts, "broken"));
        assert_null(account_find_user(arena, &accounts, "+nis"));
        assert_int_equal(account_find_user(arena, &accounts, "4711")->id, 4711);
        assert_int_equal(account_find_user(arena, &accounts, "4711")->group_id, UINT64_MAX);
        assert_text(account_find_user(arena, &accounts, "112")->name, "postgres");
        assert_text(account_find_user(arena, &accounts, "postgres")->home, "/var/lib/postgresql");
        assert_null(account_find_user(arena, &accounts, "short")->home);
        const Account *dba = account_find_group(arena, &accounts, "dba");

        assert_true(account_has_member(arena, dba, "postgres"));
        assert_false(account_has_member(arena, dba, "post"));
        assert_false(accounts.users_elsewhere);
        assert_true(accounts.groups_elsewhere);
}

/* Of the first instance and of the last one. */
TEST(accounts_of_first_instance) {
        Config *config = config_line(arena, "a Pages=1 User=ghost; b Pages=1");
        Accounts accounts = accounts_read(
                arena, TEST_SOURCES(arena, {"/etc/passwd", "nobody:x:65534:65534::/:\n"}));

        config_check_accounts(arena, config, &accounts);
        assert_contains(config->instances[0].refusal->text, "there is no user 'ghost'");
        assert_null(config->instances[1].refusal);
}

/* A missing group makes its instance invalid, with file and line, and no other one. */
TEST(accounts_of_instances) {
        Config *config = config_line(
                arena, "a Pages=1 User=nobody; b Pages=1 User=ghost; c Pages=1 Group=ghosts; d "
                       "Pages=1 User=4711");
        Accounts accounts = accounts_read(
                arena, TEST_SOURCES(arena, {"/etc/passwd", "nobody:x:65534:65534::/:\n"}));

        config_check_accounts(arena, config, &accounts);
        assert_null(config->instances[0].refusal);
        assert_text(diag_format(arena, config->instances[1].refusal),
                    "/etc/hugeplan.d/b.conf:3: User: there is no user 'ghost' on this host; create "
                    "the user, or name one that exists");
        assert_contains(config->instances[2].refusal->text, "there is no group 'ghosts'");
        assert_null(config->instances[3].refusal);
        assert_int_equal(config->problems.list.n, 2);

        /* Another source may know it. */
        accounts.users_elsewhere = true;
        config = config_line(arena, "b Pages=1 User=ghost");
        config_check_accounts(arena, config, &accounts);
        assert_null(config->instances[0].refusal);
}
