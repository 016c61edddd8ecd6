/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Texts of a 6.18 kernel (a parent with all kinds of huge mappings, and a child), counting shared pages once, and
 * texts of other users. */

#include "base/size.h"
#include "render/views.h"
#include "status/page_users.h"
#include "status/proof.h"
#include "support/testing.h"

#define HOST "sizes 1G 2M\nnode 0 total=16G free=8G 2M=40/34\n"

static const char status_text[] = "Name:\tpostgres\n"
                                  "Umask:\t0077\n"
                                  "State:\tS (sleeping)\n"
                                  "Pid:\t16884\n"
                                  "PPid:\t16873\n"
                                  "VmPTE:\t      48 kB\n"
                                  "HugetlbPages:\t   14336 kB\n"
                                  "Threads:\t1\n";

static const char maps_text[] =
        "55d0c4a00000-55d0c4a01000 r--p 00000000 fe:00 131 /usr/bin/map\n"
        "7f6956200000-7f6956600000 rw-s 00000000 00:11 454965         /memfd:x y\\012z (deleted)\n"
        "7f6956600000-7f6956e00000 rw-s 00000000 00:11 36             /SYSV00000000 (deleted)\n"
        "7f6956e00000-7f6957600000 rw-p 00000000 00:11 454963         /anon_hugepage (deleted)\n"
        "7f6957600000-7f6957e00000 rw-s 00000000 00:11 454962         /anon_hugepage (deleted)\n"
        "7f6957e00000-7f6958000000 r--s 00800000 00:11 454962         /anon_hugepage (deleted)\n"
        "7f6958000000-7f6958600000 rw-s 00a00000 00:11 454962         /anon_hugepage (deleted)\n"
        "7ffd0f3a0000-7ffd0f3c1000 rw-p 00000000 00:00 0              [stack]\n";

static const char parent_numa_maps[] =
        "55d0c4a00000 default file=/usr/bin/map mapped=1 N0=1 kernelpagesize_kB=4\n"
        "7f6956200000 default file=/memfd:x\\040y\\012z\\040(deleted) huge dirty=1 N0=1 kernelpagesize_kB=2048\n"
        "7f6956600000 default file=/SYSV00000000\\040(deleted) huge dirty=1 N0=1 kernelpagesize_kB=2048\n"
        "7f6956e00000 default file=/anon_hugepage\\040(deleted) huge anon=2 dirty=2 mapmax=2 N0=2 kernelpagesize_kB=2048\n"
        "7f6957600000 default file=/anon_hugepage\\040(deleted) huge dirty=3 mapmax=2 N0=2 N1=1 kernelpagesize_kB=2048\n"
        "7f6957e00000 default file=/anon_hugepage\\040(deleted) huge\n"
        "7f6958000000 default file=/anon_hugepage\\040(deleted) huge\n"
        "7ffd0f3a0000 default stack anon=4 dirty=4 N0=4 kernelpagesize_kB=4\n";

static const char child_numa_maps[] =
        "7f6956200000 default file=/memfd:x\\040y\\012z\\040(deleted) huge\n"
        "7f6956600000 default file=/SYSV00000000\\040(deleted) huge\n"
        "7f6956e00000 default file=/anon_hugepage\\040(deleted) huge anon=2 dirty=2 mapmax=2 N0=2 kernelpagesize_kB=2048\n"
        "7f6957600000 default file=/anon_hugepage\\040(deleted) huge dirty=2 mapmax=2 N0=2 kernelpagesize_kB=2048\n"
        "7f6957e00000 default file=/anon_hugepage\\040(deleted) huge\n"
        "7f6958000000 default file=/anon_hugepage\\040(deleted) huge\n";

/* ---- texts ---- */

TEST(status) {
        Process process = {.pid = 16884};

        assert_int_equal(process_parse_status(arena, status_text, &process), 0);
        assert_text(process.command, "postgres");
        assert_int_equal(process.parent_pid, 16873);
        assert_int_equal(process.huge_bytes, 14336 * KIB);
        assert_int_equal(process.pid, 16884);
}

/* The kernel escapes line feeds and backslashes in names only. */
TEST(status_hostile) {
        Process process = {};

        assert_int_equal(process_parse_status(arena, "", &process), -EINVAL);
        assert_int_equal(process_parse_status(arena, "HugetlbPages:\t 2048 kB\n", &process),
                         -EINVAL);
        process_parse_status(arena, "Name:\t\033[31m\\nPPid:\xC2\x9B\x7F\nPPid:\t7\n", &process);
        assert_text(process.command, "?[31m\\nPPid:???");
        assert_int_equal(process.parent_pid, 7);
        process_parse_status(arena, "Name:\tn\xE4h\xC2\x85\n", &process);
        assert_text(process.command, "n?h??");
        process_parse_status(arena, "Name:\tn\xC3\xA4h\nHugetlbPages:\t-2 kB\n", &process);
        assert_text(process.command, "n\xC3\xA4h");
        assert_int_equal(process.huge_bytes, 0);
        process_parse_status(arena, "Name:\tx\nHugetlbPages:\t18446744073709551615 kB\n", &process);
        assert_true(process.huge_bytes == UINT64_MAX);
}

static void assert_unit(Arena *arena, const char *path, const char *unit, const char *group) {
        size_t length = 0;

        assert_text(process_unit_of_group(arena, path, &length), unit);
        if (unit)
                assert_text(arena_strndup(arena, path, length), group);
}

TEST(units) {
        char *longest = arena_alloc(arena, 400);

        assert_unit(arena, "/", NULL, NULL);
        assert_unit(arena, "/system.slice/postgresql@15-main.service", "postgresql@15-main.service",
                    "/system.slice/postgresql@15-main.service");
        assert_unit(arena, "/system.slice/system-pg.slice/pg.service/worker/x.service",
                    "pg.service", "/system.slice/system-pg.slice/pg.service");
        assert_unit(arena, "/user.slice/user-1000.slice/session-3.scope", "session-3.scope",
                    "/user.slice/user-1000.slice/session-3.scope");
        /* A user can give a control group any name. */
        assert_unit(arena,
                    "/user.slice/user-1000.slice/user@1000.service/app.slice/postgresql.service",
                    "user@1000.service", "/user.slice/user-1000.slice/user@1000.service");
        assert_unit(arena, "/docker/0123/system.slice/postgresql.service", NULL, NULL);
        assert_unit(arena, "/../system.slice/postgresql.service", NULL, NULL);
        assert_unit(arena, "/system.slice/_hugetlb.service", "hugetlb.service",
                    "/system.slice/_hugetlb.service");
        assert_unit(arena, "/init.scope", "init.scope", "/init.scope");
        assert_unit(arena, "/system.slice/.service", NULL, NULL);
        assert_unit(arena, "/system.slice/a\033b.service", NULL, NULL);
        assert_unit(arena, "/system.slice", NULL, NULL);
        memset(longest, 'a', 300);
        strcpy(longest + 300, ".service");
        assert_unit(arena, longest, NULL, NULL);
}

TEST(cgroup) {
        Process process = {};

        process_parse_cgroup(arena, "0::/system.slice/pg.service\n", &process);
        assert_text(process.unit, "pg.service");
        assert_text(process.unit_group, "/system.slice/pg.service");
        /* Hybrid: systemd's own hierarchy decides. */
        process_parse_cgroup(arena,
                             "9:name=systemd:/system.slice/pg.service/x\n"
                             "4:hugetlb,memory:/system.slice/pg.service\n"
                             "0::/system.slice/pg.service\n",
                             &process);
        assert_text(process.unit, "pg.service");
        assert_text(process.unit_group, "/system.slice/pg.service");
        /* Version 1. */
        process_parse_cgroup(arena,
                             "4:memory:/x.service\n1:name=systemd:/system.slice/my.service\n"
                             "0::/\n",
                             &process);
        assert_text(process.unit, "my.service");
        assert_null(process.unit_group);
        process_parse_cgroup(arena, "\n:::\n0:\n::\nx", &process);
        assert_null(process.unit);
}

TEST(numa_maps) {
        HugeMappings mappings = process_parse_numa_maps(arena, parent_numa_maps);

        process_add_maps(arena, maps_text, &mappings);
        assert_int_equal(mappings.n, 6);
        assert_int_equal(mappings.items[0].inode, 454965);
        assert_int_equal(mappings.items[0].length_bytes, 4 * MIB);
        assert_true(mappings.items[0].device == 0x11);
        assert_true(mappings.items[2].is_private);
        assert_int_equal(mappings.items[2].pages, 2);
        assert_false(mappings.items[3].is_private);
        assert_int_equal(mappings.items[3].pages, 3);
        assert_int_equal(mappings.items[3].n_nodes, 2);
        assert_int_equal(mappings.items[3].nodes[1].node, 1);
        assert_int_equal(mappings.items[3].nodes[1].pages, 1);
        assert_int_equal(mappings.items[3].page_size_bytes, 2 * MIB);
        assert_int_equal(mappings.items[4].page_size_bytes, 0);
        assert_int_equal(mappings.items[5].offset_bytes, 0xa00000);
}

/* Policies contain spaces, files do not. */
TEST(numa_maps_policies) {
        HugeMappings mappings = process_parse_numa_maps(
                arena, "7f00 weighted interleave:0,2 file=/x huge N2=7 kernelpagesize_kB=2048\n"
                       "7f01 prefer (many):0-1 file=/a\\040huge\\040N0=9 N0=9 kernelpagesize_kB=4\n"
                       "zz default huge N0=1\n"
                       "7f02 default huge N=1 N1024=5 Nx=1 N0=18446744073709551616 N3=x N3=4 N\n"
                       "fffffffffffffffff default huge N0=1");

        assert_int_equal(mappings.n, 2);
        assert_int_equal(mappings.items[0].pages, 7);
        assert_int_equal(mappings.items[0].nodes[0].node, 2);
        assert_int_equal(mappings.items[1].pages, 4);
        assert_int_equal(mappings.items[1].n_nodes, 1);
}

TEST(maps_hostile) {
        HugeMappings mappings = process_parse_numa_maps(arena, "7f00 default huge\n");

        process_add_maps(arena,
                         "\n-\n7f00\n7f00-\n7f00-7f00 rw-s 0 00:11 1 x\n7f00-7eff rw-s 0 00:11 1\n"
                         "7f00-8000 rw-s 0 0011 1\n7f00-8000 rw-s 0 00:11 -1\n"
                         "7f00-8000 rw-s 0 00:11 0x1\n",
                         &mappings);
        assert_int_equal(mappings.items[0].inode, 0);
        assert_int_equal(mappings.items[0].length_bytes, 0);
}

TEST(candidates) {
        Devices devices = process_parse_hugetlbfs(
                arena, "29 1 0:37 / /dev/huge\\040pages rw,relatime shared:9 - hugetlbfs none rw\n"
                       "30 1 0:38 / /tmp rw - tmpfs tmpfs rw\n"
                       "31 1 x:39 / /h rw - hugetlbfs none rw\n"
                       " - hugetlbfs \n");

        assert_int_equal(devices.n, 1);
        assert_true(devices.items[0] == 37);
        assert_true(process_maps_may_be_huge(arena, maps_text, &devices));
        assert_true(process_maps_may_be_huge(
                arena, "7f00-8000 rw-s 00000000 00:25 7 /dev/huge pages/x\n", &devices));
        assert_false(process_maps_may_be_huge(
                arena, "7f00-8000 rw-s 00000000 00:26 7 /tmp/anon_hugepage\n", &devices));
        assert_false(process_maps_may_be_huge(arena, "", &devices));
}

TEST(numa_stat) {
        NodePages *nodes;
        uint64_t pages;
        size_t n;

        assert_int_equal(process_parse_numa_stat(arena, "total=6291456 N0=4194304 N1=2097152",
                                                 2 * MIB, &pages, &nodes, &n),
                         0);
        assert_int_equal(pages, 3);
        assert_int_equal(n, 2);
        assert_int_equal(nodes[0].pages, 2);
        assert_int_equal(process_parse_numa_stat(arena, "", 2 * MIB, &pages, &nodes, &n), -EINVAL);
        assert_int_equal(process_parse_numa_stat(arena, "max 0\n", 2 * MIB, &pages, &nodes, &n),
                         -EINVAL);
        assert_int_equal(process_parse_numa_stat(arena, "total=1 N0=1", 0, &pages, &nodes, &n),
                         -EINVAL);
}

/* ---- rows ---- */

static void add_process(Arena *arena, Processes *to, uint64_t pid, uint64_t parent_pid,
                        const char *unit, const char *numa_maps, const char *maps) {
        Process process = {.pid = pid,
                           .parent_pid = parent_pid,
                           .command = "postgres",
                           .unit = unit,
                           .is_detailed = numa_maps != NULL};

        if (numa_maps)
                process.mappings = process_parse_numa_maps(arena, numa_maps);
        if (maps)
                process_add_maps(arena, maps, &process.mappings);
        *vec_push(arena, to) = process;
}

static PageUsers *make_on(Arena *arena, const char *host, const Processes *processes,
                          const UnitCharge *charge, const char *segments) {
        const PageUsersInput input = {
                .topology = host_make(arena, host),
                .processes = processes->items,
                .n_processes = processes->n,
                .charges = charge,
                .n_charges = charge ? 1 : 0,
                .segments = segments,
                .is_complete = segments != NULL,
        };

        return page_users_make(arena, &input);
}

static PageUsers *make(Arena *arena, const Processes *processes) {
        return make_on(arena, HOST, processes, NULL, NULL);
}

static char *rows(Arena *arena, const PageUsers *page_users) {
        Text text = text_in(arena);

        VEC_FOREACH(page_user, &page_users->list) {
                text_printf(&text, "%s %" PRIu64 ": %s%s%" PRIu64 "/%" PRIu64 " of %s",
                            page_user->unit ? page_user->unit : "-", page_user->pid,
                            text_equals(page_user->command, "postgres")
                                    ? ""
                                    : arena_printf(arena, "%s: ", page_user->command),
                            page_user->is_lower_bound ? ">" : "", page_user->pages,
                            page_user->mapped_pages,
                            format_page_size(arena, page_user->page_size_bytes));
                for (size_t i = 0; i < page_user->n_nodes; i++)
                        text_printf(&text, " %u:%" PRIu64, page_user->nodes[i].node,
                                    page_user->nodes[i].pages);
                text_add(&text, "\n");
        }
        return arena_strdup(arena, text_string(&text));
}

TEST(own_parent) {
        Processes processes = {};

        add_process(arena, &processes, 5, 6, NULL, child_numa_maps, maps_text);
        add_process(arena, &processes, 6, 5, NULL, child_numa_maps, maps_text);
        add_process(arena, &processes, 7, 7, NULL, child_numa_maps, maps_text);
        assert_int_equal(make(arena, &processes)->list.n >= 2, true);
}

TEST(rows) {
        static const char touched[] =
                "7f0000000000 default huge anon=2 dirty=2 N0=2 kernelpagesize_kB=2048\n";
        static const char untouched[] =
                "100000000-180000000 rw-p 00000000 00:10 7 /anon_hugepage (deleted)\n";
        static const struct {
                struct {
                        uint64_t pid, parent_pid;
                        const char *unit, *numa_maps, *maps;
                } processes[4];
                const char *rows;
        } cases[] = {
                /* 2 + 4 + 4 pages mapped in segments of their own, and 8 in one that was split: 3 MiB. */
                {{{16884, 1, "pg.service", parent_numa_maps, maps_text}},
                 "pg.service 16884: >7/18 of 2M 0:6 1:1\n"},
                /* Shared pages are counted once. */
                {{{16895, 16884, "pg.service", child_numa_maps, maps_text},
                  {16884, 1, "pg.service", parent_numa_maps, maps_text}},
                 "pg.service 16884: >7/18 of 2M 0:6 1:1\n"},
                /* Without units a family of processes is one row; another process has a row of its own. */
                {{{30, 20, NULL, child_numa_maps, maps_text},
                  {20, 10, NULL, child_numa_maps, maps_text},
                  {10, 1, NULL, parent_numa_maps, maps_text},
                  {5, 1, NULL, "7f00 default huge N0=1 kernelpagesize_kB=2048",
                   "7f00-207f00 rw-p 00000000 00:11 99 /anon_hugepage (deleted)"}},
                 "- 10: >7/18 of 2M 0:6 1:1\n- 5: 1/1 of 2M 0:1\n"},
                /* Private memory that was touched completely, or by one process only, gives no lower bound. */
                {{{5, 1, "jvm.service", touched,
                   "7f0000000000-7f0000800000 rw-p 00000000 00:11 7 /anon_hugepage (deleted)\n"},
                  {6, 1, "full.service", touched,
                   "7f0000000000-7f0000400000 rw-s 00000000 00:11 8 /anon_hugepage (deleted)\n"}},
                 "jvm.service 5: 2/4 of 2M 0:2\nfull.service 6: 2/2 of 2M 0:2\n"},
                /* A heap that is mapped three times counts once. */
                {{{5, 1, "jvm.service",
                   "100000000 default huge dirty=4 N0=4 kernelpagesize_kB=2048\n"
                   "200000000 default huge dirty=3 N0=3 kernelpagesize_kB=2048\n"
                   "300000000 default huge\n",
                   "100000000-100800000 rw-s 00000000 00:11 7 /memfd:java_heap (deleted)\n"
                   "200000000-200800000 rw-s 00000000 00:11 7 /memfd:java_heap (deleted)\n"
                   "300000000-300800000 rw-s 00400000 00:11 7 /memfd:java_heap (deleted)\n"}},
                 "jvm.service 5: >4/6 of 2M 0:4\n"},
                /* Two page sizes. */
                {{{5, 1, "a.service",
                   "100000000 default huge dirty=4 N0=4 kernelpagesize_kB=2048\n"
                   "200000000 default huge dirty=1 N1=1 kernelpagesize_kB=1048576\n",
                   "100000000-100800000 rw-p 00000000 00:11 7 /anon_hugepage (deleted)\n"
                   "200000000-240000000 rw-p 00000000 00:10 7 /anon_hugepage (deleted)\n"}},
                 "a.service 5: 1/1 of 1G 1:1\na.service 5: 4/4 of 2M 0:4\n"},
                /* The page size of untouched mappings: that of others on the same device, else the only one in use. */
                {{{5, 1, "a.service", "100000000 default huge\n", untouched}},
                 "a.service 5: 0/1024 of 2M\n"},
                {{{5, 1, "a.service", "100000000 default huge\n", untouched},
                  {6, 1, "b.service",
                   "200000000 default huge dirty=1 N0=1 kernelpagesize_kB=1048576\n",
                   "200000000-240000000 rw-p 00000000 00:10 9 /anon_hugepage (deleted)\n"}},
                 "a.service 5: 0/2 of 1G\nb.service 6: 1/1 of 1G 0:1\n"},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                Processes processes = {};

                for (size_t k = 0; k < 4 && cases[i].processes[k].pid > 0; k++)
                        add_process(arena, &processes, cases[i].processes[k].pid,
                                    cases[i].processes[k].parent_pid, cases[i].processes[k].unit,
                                    cases[i].processes[k].numa_maps, cases[i].processes[k].maps);
                assert_text(rows(arena, make(arena, &processes)), cases[i].rows);
        }
}

/* What every user can read: bytes, and pages if there is only one size. */
TEST(without_rights) {
        Processes processes = {};

        add_process(arena, &processes, 5, 1, "a.service", NULL, NULL);
        add_process(arena, &processes, 6, 5, "a.service", NULL, NULL);
        processes.items[0].huge_bytes = 2 * MIB;
        processes.items[1].huge_bytes = 396 * MIB;
        assert_text(rows(arena, make(arena, &processes)), "a.service 5: >198/0 of 2M\n");
        PageUsers *page_users = make_on(arena, "sizes 1G 2M\nnode 0 total=16G 2M=40 1G=1\n",
                                        &processes, NULL, NULL);

        assert_int_equal(page_users->list.items[0].page_size_bytes, 0);
        assert_text(page_user_format(arena, &page_users->list.items[0]),
                    "a.service (pid 5, postgres): at least 396M in huge pages");
}

TEST(charges) {
        NodePages nodes[] = {{1, 5}, {0, 4}};
        UnitCharge charge = {.unit = "pg.service",
                             .page_size_bytes = 2 * MIB,
                             .pages = 9,
                             .reserved_pages = 20,
                             .used = nodes,
                             .n_used = 2};
        Processes processes = {};

        add_process(arena, &processes, 16884, 1, "pg.service", parent_numa_maps, maps_text);
        assert_text(rows(arena, make_on(arena, HOST, &processes, &charge, NULL)),
                    "pg.service 16884: 9/20 of 2M 0:4 1:5\n");
        /* Charged to another group before the process moved here. */
        charge.pages = 1;
        charge.reserved_pages = 0;
        assert_text(rows(arena, make_on(arena, HOST, &processes, &charge, NULL)),
                    "pg.service 16884: >7/18 of 2M 0:6 1:1\n");
}

/* The charge tells the page size if the processes do not. */
TEST(charge_without_rights) {
        UnitCharge charge = {.unit = "pg.service", .page_size_bytes = GIB, .pages = 2};
        Processes processes = {};

        add_process(arena, &processes, 5, 1, "pg.service", NULL, NULL);
        processes.items[0].huge_bytes = GIB;
        assert_text(rows(arena, make_on(arena, "sizes 1G 2M\nnode 0 total=16G 2M=4 1G=4\n",
                                        &processes, &charge, NULL)),
                    "pg.service 5: 2/0 of 1G\n");
}

#define SEGMENTS_HEAD                                                                                  \
        "       key      shmid perms                  size  cpid  lpid nattch   uid   gid  cuid  cgid" \
        "      atime      dtime      ctime                   rss                  swap\n"

/* 40 pages, 30 free of which 4 are reserved: 14 have a user. */
TEST(pages_without_processes) {
        static const char host[] = "sizes 1G 2M\nnode 0 total=16G 2M=40/30\nreserved 2M=4\n";
        static const char segments[] = SEGMENTS_HEAD
                "         0         36   600               8388608 16884 16884      0     0     0     0     0 1795267980 1795267981 1795267980            1073741824                     0\n"
                "         0         37   600               8388608 16884 16884      2     0     0     0     0 1795267980 1795267981 1795267980               2097152                     0\n"
                "         0         38   600                 56000 16884 16884      0     0     0     0     0 1795267980 1795267981 1795267980                  4096                     0\n"
                "         0         39   600            4294967296 16884 16884      0     0     0     0     0 1795267980 1795267981 1795267980            4294967296                     0\n"
                "garbage\n";
        Processes processes = {};

        add_process(arena, &processes, 6, 1, "a.service",
                    "7f0000000000 default huge anon=2 dirty=2 N0=2 kernelpagesize_kB=2048\n",
                    "7f0000000000-7f0000400000 rw-p 00000000 00:11 8 /anon_hugepage (deleted)\n");
        const PageUsers *users = make_on(arena, host, &processes, NULL, segments);

        assert_text(rows(arena, users),
                    "- 0: a file, mount or segment without a process: 8/8 of 2M\n"
                    "- 0: System V segment 36, no process attached: 4/4 of 2M\n"
                    "a.service 6: 2/2 of 2M 0:2\n");
        assert_int_equal(VEC_SUM(each, &users->list, each->is_segment), 1);
        assert_int_equal(users->list.items[1].segment_id, 36);
        /* Not reported if some processes were unreadable. */
        assert_text(rows(arena, make_on(arena, host, &processes, NULL, NULL)),
                    "a.service 6: 2/2 of 2M 0:2\n");
}

/* Two units with a common segment: both are named, and it counts once. */
TEST(shared_between_units) {
        static const char host[] = "sizes 1G 2M\nnode 0 total=16G 2M=40/33\nreserved 2M=15\n";
        Processes processes = {};

        add_process(arena, &processes, 5, 1, "a.service", parent_numa_maps, maps_text);
        add_process(arena, &processes, 6, 1, "b.service", parent_numa_maps, maps_text);
        assert_text(rows(arena, make_on(arena, host, &processes, NULL, "")),
                    "a.service 5: >7/18 of 2M 0:6 1:1\n"
                    "b.service 6: >7/18 of 2M 0:6 1:1\n"
                    "- 0: a file, mount or segment without a process: 4/4 of 2M\n");
}

/* ---- text and JSON ---- */

static const NodePages two_nodes[] = {{0, 100}, {1, 98}};

static const PageUser maria = {
        .unit = "mariadb.service",
        .pid = 812,
        .command = "mariadbd",
        .page_size_bytes = 2 * MIB,
        .bytes = 396 * MIB,
        .pages = 198,
        .nodes = (NodePages *) two_nodes,
        .n_nodes = 2,
};

TEST(sentences) {
        PageUser page_user = maria;

        assert_text(page_user_format(arena, &page_user),
                    "mariadb.service (pid 812, mariadbd): 198 pages of 2M");
        assert_text(page_user_format_use(arena, &page_user),
                    "pid 812, mariadbd: 198 pages of 2M in use (node 0: 100, 1: 98)");
        page_user.is_lower_bound = true;
        assert_text(page_user_format(arena, &page_user),
                    "mariadb.service (pid 812, mariadbd): at least 198 pages of 2M");
        page_user.mapped_pages = 1081;
        page_user.unit = NULL;
        assert_text(page_user_format(arena, &page_user), "pid 812 (mariadbd): 1,081 pages of 2M");
        assert_contains(
                page_user_held(arena, &page_user, 12).text,
                "and no instance is described for it: as long as it runs, 12 pages of 2M (24M) stay");
        assert_contains(page_user_held(arena, &page_user, 12).remedy,
                        "end process 812, or describe it in /etc/hugeplan.d, or disable");
        assert_text(page_user_format_use(arena, &page_user),
                    "pid 812, mariadbd: 1,081 pages of 2M mapped, at least 198 in use"
                    " (node 0: 100, 1: 98)");
        page_user = (PageUser){.command = "no process", .page_size_bytes = GIB, .pages = 1};
        assert_text(page_user_format(arena, &page_user), "no process: 1 page of 1G");
        page_user = (PageUser){.unit = "x.service", .page_size_bytes = GIB, .pages = 2};
        assert_text(page_user_format(arena, &page_user), "x.service: 2 pages of 1G");
}

TEST(json) {
        json_t *json = page_user_to_json(&maria, "shop");
        char *text = json_dumps(json, JSON_COMPACT);

        assert_text(text, "{\"pid\":812,\"command\":\"mariadbd\",\"unit\":\"mariadb.service\","
                          "\"instance\":\"shop\",\"pageSizeBytes\":2097152,\"pages\":198,"
                          "\"mappedPages\":0,\"bytes\":415236096,\"lowerBound\":false,"
                          "\"nodes\":[{\"node\":0,\"pages\":100},{\"node\":1,\"pages\":98}]}");
        free(text);
        json_decref(json);
}

static Status *status_with(Arena *arena, PageUsers *page_users) {
        static StatusInstance instance = {
                .name = "shop",
                .unit = "mariadb.service",
                .page_size_bytes = 2 * MIB,
                .pages_wanted = 198,
                .pages_granted = 198,
        };
        Status *status = ARENA_NEW(arena, Status);

        status->instances = &instance;
        status->n_instances = 1;
        status->page_users = page_users;
        status->phase = "idle";
        return status;
}

TEST(tables) {
        static const RenderOptions options = {};
        PageUsers *page_users = ARENA_NEW(arena, PageUsers);
        Status *status = status_with(arena, page_users);
        ServerLook look = {.is_running = true};
        const Proof proof = {.instance = &status->instances[0], .look = &look};
        StatusInstance *instance = &status->instances[0];

        assert_null(strstr(render_status(arena, status, &options), "USED BY"));
        assert_null(strstr(render_status_instance(arena, status, instance, &options), "Used by"));
        instance->proof = &proof;
        assert_contains(render_status_instance(arena, status, instance, &options),
                        "   Used by: no page in use yet\n");
        look.is_all_mapped = true;
        assert_contains(render_status_instance(arena, status, instance, &options),
                        "   Used by: not mapped yet\n");
        *vec_push(arena, &page_users->list) = maria;
        assert_contains(
                render_status(arena, status, &options),
                "USED BY          PID  COMMAND   PAGES  MAPPED  OF  SIZE  NODES       INSTANCE\n"
                "mariadb.service  812  mariadbd    198       -  2M  396M  0:100 1:98  shop\n");
        *vec_push(arena, &look.pages) = maria;
        assert_contains(
                render_status_instance(arena, status, instance, &options),
                "   Used by: pid 812, mariadbd: 198 pages of 2M in use (node 0: 100, 1: 98)\n");
}
