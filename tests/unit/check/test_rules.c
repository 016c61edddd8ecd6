/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "check/rules.h"

#include "check/host_after.h"
#include "render/views.h"
#include "support/sources.h"
#include "support/testing.h"

enum { FILES_MAX = 10 };

/* A host with an instance, and whether a rule speaks. What is left out is that of a sound host. */
typedef struct Case {
        const char *rule;
        const char *config;   /* of 20-db.conf */
        const char *host;     /* section [Host] of 00-host.conf */
        const char *other;    /* 30-other.conf */
        const char *learned;  /* 20-db.conf.d/90-learned.conf */
        const char *settings; /* what the product's own files say, one to a line */
        const char *version;  /* and of which version they are */
        const char *topology;
        const char *kernel; /* 6.12 */
        const char *boot_line;
        const char *sysctl;  /* /etc/sysctl.d/99.conf */
        const char *thp;     /* what the kernel has */
        bool is_ours;        /* there was no pool before hugeplan */
        const char *held;    /* "UNIT PAGES" of 2M; by a segment: "- PAGES" */
        const char *running; /* as running_make() has it */
        Outcome outcome;     /* of a look at its server; none: nobody has looked */
        const char *alert;   /* the end of the alert log of DB */
        const char *expects; /* part of what is said; NULL: nothing is */
        TestFile files[FILES_MAX];
} Case;

#define TWO_NODES                                        \
        "sizes 2M\nnode 0 total=64G free=62G 2M=0/0/0\n" \
        "node 1 total=64G free=62G 2M=0/0/0\n"
/* Bound to node 1; and another, which may take its pages anywhere, and has taken none yet. */
#define BOUND "[Instance]\nUnit=b.service\nPages=139\nNodes=1\nPlacement=bind\n"
#define UNTOUCHED                                                            \
        "hold b.service db 2M=1:139 bind=1 counted\nunit b.service 2M=139\n" \
        "hold a.service a 2M=0:164 counted\nunit a.service 2M=0\n"
#define FOUND_FREE "sizes 1G 2M\nnode 0 total=64G free=58G 1G=0/0/0 2M=2000/2000/0\n"
/* Whatever is planned stands already. */
#define RESERVED "sizes 1G 2M\nnode 0 total=64G free=50G 1G=0/0/0 2M=5000/5000/0\n"
/* 512 beside those that are planned. */
#define TAKEN_AGAIN "sizes 1G 2M\nnode 0 total=64G free=50G 1G=0/0/0 2M=1593/1081/0\n"
#define ONE_NODE    "sizes 1G 2M\nnode 0 total=64G free=62G 1G=0/0/0 2M=0/0/0\n"

#define PG         "[Instance]\nEngine=postgresql\nUnit=postgresql@15-main.service\n"
#define PG_PAGES   PG "Pages=1081\n"
#define ORA        "[Instance]\nEngine=oracle\nUnit=oracle.service\nPages=4101\n"
#define MARIA      "[Instance]\nEngine=mariadb\nPages=659\n"
#define MYSQL      "[Instance]\nEngine=mysql\nUnit=mysql.service\nPages=6336\n"
#define ORA_UNIT   "/etc/systemd/system/oracle.service"
#define MARIA_UNIT "/lib/systemd/system/mariadb.service"
#define MARIA_DIR  "/sys/fs/cgroup/system.slice/mariadb.service"
#define PASSWD                                                                                    \
        {"/etc/passwd", "root:x:0:0::/root:/bin/sh\noracle:x:54321:500::/home/oracle:/bin/sh\n"}, \
        {                                                                                         \
                "/etc/group", "oinstall:x:500:\ndba:x:501:oracle\nhugetlb:x:700:\n"               \
        }
/* The unit UNIT runs as pid 812 since 90 of 100 minutes. */
#define RUNS(directory)                                                                          \
        {directory "/cgroup.procs", "812\n"}, {"/proc/uptime", "6000.00 11000.00\n"}, {          \
                "/proc/812/stat", "812 (a b) S 1 812 812 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 " \
                                  "60000 1000 100\n"                                             \
        }
#define CONTROLLER \
        { "/sys/fs/cgroup/cgroup.controllers", "cpu hugetlb memory\n" }
#define NEIGHBOUR   "[Instance]\nPages=10\nUnit=other.service\n"
#define SHARES_UNIT "[Instance]\nPages=10\nUnit=mariadb.service\nIsolate=yes\n"
/* Enough of them are there for 512 of somebody else. */
#define FOUND_PAGES "sizes 1G 2M\nnode 0 total=64G free=58G 2M=2000/1488/0\n"
#define ACCOUNTING                                                                           \
        {                                                                                    \
                "/proc/mounts",                                                              \
                        "proc /proc proc rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 "            \
                        "rw,nsdelegate,memory_recursiveprot,memory_hugetlb_accounting 0 0\n" \
        }

/* What Oracle prints at every start, and the row of huge pages. */
#define ALERT_TABLE(row)                                                            \
        "2026-11-02T10:11:12.131415+01:00\n"                                        \
        "Dump of system resources acquired for SHARED GLOBAL AREA (SGA)\n"          \
        " Per process system memlock (soft) limit = UNLIMITED\n"                    \
        "  PAGESIZE  AVAILABLE_PAGES  EXPECTED_PAGES  ALLOCATED_PAGES  ERROR(s)\n"  \
        "        4K       Configured               6               6        NONE\n" \
        "     2048K  " row "\n"                                                     \
        " RECOMMENDATION:\n"

static const Case cases[] = {
        /* ---- PostgreSQL ---- */
        {"pg-try", PG_PAGES, .settings = "huge_pages=try", .expects = "1,081 pages of 2M (2.1G)"},
        {"pg-try", PG_PAGES, .settings = "port=5432", .expects = "which is the default"},
        {"pg-try", PG, .settings = "huge_pages=try",
         .expects = "when its huge pages cannot be had"},
        {"pg-try", PG_PAGES, .settings = "huge_pages=on"},
        {"pg-try", PG_PAGES},
        {"pg-off", PG_PAGES, .settings = "huge_pages=off", .expects = "stay empty"},
        {"pg-off", PG_PAGES, .settings = "huge_pages=on"},
        {"pg-off", PG, .settings = "huge_pages=off"},
        {"pg-naive", PG "Pages=1024\n", .settings = "shared_buffers=2GB\nhuge_pages=on",
         .expects = "db plans 1,024 pages of 2M (2G), which is shared_buffers divided by"},
        {"pg-naive", PG_PAGES, .settings = "shared_buffers=2GB\nhuge_pages=on"},
        {"pg-short", PG "Pages=1000\n", .settings = "shared_buffers=2GB\nhuge_pages=on",
         .expects = "shared_buffers alone take 1,024"},
        {"pg-short", PG_PAGES, .settings = "shared_buffers=2GB\nhuge_pages=on"},
        {"pg-short", PG_PAGES, .held = "postgresql@15-main.service 1088",
         .expects = "its server has mapped 1,088"},
        {"pg-short", PG_PAGES, .held = "postgresql@15-main.service 1081"},
        {"pg-tight", PG "Pages=1040\n", .settings = "shared_buffers=2GB\nhuge_pages=on",
         .expects = "may take up to 1,0"},
        {"pg-tight", PG "Pages=2000\n", .settings = "shared_buffers=2GB\nhuge_pages=on"},
        {"pg-tight", PG "Pages=1040\n", .settings = "shared_buffers=2GB\nhuge_pages=on",
         .held = "postgresql@15-main.service 1040"},
        {"pg-cmdline", PG_PAGES, .settings = "@/srv/pg/postmaster.opts:1 max_connections=1000",
         .expects = "gets max_connections=1000 on its command line"},
        {"pg-cmdline", PG_PAGES, .settings = "max_connections=1000"},
        {"pg-cmdline", PG_PAGES, .settings = "@/srv/pg/postmaster.opts:1 port=5433"},
        {"pg-sysv", PG_PAGES, .settings = "huge_pages=on\nshared_memory_type=sysv",
         .expects = "it does not start"},
        {"pg-sysv", PG_PAGES, .settings = "huge_pages=on\nshared_memory_type=mmap"},
        {"pg-pagesize", PG_PAGES, .settings = "huge_page_size=1GB", .expects = "pages of 1G"},
        {"pg-pagesize", PG_PAGES "PageSize=1G\n", .settings = "huge_pages=on",
         .expects = "pages of 2M, the kernel's default"},
        {"pg-pagesize", PG_PAGES, .settings = "huge_page_size=2048"},
        {"pg-pagesize", PG_PAGES, .settings = "huge_page_size=0"},
        {"pg-dash", PG_PAGES,
         .files = {{"/usr/lib/systemd/system/postgresql@.service",
                    "[Service]\nExecStart=-/usr/bin/pg_ctlcluster --skip-systemctl-redirect %i "
                    "start\n"}},
         .expects = "/usr/lib/systemd/system/postgresql@.service:2: ExecStart: '-' before"},
        {"pg-dash", PG_PAGES,
         .files = {{"/usr/lib/systemd/system/postgresql@.service",
                    "[Service]\nExecStart=/usr/bin/postgres\n"}}},
        {"pg-version", PG_PAGES,
         .learned = "[Instance]\nPages=2M:1081\nX-Version=15.18\nX-Exact=yes\n",
         .settings = "shared_buffers=2GB", .version = "17.11",
         .expects = "learned from version 15.18, and version 17.11"},
        {"pg-version", PG_PAGES,
         .learned = "[Instance]\nPages=2M:1081\nX-Version=15.18\nX-Exact=yes\n",
         .settings = "shared_buffers=2GB", .version = "15.19"},
        {"pg-io", PG_PAGES, .settings = "io_max_concurrency=64", .version = "18.6",
         .expects = "io_max_concurrency=64"},
        {"pg-io", PG_PAGES, .settings = "io_max_concurrency=64", .version = "17.1"},
        {"pg-writeback", PG_PAGES, .files = {{"/proc/sys/vm/dirty_background_ratio", "10\n"}},
         .expects =
                 "dirty_background_ratio: up to 6.2G of written pages gather before the kernel begins to "
                 "write them (10% of the 61.9G that are no huge pages)"},
        {"pg-writeback", PG_PAGES, .files = {{"/proc/sys/vm/dirty_background_ratio", "5\n"}}},
        {"pg-writeback", PG_PAGES, .files = {{"/proc/sys/vm/dirty_background_ratio", "0\n"}}},
        {"pg-writeback", MARIA, .files = {{"/proc/sys/vm/dirty_background_ratio", "10\n"}}},

        /* ---- Oracle ---- */
        {"ora-amm", ORA, .settings = "memory_target=12G", .expects = "memory_target=12G"},
        {"ora-amm", ORA, .settings = "memory_target=0\nsga_target=8G"},
        {"ora-false", ORA, .settings = "use_large_pages=FALSE", .expects = "stays empty"},
        {"ora-false", ORA,
         .settings = "A.sga_target=4G\nA.use_large_pages=only\nB.sga_target=4G\n"
                     "B.use_large_pages=false",
         .expects = "db (B) has use_large_pages=FALSE"},
        {"ora-true", ORA, .settings = "A.sga_target=4G\nB.sga_target=4G\nB.use_large_pages=only",
         .expects = "db (A) has use_large_pages=TRUE, which is the default"},
        {"ora-true", ORA,
         .settings = "A.sga_target=4G\nB.sga_target=4G\n*.use_large_pages=only\n"
                     "use_large_pages=only"},
        {"ora-short", ORA, .settings = "A.sga_target=4G\nB.sga_target=6G\nuse_large_pages=only",
         .expects = "its SGA needs 5,13"},
        {"ora-asm", ORA, .settings = "+ASM.sga_target=2G\nDB.sga_target=4G\nuse_large_pages=only",
         .files = {{"/etc/oratab", "+ASM:/u01/grid:N\n"}}},
        {"ora-false", ORA, .settings = "use_large_pages=ONLY"},
        {"ora-true", ORA, .settings = "sga_target=8G", .expects = "which is the default"},
        {"ora-true", ORA, .settings = "sga_target=8G\nuse_large_pages=ONLY"},
        {"ora-auto", ORA, .settings = "use_large_pages=auto_only", .expects = "AUTO_ONLY"},
        {"ora-auto", ORA, .settings = "use_large_pages=true"},
        {"ora-short", ORA, .settings = "sga_target=10G\nuse_large_pages=only",
         .expects = "its SGA needs 5,1"},
        {"ora-short", ORA, .settings = "sga_target=8G\nuse_large_pages=only"},
        /* The plan brings limit and group; what an administrator says later wins. */
        {"ora-memlock", ORA, .kernel = "5.14.0-70.30.1.el9_0",
         .files = {PASSWD, {ORA_UNIT, "[Service]\nUser=oracle\nLimitMEMLOCK=8589934\n"}}},
        {"ora-memlock", ORA, .kernel = "5.14.0-70.30.1.el9_0",
         .files = {PASSWD,
                   {ORA_UNIT, "[Service]\nUser=oracle\n"},
                   {ORA_UNIT ".d/override.conf", "[Service]\nLimitMEMLOCK=8589934\n"}},
         .expects = "override.conf:2: LimitMEMLOCK: db needs 4,101 pages of 2M (8G), and "
                    "oracle.service may lock 8.2M (the figure is bytes"},
        {"ora-memlock", ORA "MemoryLock=no\n", .kernel = "5.14.0-70.30.1.el9_0",
         .files = {PASSWD, {ORA_UNIT, "[Service]\nUser=oracle\n"}},
         .expects = "may lock 8M, systemd's default: the kernel (5.14.0-70.30.1.el9_0) goes by "
                    "that limit"},
        /* RHEL 9.2 and later go by the group. */
        {"ora-memlock", ORA "MemoryLock=no\n", .kernel = "5.14.0-284.11.1.el9_2",
         .files = {PASSWD, {ORA_UNIT, "[Service]\nUser=oracle\n"}}},
        {"ora-memlock", ORA, .kernel = "5.14.0-70.30.1.el9_0",
         .files = {PASSWD, {ORA_UNIT, "[Service]\nUser=oracle\nLimitMEMLOCK=infinity\n"}}},
        {"ora-memlock", ORA, .files = {PASSWD, {ORA_UNIT, "[Service]\nUser=oracle\n"}}},
        {"ora-memlock-unit", ORA, .kernel = "5.14.0-70.30.1.el9_0",
         .files = {PASSWD,
                   {ORA_UNIT, "[Service]\nUser=oracle\n"},
                   {"/etc/security/limits.d/ora.conf", "oracle - memlock unlimited\n"}}},
        {"ora-memlock-unit", ORA "MemoryLock=no\n", .kernel = "5.14.0-70.30.1.el9_0",
         .files = {PASSWD,
                   {ORA_UNIT, "[Service]\nUser=oracle\n"},
                   {"/etc/security/limits.d/ora.conf", "# Oracle\noracle - memlock unlimited\n"}},
         .expects = "/etc/security/limits.d/ora.conf:2: memlock: the limit for oracle counts when"},
        {"ora-memlock-unit", ORA, .kernel = "5.14.0-70.30.1.el9_0",
         .files = {PASSWD,
                   {ORA_UNIT, "[Service]\nUser=oracle\nLimitMEMLOCK=infinity\n"},
                   {"/etc/security/limits.d/ora.conf", "oracle - memlock unlimited\n"}}},
        /* The plan sets the group, and the drop-in adds the unit to it. */
        {"ora-group", ORA,
         .files = {PASSWD,
                   {ORA_UNIT, "[Service]\nUser=oracle\n"},
                   {"/proc/sys/vm/hugetlb_shm_group", "0\n"}}},
        {"ora-group", ORA,
         .files = {PASSWD,
                   {ORA_UNIT, "[Service]\nUser=oracle\n"},
                   {ORA_UNIT ".d/override.conf", "[Service]\nSupplementaryGroups=\n"},
                   {"/proc/sys/vm/hugetlb_shm_group", "0\n"}},
         .expects =
                 "override.conf:2: SupplementaryGroups: db: user oracle is not in the group that "
                 "may use System V huge pages (hugetlb, vm.hugetlb_shm_group=700), nor does "
                 "oracle.service add it"},
        {"ora-group", ORA,
         .files = {PASSWD,
                   {ORA_UNIT, "[Service]\nUser=oracle\n"},
                   {ORA_UNIT ".d/10-hugeplan.conf", "[Service]\n"},
                   {"/proc/sys/vm/hugetlb_shm_group", "0\n"}},
         .expects = "20-db.conf: db: user oracle is not in the group"},
        /* Nobody adds it. */
        {"ora-group", "[Instance]\nEngine=oracle\nPages=4101\n",
         .files = {PASSWD, {"/proc/sys/vm/hugetlb_shm_group", "0\n"}},
         .expects = "usermod -aG hugetlb oracle, or write the service that starts it into Unit="},
        /* That there is no such group is said by shm-group-missing. */
        {"ora-group", ORA,
         .files = {{"/etc/passwd", "oracle:x:54321:500::/home/oracle:/bin/sh\n"},
                   {"/etc/group", "dba:x:501:oracle\n"},
                   {ORA_UNIT, "[Service]\nUser=oracle\n"},
                   {"/proc/sys/vm/hugetlb_shm_group", "0\n"}}},
        {"ora-group", ORA,
         .files = {PASSWD,
                   {ORA_UNIT, "[Service]\nUser=oracle\n"},
                   {"/proc/sys/vm/hugetlb_shm_group", "501\n"}}},
        {"ora-group", ORA,
         .files = {PASSWD,
                   {ORA_UNIT, "[Service]\nUser=oracle\nSupplementaryGroups=hugetlb\n"},
                   {"/proc/sys/vm/hugetlb_shm_group", "700\n"}}},
        {"ora-group", ORA,
         .files = {PASSWD,
                   {ORA_UNIT, "[Service]\nUser=oracle\nAmbientCapabilities=CAP_IPC_LOCK\n"},
                   {"/proc/sys/vm/hugetlb_shm_group", "0\n"}}},
        {"ora-shm", ORA, .files = {{"/proc/sys/kernel/shmmax", "4294967296\n"}}},
        {"ora-shm", ORA, .host = "SharedMemoryLimits=keep",
         .files = {{"/proc/sys/kernel/shmmax", "4294967296\n"}},
         .expects = "write SharedMemoryLimits=auto in [Host], or sysctl -w "
                    "kernel.shmmax=8600420352: the kernel's default"},
        {"ora-shm", ORA, .host = "SharedMemoryLimits=keep",
         .files = {{"/proc/sys/kernel/shmmax", "4294967296\n"}},
         .sysctl = "kernel.shmmax=0x100000000\nkernel.shmall=7\n",
         .expects = ", and take out kernel.shmmax=0x100000000 in /etc/sysctl.d/99.conf:1: the"},
        {"ora-shm", ORA, .host = "SharedMemoryLimits=keep",
         .files = {{"/proc/sys/kernel/shmmax", "4294967296\n"}},
         .expects = "one segment may have 4294967296 bytes (4G), and db needs up to 8"},
        {"ora-shm", ORA, .host = "SharedMemoryLimits=keep",
         .files = {{"/proc/sys/kernel/shmall", "1048576\n"}},
         .expects = "1,048,576 pages of 4K (4G)"},
        {"ora-shm", ORA,
         .files = {{"/proc/sys/kernel/shmmax", "18446744073692774399\n"},
                   {"/proc/sys/kernel/shmall", "18446744073692774399\n"}}},
        {"ora-asm", ORA, .files = {{"/etc/oratab", "# comment\n+ASM:/u01/grid:N\nDB:/u01/db:N\n"}},
         .expects = "/etc/oratab:2: +ASM is not planned for"},
        {"ora-asm", ORA, .files = {{"/etc/oratab", "DB:/u01/db:N\n"}}},
        {"ora-asm", ORA,
         .other = "[Instance]\nName=ASM\nEngine=oracle\nUnit=asm.service\nPages=600\n",
         .files = {{"/etc/oratab", "+ASM:/u01/grid:N\n"}}},
        {"ora-thp", ORA, .settings = "use_large_pages=only", .version = "23.8",
         .kernel = "5.15.0-300.163.18.el9uek.x86_64", .expects = "db is Oracle 23.8 on UEK"},
        {"ora-thp", ORA, .settings = "use_large_pages=only", .version = "19.27",
         .kernel = "5.15.0-300.163.18.el9uek.x86_64"},
        {"ora-70", "[Instance]\nEngine=oracle\nUnit=o.service\nMemory=50G\n",
         .expects = "of 64G, 7"},
        {"ora-70", ORA},
        {"ora-alert", ORA, .alert = ALERT_TABLE("3500        4097               0  ORA-27125"),
         .expects = "/u01/alert_DB.log: at its last start db expected 4,097 pages of 2M and found "
                    "3,500 (ORA-27125); the plan has 4,101"},
        {"ora-alert", ORA, .alert = ALERT_TABLE("4101        4097            4097  NONE")},
        {"ora-alert", ORA,
         .alert = ALERT_TABLE("3500  4097  0  NONE") ALERT_TABLE("4101  4097  4097  NONE")},
        {"limits-memlock", ORA,
         .files = {PASSWD,
                   {ORA_UNIT, "[Service]\nUser=oracle\n"},
                   {"/etc/security/limits.d/99-ora.conf", "oracle hard memlock 12G\n"}},
         .expects = "'12G' is no number"},
        /* hugepland writes what suffices behind it, */
        {"limits-memlock", ORA, .kernel = "4.18.0",
         .files = {PASSWD,
                   {ORA_UNIT, "[Service]\nUser=oracle\n"},
                   {"/etc/security/limits.conf",
                    "oracle soft memlock 65536\noracle hard memlock 12G\n"}}},
        /* but not behind this. */
        {"limits-memlock", ORA, .kernel = "4.18.0",
         .files = {PASSWD,
                   {ORA_UNIT, "[Service]\nUser=oracle\n"},
                   {"/etc/security/limits.d/99-ora.conf", "oracle soft memlock 65536\n"}},
         .expects = "may lock 64M (the number is kB), and needs 8G"},
        {"limits-memlock", ORA,
         .files = {PASSWD,
                   {ORA_UNIT, "[Service]\nUser=oracle\n"},
                   {"/etc/security/limits.conf", "oracle soft memlock 134217728\n"}}},

        /* ---- MariaDB and MySQL ---- */
        {"my-off", MARIA, .settings = "port=3306", .expects = "which is the default"},
        {"my-off", MARIA, .settings = "large-pages="},
        /* Of whose files nothing is known; what hugeplan adds of the host says nothing of it. */
        {"my-off", MARIA},
        {"my-off", MARIA "ConfigFile=/none.cnf\n"},
        {"my-off", MARIA, .files = {{MARIA_UNIT, "[Service]\nExecStart=/usr/sbin/mariadbd\n"}}},
        {"my-off", MARIA,
         .files = {{MARIA_UNIT, "[Service]\nExecStart=/usr/sbin/mariadbd --user=me\n"}},
         .expects = "which is the default"},
        {"my-off", MARIA, .files = {{"/etc/my.cnf", "[mysqld]\nport=1\n"}},
         .expects = "which is the default"},
        {"ora-true", ORA "ConfigFile=/none.ora\n"},
        {"ora-true", ORA "ConfigFile=/db.ora\n", .files = {{"/db.ora", "db.processes=1\n"}},
         .expects = "which is the default"},
        {"my-pool-only", "[Instance]\nEngine=mariadb\nPages=512\n",
         .settings = "large_pages=ON\ninnodb_buffer_pool_size=1G",
         .expects = "db plans 512 pages of 2M (1G), which is the buffer pool alone"},
        {"my-pool-only", MARIA, .settings = "large_pages=ON\ninnodb_buffer_pool_size=1G"},
        {"my-short", "[Instance]\nEngine=mariadb\nPages=600\n",
         .settings = "large_pages=ON\ninnodb_buffer_pool_size=1G",
         .expects = "its settings take up to 652"},
        {"my-short", "[Instance]\nEngine=mariadb\nPages=646\n",
         .settings = "large_pages=ON\ninnodb_buffer_pool_size=1G"},
        {"my-short", "[Instance]\nEngine=mysql\nUnit=m.service\nPages=6200\n",
         .settings = "large_pages=ON\ninnodb_buffer_pool_size=12G",
         .expects = "fall back to small pages"},
        {"my-short", MYSQL, .settings = "large_pages=ON\ninnodb_buffer_pool_size=12G"},
        {"maria-1g", MARIA, .settings = "large_pages=ON\ninnodb_buffer_pool_size=3G",
         .topology = "sizes 1G 2M\nnode 0 total=64G free=40G 1G=2/2/0 2M=0/0/0\n",
         .expects = "this host has or plans 2 pages of 1G: its pool of 3G takes up to 2"},
        {"maria-1g", MARIA, .settings = "large_pages=ON\ninnodb_buffer_pool_size=512M",
         .topology = "sizes 1G 2M\nnode 0 total=64G free=40G 1G=2/2/0 2M=0/0/0\n"},
        {"maria-1g", MARIA, .settings = "large_pages=ON\ninnodb_buffer_pool_size=3G"},
        {"maria-memlock", MARIA, .settings = "large_pages=1\nmemlock=1",
         .files = {{"/lib/systemd/system/mariadb.service", "[Service]\nUser=mysql\n"}},
         .expects = "neither CAP_IPC_LOCK nor LimitMEMLOCK=infinity"},
        {"maria-memlock", MARIA, .settings = "large_pages=1\nmemlock=1",
         .files = {{"/lib/systemd/system/mariadb.service",
                    "[Service]\nUser=mysql\nAmbientCapabilities=CAP_IPC_LOCK\n"}}},
        {"mysql-chunk", MYSQL, .settings = "large_pages=ON\ninnodb_buffer_pool_size=12G",
         .expects = "its pool of 12G in chunks of 128M (the default)"},
        {"mysql-chunk", MYSQL,
         .settings = "large_pages=ON\ninnodb_buffer_pool_size=12G\n"
                     "innodb_buffer_pool_chunk_size=1G"},
        {"my-memlock-bytes", MARIA,
         .files = {{"/lib/systemd/system/mariadb.service",
                    "[Service]\nUser=mysql\nLimitMEMLOCK=524288\n"}},
         .expects = "512K in all; in limits.conf it would be kB (512M)"},
        {"my-memlock-bytes", MARIA,
         .files = {{"/lib/systemd/system/mariadb.service",
                    "[Service]\nUser=mysql\nLimitMEMLOCK=512M\n"}}},
        {"my-resize", MARIA,
         .settings = "large_pages=1\ninnodb_buffer_pool_size=1G\ninnodb_buffer_pool_size_max=4G",
         .expects = "may grow its pool to 4G"},
        {"my-resize", MARIA,
         .settings = "large_pages=1\ninnodb_buffer_pool_size=1G\ninnodb_buffer_pool_size_max=1G"},

        /* ---- transparent huge pages ---- */
        {"thp-always", PG_PAGES, .host = "TransparentHugePages=always",
         .expects = "db (PostgreSQL) wants transparent huge pages 'never', and [Host] gives it "
                    "'always'"},
        {"thp-always", PG_PAGES, .host = "TransparentHugePages=keep", .thp = "always",
         .expects = "[Host] keeps the kernel's 'always'"},
        {"thp-always", PG_PAGES, .host = "TransparentHugePages=keep", .thp = "madvise"},
        {"thp-always", PG_PAGES, .thp = "always"},
        {"thp-never", "[Instance]\nEngine=mssql\n", .host = "TransparentHugePages=never",
         .expects = "wants transparent huge pages 'always'"},
        {"thp-never", "[Instance]\nEngine=mongodb\nTransparentHugePages=always\n",
         .host = "TransparentHugePages=madvise", .expects = "runs slower"},
        {"thp-never", "[Instance]\nEngine=mssql\n"},

        /* ---- the host ---- */
        {"node-exceeded", PG "Memory=40G\nNodes=0\n", .topology = TWO_NODES,
         .other = "[Instance]\nUnit=b.service\nMemory=30G\nNodes=0\n",
         .expects = "node 0 has 64G, and 2 instances want"},
        {"node-exceeded", PG "Memory=40G\nNodes=0\n", .topology = TWO_NODES,
         .other = "[Instance]\nUnit=b.service\nMemory=30G\nNodes=1\n"},
        {"node-exceeded", PG "Memory=40G\n", .other = "[Instance]\nUnit=b.service\nMemory=30G\n",
         .expects = "the host has 64G, and 2 instances want"},
        {"plan-70", PG "Memory=46G\n", .expects = "of 64G, 7"},
        {"plan-70", PG "Memory=40G\n"},
        {"idle-pages", PG_PAGES, .topology = FOUND_FREE, .boot_line = "ro hugepages=2000",
         .expects = "/proc/cmdline: hugepages: 919 pages of 2M (1.8G) lie idle, which no instance "
                    "wants and nobody uses: 919 on node 0; they come from hugepages=2000 in "
                    "/proc/cmdline; take the words off the kernel command line, or the next boot "
                    "brings them again; and give them back: echo 1081 > "
                    "/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages"},
        {"idle-pages", PG_PAGES, .topology = FOUND_FREE, .sysctl = "vm.nr_hugepages=2000\n",
         .expects = "/etc/sysctl.d/99.conf:1: vm.nr_hugepages: 919 pages of 2M (1.8G) lie idle, "
                    "which no instance wants and nobody uses: 919 on node 0; they come from "
                    "vm.nr_hugepages=2000 in /etc/sysctl.d/99.conf:1; take the line out, or they "
                    "come back; and give them back: echo 1081 > "},
        /* Whose value does not explain it is not named. */
        {"idle-pages", PG_PAGES, .topology = FOUND_FREE, .sysctl = "vm.nr_hugepages=4096\n",
         .expects = "nobody uses: 919 on node 0; give them back: echo 1081 > "},
        {"idle-pages", PG "Pages=1081\nNodes=0\n",
         .topology = "sizes 1G 2M\nnode 0 total=64G free=62G 1G=2/2/0 2M=500/500/0\n"
                     "node 1 total=64G free=62G 1G=0/0/0 2M=500/300/0\n",
         .expects =
                 "2 pages of 1G (2G) lie idle, which no instance wants and nobody uses: 2 on node "
                 "0; give them back: echo 0 > "
                 "/sys/devices/system/node/node0/hugepages/hugepages-1048576kB/nr_hugepages"},
        {"idle-pages", PG "Pages=1081\nNodes=0\n",
         .topology = "sizes 2M\nnode 0 total=64G free=62G 2M=500/500/0\n"
                     "node 1 total=64G free=62G 2M=500/300/0\n",
         .sysctl = "vm.nr_hugepages=1000\n",
         .expects =
                 "300 pages of 2M (600M) lie idle, which no instance wants and nobody uses: 300 on "
                 "node 1; they come from vm.nr_hugepages=1000"},
        /* What is promised may be on any node. */
        {"idle-pages", PG "Pages=1081\nNodes=0\n",
         .topology = "sizes 2M\nnode 0 total=64G free=62G 2M=500/500/0\n"
                     "node 1 total=64G free=62G 2M=500/300/0\nreserved 2M=250\n",
         .expects = "50 pages of 2M (100M) lie idle"},
        {"idle-pages", PG "Pages=1081\nNodes=0\n",
         .topology = "sizes 2M\nnode 0 total=64G free=62G 2M=500/500/0\n"
                     "node 1 total=64G free=62G 2M=500/300/0\nreserved 2M=300\n"},
        /* A running database has its own; what strangers use is no instance's. */
        {"idle-pages", PG_PAGES, .held = "postgresql@15-main.service 1081",
         .topology = "sizes 2M\nnode 0 total=64G free=58G 2M=2000/919/0\n",
         .expects = "919 pages of 2M (1.8G) lie idle"},
        {"idle-pages", PG_PAGES,
         .topology = "sizes 2M\nnode 0 total=64G free=58G 2M=2000/1090/0\n"},
        /* A cover is there for somebody, and so are existing pages that serve as one. */
        {"idle-pages", BOUND, .running = UNTOUCHED,
         .topology = "sizes 2M\nnode 0 total=8G free=6G 2M=164\n"
                     "node 1 total=8G free=6G 2M=303/303\nreserved 2M=139\n"},
        {"idle-pages", BOUND, .running = UNTOUCHED,
         .topology = "sizes 2M\nnode 0 total=8G free=6G 2M=164\n"
                     "node 1 total=8G free=6G 2M=300/300\nreserved 2M=139\n"},
        {"idle-pages", BOUND, .running = UNTOUCHED,
         .topology = "sizes 2M\nnode 0 total=8G free=6G 2M=164\n"
                     "node 1 total=8G free=6G 2M=339/339\nreserved 2M=139\n",
         .expects = "nobody uses: 36 on node 1; give them back: echo 303 > "},
        {"idle-pages", PG_PAGES,
         .topology = "sizes 2M\nnode 0 total=64G free=58G 2M=1090/1090/0\n"},
        {"idle-pages", PG_PAGES, .topology = FOUND_FREE, .host = "ExistingPages=keep"},
        {"idle-pages", PG_PAGES},
        {"idle-pages", PG_PAGES, .held = "other.service 100",
         .topology = "sizes 2M\nnode 0 total=64G free=58G 2M=100/0/100\n",
         .expects = "100 pages of 2M (200M) on node 0 are surplus: in use beyond the pool"},
        /* Said already, with how many there are. */
        {"boot-pages", PG_PAGES, .topology = FOUND_FREE, .boot_line = "ro hugepages=2000"},
        {"boot-pages", PG_PAGES, .boot_line = "ro hugepages=2000",
         .expects = "the kernel reserves 2,000 pages of 2M (3.9G) at boot, and the instances want "
                    "only 1,081"},
        {"boot-pages", PG_PAGES, .host = "ExistingPages=keep", .boot_line = "ro hugepages=1000",
         .expects = "on top"},
        {"boot-pages", PG_PAGES, .boot_line = "ro hugepages=1000"},
        {"overcommit-pages", PG_PAGES,
         .files = {{"/sys/kernel/mm/hugepages/hugepages-2048kB/nr_overcommit_hugepages", "512\n"}},
         .expects = "may take 512 pages of 2M (1G) beyond the pools: a database"},
        {"overcommit-pages", PG_PAGES, .sysctl = "vm.nr_overcommit_hugepages=512\n",
         .files = {{"/sys/kernel/mm/hugepages/hugepages-2048kB/nr_overcommit_hugepages", "512\n"}},
         .expects = "pools, because of vm.nr_overcommit_hugepages=512 in /etc/sysctl.d/99.conf:1"},
        {"overcommit-pages", PG_PAGES, .sysctl = "vm.nr_overcommit_hugepages=100\n",
         .files = {{"/sys/kernel/mm/hugepages/hugepages-2048kB/nr_overcommit_hugepages", "512\n"}},
         .expects = "may take 512 pages of 2M (1G) beyond the pools: a database"},
        {"overcommit-pages", PG_PAGES "PageSize=1G\n", .sysctl = "vm.nr_overcommit_hugepages=1\n",
         .files = {{"/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_overcommit_hugepages", "1\n"}},
         .expects = "may take 1 page of 1G (1G) beyond the pools: a database"},
        {"overcommit-pages", PG_PAGES,
         .files = {{"/sys/kernel/mm/hugepages/hugepages-2048kB/nr_overcommit_hugepages", "0\n"}}},
        {"fell-back", PG_PAGES, .outcome = OUTCOME_FELL_BACK,
         .expects = "db fell back: 0 of 1,081 huge pages are mapped, and 2.1G of its memory is in"},
        {"fell-back", PG_PAGES, .outcome = OUTCOME_IN_USE,
         .held = "postgresql@15-main.service 1081"},
        {"fell-back", PG_PAGES},
        {"off-plan", PG_PAGES, .held = "postgresql@15-main.service 1088", .outcome = OUTCOME_IN_USE,
         .expects = "db: it has taken 7 pages of 2M more than it was given"},
        {"off-plan", PG_PAGES, .held = "postgresql@15-main.service 1081",
         .outcome = OUTCOME_IN_USE},
        {"pool-taken", PG_PAGES, .held = "dpdk.service 512",
         .expects = "512 pages of 2M belong to no instance's unit, and the instances want 1,081"},
        {"pool-taken", PG_PAGES, .held = "postgresql@15-main.service 512"},
        /* Of an instance that was removed, whose unit has taken them again. */
        {"pool-taken", PG_PAGES, .held = "old.service 512", .topology = TAKEN_AGAIN,
         .is_ours = true,
         .expects =
                 "old.service (pid 812, server): 512 pages of 2M, and no instance is described for "
                 "this unit: so long 512 pages of 2M (1G) stay reserved"},
        {"pool-taken", PG_PAGES, .held = "old.service 512", .topology = TAKEN_AGAIN},
        {"sysv-left", PG_PAGES, .held = "- 512",
         .expects = "segment 7 has no process attached (nattch 0) and holds 512 pages of 2M (1G)"},
        {"sysv-left", PG_PAGES, .held = "dpdk.service 512"},
        {"node-policy", PG_PAGES, .topology = TWO_NODES,
         .files = {{"/etc/systemd/system/postgresql@15-main.service",
                    "[Service]\nNUMAPolicy=bind\nNUMAMask=0\n"}},
         .expects = "may use memory of node 0 only, where 541 of its 1,081 pages"},
        {"node-policy", PG_PAGES, .topology = TWO_NODES,
         .files = {{"/etc/systemd/system/system-postgresql.slice",
                    "[Slice]\nAllowedMemoryNodes=1\n"}},
         .expects = "system-postgresql.slice:2: AllowedMemoryNodes"},
        {"node-policy", PG_PAGES "Nodes=0\n", .topology = TWO_NODES,
         .files = {{"/etc/systemd/system/postgresql@15-main.service",
                    "[Service]\nNUMAPolicy=bind\nNUMAMask=0\n"}}},
        {"node-policy", MARIA, .topology = TWO_NODES,
         .files = {{MARIA_DIR "/cpuset.mems.effective", "1\n"}},
         .expects = "cpuset.mems.effective: mariadb.service may use memory of node 1 only"},
        {"gate-cut-off", MARIA,
         .files = {{"/etc/systemd/system/mariadb.service",
                    "[Service]\nRestrictAddressFamilies=AF_INET AF_INET6\n"}},
         .expects = "mariadb.service:2: RestrictAddressFamilies: the gate of mariadb.service"},
        {"gate-cut-off", MARIA,
         .files =
                 {{"/etc/systemd/system/mariadb.service",
                   "[Service]\nRestrictAddressFamilies=~AF_PACKET\nRestrictAddressFamilies=~AF_UNIX\n"}},
         .expects = "mariadb.service:3: RestrictAddressFamilies"},
        {"gate-cut-off", MARIA,
         .files =
                 {{"/etc/systemd/system/mariadb.service",
                   "[Service]\nRestrictAddressFamilies=AF_INET\nRestrictAddressFamilies=AF_UNIX\n"}}},
        {"gate-cut-off", MARIA,
         .files = {{"/etc/systemd/system/mariadb.service",
                    "[Service]\nRestrictAddressFamilies=none\nRestrictAddressFamilies=\n"}}},
        {"cgroup-max", MARIA,
         .files = {{"/sys/fs/cgroup/system.slice/hugetlb.2MB.rsvd.max", "1048576\n"}},
         .expects = "system.slice/hugetlb.2MB.rsvd.max: allows 1M of huge pages"},
        {"cgroup-max", MARIA,
         .files = {{"/sys/fs/cgroup/system.slice/hugetlb.2MB.rsvd.max", "max\n"},
                   {MARIA_DIR "/hugetlb.2MB.max", "1382023168\n"},
                   {MARIA_DIR "/hugetlb.1GB.max", "0\n"}}},
        {"cgroup-max", MARIA "Isolate=yes\n", /* our own is put up anew */
         .files = {{MARIA_DIR "/hugetlb.2MB.rsvd.max", "1048576\n"}}},
        {"hugetlb-sigbus", MARIA,
         .files = {CONTROLLER,
                   {"/sys/fs/cgroup/kubepods.slice/kubepods-pod1.slice/x.scope/hugetlb.2MB.max",
                    "0\n"},
                   {"/sys/fs/cgroup/kubepods.slice/kubepods-pod1.slice/x.scope/hugetlb.2MB.rsvd.max",
                    "max\n"},
                   {"/sys/fs/cgroup/docker/4a1f/hugetlb.2MB.max", "4194304\n"}},
         .expects =
                 "/sys/fs/cgroup/docker/4a1f/hugetlb.2MB.max: a process in here, and in 1 other group, may "
                 "reserve huge pages, and is killed by SIGBUS when it touches more than 4M of them"},
        {"hugetlb-sigbus", MARIA, /* what is reserved is limited */
         .files = {CONTROLLER,
                   {"/sys/fs/cgroup/docker/4a1f/hugetlb.2MB.max", "4194304\n"},
                   {"/sys/fs/cgroup/docker/4a1f/hugetlb.2MB.rsvd.max", "4194304\n"}}},
        {"hugetlb-sigbus", MARIA, /* nobody has pages of that size */
         .files = {CONTROLLER, {"/sys/fs/cgroup/docker/4a1f/hugetlb.1GB.max", "0\n"}}},
        {"hugetlb-sigbus", MARIA, /* cgroup-max speaks of it */
         .files = {CONTROLLER, {MARIA_DIR "/hugetlb.2MB.max", "0\n"}}},
        {"hugetlb-limit-missing", MARIA, .topology = RESERVED, .other = NEIGHBOUR,
         .files = {CONTROLLER, RUNS(MARIA_DIR), {MARIA_DIR "/hugetlb.2MB.rsvd.max", "max\n"}},
         .expects = MARIA_DIR
         "/hugetlb.2MB.rsvd.max: mariadb.service runs without a hugetlb limit"},
        {"hugetlb-limit-missing", MARIA, .topology = RESERVED, .other = NEIGHBOUR,
         .files = {CONTROLLER,
                   RUNS(MARIA_DIR),
                   {MARIA_DIR "/hugetlb.2MB.rsvd.max", "9223372036854771712\n"}},
         .expects = "runs without a hugetlb limit"},
        {"hugetlb-limit-missing", MARIA, .topology = RESERVED, .other = NEIGHBOUR,
         .files = {CONTROLLER,
                   RUNS(MARIA_DIR),
                   {MARIA_DIR "/hugetlb.2MB.rsvd.max", "1382023168\n"}}},
        {"hugetlb-limit-missing", MARIA, .topology = RESERVED,
         .files = {CONTROLLER, RUNS(MARIA_DIR)}}, /* has no neighbour */
        {"hugetlb-limit-missing", MARIA, .topology = RESERVED, .other = NEIGHBOUR,
         .files = {RUNS(MARIA_DIR)}},
        {"hugetlb-limit-missing", MARIA, .topology = RESERVED, .other = NEIGHBOUR,
         .files = {CONTROLLER}}, /* does not run */
        {"hugetlb-limit-missing", MARIA "Isolate=no\n", .topology = RESERVED, .other = NEIGHBOUR,
         .files = {CONTROLLER, RUNS(MARIA_DIR)}},
        {"hugetlb-limit-missing", MARIA, .topology = RESERVED,
         .other = NEIGHBOUR, /* of a hybrid host */
         .files = {{"/sys/fs/cgroup/unified/cgroup.controllers", "hugetlb\n"},
                   RUNS("/sys/fs/cgroup/unified/system.slice/mariadb.service")},
         .expects = "/sys/fs/cgroup/unified/system.slice/mariadb.service/hugetlb.2MB.rsvd.max: "},
        /* It comes with the first start after the plan was applied. */
        {"hugetlb-limit-missing", MARIA, .other = NEIGHBOUR,
         .files = {CONTROLLER, RUNS(MARIA_DIR), {MARIA_DIR "/hugetlb.2MB.rsvd.max", "max\n"}}},
        {"hugetlb-limit-wrong", MARIA, .other = NEIGHBOUR,
         .files = {CONTROLLER, RUNS(MARIA_DIR), {MARIA_DIR "/hugetlb.2MB.rsvd.max", "1073741824\n"}},
         .expects = "the hugetlb limit of mariadb.service is at 1G, and the plan has 1.3G for it"},
        {"hugetlb-limit-wrong", MARIA, .other = NEIGHBOUR,
         .files = {CONTROLLER,
                   RUNS(MARIA_DIR),
                   {MARIA_DIR "/hugetlb.2MB.rsvd.max", "1382023168\n"},
                   {MARIA_DIR "/hugetlb.1GB.rsvd.max", "1073741824\n"}},
         .expects =
                 "hugetlb.1GB.rsvd.max: the hugetlb limit of mariadb.service is at 1G, and the plan has 0"},
        {"hugetlb-limit-wrong", MARIA, .other = SHARES_UNIT,
         .files = {CONTROLLER,
                   RUNS(MARIA_DIR),
                   {MARIA_DIR "/hugetlb.2MB.rsvd.max", "1402994688\n"},
                   {MARIA_DIR "/hugetlb.1GB.rsvd.max", "0\n"}}},
        {"hugetlb-limit-wrong", MARIA, .other = NEIGHBOUR,
         .files = {CONTROLLER, RUNS(MARIA_DIR), {MARIA_DIR "/hugetlb.2MB.rsvd.max", "max\n"}}},
        {"hugetlb-unlimited", MARIA, .other = NEIGHBOUR, .topology = FOUND_PAGES,
         .held = "dpdk.service 512", .files = {CONTROLLER},
         .expects = "no hugetlb limit keeps it from taking more"},
        {"hugetlb-unlimited", MARIA, .other = NEIGHBOUR, .topology = FOUND_PAGES,
         .held = "limited.service 512", .files = {CONTROLLER}},
        {"hugetlb-unlimited", MARIA, .other = NEIGHBOUR,
         .held = "dpdk.service 512", /* pool-taken */
         .files = {CONTROLLER}},
        {"hugetlb-unlimited", MARIA, .topology = FOUND_PAGES, .held = "dpdk.service 512",
         .files = {CONTROLLER}},
        {"hugetlb-unlimited", MARIA, .other = NEIGHBOUR, .topology = FOUND_PAGES,
         .held = "mariadb.service 512", .files = {CONTROLLER}},
        {"memory-max", MARIA,
         .files = {ACCOUNTING,
                   {"/lib/systemd/system/mariadb.service", "[Service]\nMemoryMax=1G\n"}},
         .expects = "mariadb.service may have 1G, and the huge pages of db alone are 1.3G"},
        {"memory-max", MARIA,
         .files = {ACCOUNTING, {"/etc/systemd/system/system.slice", "[Slice]\nMemoryMax=1%\n"}},
         .expects = "system.slice may have 655.4M"},
        {"memory-max", MARIA, .files = {ACCOUNTING, {MARIA_DIR "/memory.max", "1073741824\n"}},
         .expects = "mariadb.service may have 1G"},
        {"memory-max", MARIA,
         .files = {ACCOUNTING, {"/sys/fs/cgroup/system.slice/memory.high", "1073741824\n"}},
         .expects = "/sys/fs/cgroup/system.slice/memory.high: system.slice may have 1G"},
        {"memory-max", MARIA, .other = "[Instance]\nMemory=3G\nUnit=other.service\n",
         .files = {ACCOUNTING, {"/etc/systemd/system/system.slice", "[Slice]\nMemoryMax=4G\n"}},
         .expects = "system.slice may have 4G, and the huge pages of db, other alone are 4.3G"},
        {"memory-max", MARIA, .other = "[Instance]\nMemory=3G\nUnit=other.service\n",
         .files = {ACCOUNTING,
                   {"/etc/systemd/system/system.slice", "[Slice]\nMemoryMax=4G\n"},
                   {"/etc/systemd/system/other.service", "[Service]\nSlice=others.slice\n"}}},
        {"memory-max", MARIA,
         .files = {ACCOUNTING,
                   {"/lib/systemd/system/mariadb.service", "[Service]\nMemoryMax=4G\n"}}},
        {"memory-max", MARIA,
         .files = {{"/lib/systemd/system/mariadb.service", "[Service]\nMemoryMax=1G\n"}}},
        {"learned-stale", PG_PAGES,
         .learned = "[Instance]\nPages=2M:1081\nX-Version=15.18\nX-Exact=yes\n",
         .settings = "shared_buffers=4GB",
         .expects =
                 "learned to need 1,081 pages of 2M (2.1G), and its settings have changed since: "
                 "more than 2,048"},
        {"learned-stale", PG_PAGES,
         .learned = "[Instance]\nPages=2M:1081\nX-Version=15.18\nX-Exact=yes\n",
         .settings = "shared_buffers=2GB"},
        /* Whatever else is taken as it is given counts, too. */
        {"learned-stale", PG_PAGES,
         .learned = "[Instance]\nPages=2M:1081\nX-Version=15.18\nX-Exact=yes\n",
         .settings = "shared_buffers=2GB\nmin_dynamic_shared_memory=1GB",
         .expects = "settings have changed since: more than 1,536"},
        /* What the same rule said then is what tells a change of any setting. */
        {"learned-stale", PG_PAGES,
         .learned = "[Instance]\nPages=2M:1081\nX-Exact=yes\nX-Rule=2M:1000\n",
         .settings = "shared_buffers=2GB", .expects = "settings have changed since: about 1,"},
        {"learned-stale", PG_PAGES,
         .learned = "[Instance]\nPages=2M:1081\nX-Exact=yes\nX-Rule=2M:9000\n",
         .settings = "shared_buffers=4GB"},
        {"learned-stale", PG_PAGES, .learned = "[Instance]\nPages=2M:1081\n",
         .settings = "shared_buffers=4GB", .expects = "settings have changed since: 2,1"},
        {"auto-unbounded", PG "User=postgres\nMemory=auto\n",
         .other = "[Instance]\nUser=oracle\nEngine=oracle\nPages=10\nUnit=o.service\n",
         .expects = "what these say of a size is believed up to AutoMemory=80% of each node, "
                    "without a bound of its own: db"},
        {"auto-unbounded", PG "User=postgres\nMemory=auto:8G\n",
         .other = "[Instance]\nUser=oracle\nEngine=oracle\nPages=10\nUnit=o.service\n"},
        {"auto-unbounded", PG "User=postgres\nMemory=auto\n",
         .other = "[Instance]\nUser=postgres\nPages=10\nUnit=o.service\n"},
        {"remove-ipc", ORA,
         .files = {PASSWD,
                   {ORA_UNIT, "[Service]\nUser=oracle\n"},
                   {"/etc/systemd/logind.conf", "[Login]\n#RemoveIPC=no\nRemoveIPC=yes\n"}},
         .expects = "/etc/systemd/logind.conf:3: RemoveIPC: db: when the last login of oracle"},
        {"remove-ipc", ORA,
         .files = {PASSWD,
                   {ORA_UNIT, "[Service]\nUser=oracle\n"},
                   {"/etc/systemd/logind.conf.d/ora.conf", "[Login]\nRemoveIPC=no\n"}}},
        {"boot-uncounted", ORA,
         .files = {{"/run/hugeplan/boot-uncounted", "No space left on device\n"}},
         .expects = "/etc/hugeplan.d/.boots: could not be written: No space left on device. The "
                    "boot guard has not counted this boot"},
        {"boot-uncounted", ORA},
};

/* ---- a case becomes a host ---- */

static const Sources *case_sources(Arena *arena, const Case *c) {
        size_t n = 0;

        while (n < FILES_MAX && c->files[n].path)
                n++;
        return test_sources(arena, n > 0 ? c->files : &(TestFile){"/none", ""}, MAX(n, (size_t) 1));
}

/* "NAME=VALUE" lines of /etc/db.conf; "@ORIGIN NAME=VALUE" stands elsewhere. */
static Gathered *case_gathered(Arena *arena, const Case *c) {
        Gathered *gathered = ARENA_NEW(arena, Gathered);
        const char *rest = c->settings;
        char *line;

        *gathered = (Gathered){.problems = diags_in(arena),
                               .version = c->version,
                               .config_file = "/etc/db.conf",
                               .is_read = true};
        for (unsigned n = 1; (line = text_next_word(arena, &rest, "\n")); n++) {
                char *origin = arena_printf(arena, "/etc/db.conf:%u", n), *equals;

                if (*line == '@') {
                        origin = line + 1;
                        line = strchr(line, ' ');
                        *line++ = '\0';
                }
                equals = strchr(line, '=');
                *equals = '\0';
                settings_add(arena, &gathered->settings, line, equals + 1, origin);
        }
        return gathered;
}

/* Without settings: what the files say, of which there are none mostly. */
static Figures case_figures(Arena *arena, const Case *c, const Config *config, const Plan *plan,
                            const Topology *topology) {
        Figures figures = {};
        Figure figure = {.instance = "db"};
        const InstanceConfig *instance = config_find(config, "db");
        uint64_t bytes = plan_find(plan, "db")->page_size_bytes;

        if (!c->settings) {
                const EngineTarget target = figures_target(instance, topology);

                if (engine_reader(instance->engine)->gather)
                        figures_gather(arena, instance->engine, &target, case_sources(arena, c),
                                       NULL, 0, &figures);
                return figures;
        }
        figure.gathered = case_gathered(arena, c);
        figure.wrong = engine_size(instance->engine, arena, &figure.gathered->settings,
                                   bytes > 0 ? bytes : 2 * MIB, &figure.sizing);
        *vec_push(arena, &figures) = figure;
        return figures;
}

static PageUsers *case_page_users(Arena *arena, const Case *c) {
        PageUsers *page_users = ARENA_NEW(arena, PageUsers);
        const char *rest = c->held;
        uint64_t pages;

        page_users->is_complete = true;
        if (!rest)
                return page_users;
        const char *unit = text_next_word(arena, &rest, " ");

        assert_int_equal(parse_u64(text_strip(arena, rest), &pages), 0);
        *vec_push(arena, &page_users->list) = (PageUser){
                .unit = *unit == '-' ? NULL : unit,
                .pid = *unit == '-' ? 0 : 812,
                .command = *unit == '-' ? PAGE_USER_SEGMENT "7, nobody attached" : "server",
                .page_size_bytes = 2 * MIB,
                .bytes = pages * 2 * MIB,
                .pages = pages,
                .mapped_pages = pages,
                .is_limited = text_equals(unit, "limited.service"),
        };
        return page_users;
}

/* As the one judge of that has it. */
static ProofList case_proofs(Arena *arena, const Case *c, const PageUsers *page_users,
                             const Plan *plan) {
        const PlanInstance *planned = plan_find(plan, "db");
        StatusInstance *instance = ARENA_NEW(arena, StatusInstance);
        ServerLook *look = ARENA_NEW(arena, ServerLook);
        ProofList proofs = {};

        *instance = (StatusInstance){.name = "db",
                                     .engine = planned->demand->config->engine->name,
                                     .unit = planned->demand->config->unit,
                                     .page_size_bytes = planned->page_size_bytes,
                                     .pages_wanted = planned->pages_wanted};
        *look = (ServerLook){.is_running = true, .has_map = true, .is_all_mapped = true};
        if (c->outcome == OUTCOME_FELL_BACK)
                look->map.shared_bytes = 2162 * MIB;
        vec_push_all(arena, &look->pages, &page_users->list);
        *vec_push(arena, &proofs) =
                proof_judge(arena, &(ProofInput){.instance = instance, .look = look});
        return c->outcome == OUTCOME_UNKNOWN ? (ProofList){} : proofs;
}

static const Config *case_config(Arena *arena, const Case *c) {
        const char *host = arena_printf(arena, "[Host]\n%s\n", c->host ? c->host : "");
        const char *other = c->other ? c->other : "";
        const char *learned = c->learned ? c->learned : "";
        Config *config = config_make(arena, "00-host.conf", host, "20-db.conf", c->config,
                                     "20-db.conf.d/90-learned.conf", learned, "30-other.conf",
                                     other, NULL);

        if (c->learned) {
                /* What was learned counts with Memory=auto. */
                InstanceConfig *instance = (InstanceConfig *) config_find(config, "db");

                instance->memory_kind = MEMORY_AUTO;
                instance->pages = (PageCounts){};
        }
        return config;
}

/* The host's files as they will be. */
static Overlay case_after(Arena *arena, const Sources *sources, const Config *config,
                          const Plan *plan, const Topology *topology) {
        Accounts accounts = accounts_read(arena, sources);
        Diags ignored = diags_in(arena);
        const HostPlanInput host_input = {
                .config = config, .plan = plan, .topology = topology, .accounts = &accounts};
        HostPlan *host = ARENA_NEW(arena, HostPlan);
        Dropins *dropins = ARENA_NEW(arena, Dropins);
        const DropinInput dropin_input = {
                .config = config,
                .ctl = "hugeplanctl",
                .has_group = account_find_group(arena, &accounts, "hugetlb"),
        };

        *host = host_plan_make(arena, &host_input, &ignored);
        *dropins = dropins_make(arena, &dropin_input);
        return host_after(arena, sources, config, plan, &host->writes, dropins);
}

/* As the probe does. */
static uint64_t read_limit(Arena *arena, const Sources *sources, const char *path) {
        SourceText text = source_read(sources, arena, path);
        uint64_t limit;

        return text.text && parse_u64(text_strip(arena, text.text), &limit) == 0 ? limit
                                                                                 : UINT64_MAX;
}

static SettingSources *case_setting_sources(Arena *arena, const Case *c, const Topology *topology) {
        SettingSources *setting_sources = setting_sources_new(arena, topology);

        if (c->sysctl)
                setting_sources_add_file(setting_sources,
                                         &(SettingSourceFile){SETTING_SOURCE_SYSCTL,
                                                              "/etc/sysctl.d/99.conf", c->sysctl,
                                                              strlen(c->sysctl)});
        if (c->boot_line)
                setting_sources_add_file(setting_sources,
                                         &(SettingSourceFile){SETTING_SOURCE_KERNEL_COMMAND_LINE,
                                                              "/proc/cmdline", c->boot_line,
                                                              strlen(c->boot_line)});
        setting_sources_finish(setting_sources);
        return setting_sources;
}

static Findings judge(Arena *arena, const Case *c) {
        const Config *config = case_config(arena, c);
        Topology *topology = host_make(arena, c->topology ? c->topology : ONE_NODE);
        Diags problems = diags_in(arena);

        topology->kernel_release = c->kernel ? c->kernel : "6.12.107+deb13-amd64";
        if (c->thp)
                topology->thp_enabled = c->thp;
        topology->thp_exists = true;
        topology->n_cpus = 4;
        topology->base_page_bytes = 4 * KIB;
        assert_text(problems_text(arena, &config->problems), "");
        Ledger *ledger = ledger_new(arena, topology->boot_id);
        Running running = running_make(arena, c->running ? c->running : "");

        ledger_observe(arena, ledger, topology, NULL);
        VEC_FOREACH(pool, &ledger->pools)
                if (c->is_ours)
                        pool->found_pages = 0;
        Plan *plan = plan_beside(arena, config, topology, ledger, &running);
        ThpPlan thp = thp_plan_make(arena, config, topology, 0, &problems);
        Figures figures = case_figures(arena, c, config, plan, topology);
        const Sources *sources = case_sources(arena, c);
        topology->limits = (KernelLimits){
                read_limit(arena, sources, "/proc/sys/kernel/shmmax"),
                read_limit(arena, sources, "/proc/sys/kernel/shmall"),
                read_limit(arena, sources, "/proc/sys/vm/hugetlb_shm_group"),
        };
        Overlay after = case_after(arena, sources, config, plan, topology);
        HostFacts *facts = host_facts_read(arena, &after.sources, config, topology, &figures);

        if (c->alert)
                host_facts_add_alert(arena, facts, "DB", "/u01/alert_DB.log",
                                     &(SourceText){c->alert, strlen(c->alert), 0});
        const PageUsers *page_users = case_page_users(arena, c);
        const ProofList proofs = case_proofs(arena, c, page_users, plan);
        const HostView input = {
                .config = config,
                .topology = topology,
                .plan = plan,
                .ledger = ledger,
                .use = &running.use,
                .thp = &thp,
                .figures = &figures,
                .facts = facts,
                .page_users = page_users,
                .proofs = &proofs,
                .setting_sources = case_setting_sources(arena, c, topology),
                .boot_line =
                        kernel_line_read(arena, c->boot_line ? c->boot_line : "", NULL, topology),
        };

        return rules_judge(arena, &input, &(Diags){.arena = arena});
}

static const Finding *find(const FindingList *list, const char *id) {
        VEC_FOREACH(finding, list)
                if (text_equals(finding->diag.id, id))
                        return finding;
        return NULL;
}

TEST(each_rule) {
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                const Case *c = &cases[i];
                Findings findings = judge(arena, c);
                const Finding *finding = find(&findings.list, c->rule);

                if (finding && c->expects) {
                        assert_contains(diag_format(arena, &finding->diag), c->expects);
                        assert_non_null(finding->diag.remedy);
                } else if (finding) {
                        fail_msg("case %zu: %s should be silent, and says: %s", i, c->rule,
                                 diag_format(arena, &finding->diag));
                } else if (c->expects) {
                        fail_msg("case %zu: %s should say '%s', and is silent", i, c->rule,
                                 c->expects);
                }
        }
}

static bool has_case(const char *id, bool is_speaking) {
        for (size_t i = 0; i < ARRAY_LEN(cases); i++)
                if (text_equals(cases[i].rule, id) && (cases[i].expects != NULL) == is_speaking)
                        return true;
        return false;
}

TEST(no_rule_without_both_cases) {
        for (size_t i = 0; i < RULE_KINDS; i++)
                for (int speaks = 0; speaks < 2; speaks++)
                        if (!has_case(rules[i].id, speaks))
                                fail_msg("no case in which %s %s", rules[i].id,
                                         speaks ? "speaks" : "is silent");
}

/* ---- around the rules ---- */

/* The same finding, cured by the plan or not. */
TEST(alert_that_the_plan_cures) {
        const Case enough = {.config = ORA, .alert = ALERT_TABLE("3500  4097  0  ORA-27125")};
        const Case short_of = {.config = ORA, .alert = ALERT_TABLE("3500  4200  0  ORA-27125")};
        Findings findings = judge(arena, &enough);

        assert_int_equal(find(&findings.list, "ora-alert")->diag.severity, SEVERITY_NOTICE);
        assert_int_equal(findings_count_hurting(&findings), 0);
        findings = judge(arena, &short_of);
        assert_int_equal(find(&findings.list, "ora-alert")->diag.severity, SEVERITY_WARNING);
        assert_int_equal(findings_count_hurting(&findings), 1);
}

TEST(silenced) {
        const Case c = {.config = PG "Pages=1024\n",
                        .host = "SilenceRules=pg-naive, pg-dash",
                        .settings = "shared_buffers=2GB\nhuge_pages=try"};
        Findings findings = judge(arena, &c);

        assert_null(find(&findings.list, "pg-naive"));
        assert_non_null(find(&findings.list, "pg-try"));
        assert_int_equal(findings.silenced.n, 1);
        assert_int_equal(findings.silenced.items[0].silenced_by->line, 2);
        assert_int_equal(findings_count_hurting(&findings), 0);
        assert_contains(render_findings(arena, &findings, &(RenderOptions){}),
                        "1 finding silenced by SilenceRules= in /etc/hugeplan.d/00-host.conf:2\n");
}

TEST(order) {
        const Case c = {.config = PG "Pages=1024\n",
                        .settings = "shared_buffers=2GB\nhuge_pages=try",
                        .files = {{"/usr/lib/systemd/system/postgresql@.service",
                                   "[Service]\nExecStart=-/usr/bin/pg_ctlcluster\n"}}};
        Findings findings = judge(arena, &c);

        assert_int_equal(findings.list.n, 3);
        assert_text(findings.list.items[0].diag.id, "pg-naive");
        assert_true(findings.list.items[0].hurts);
        assert_text(findings.list.items[1].diag.id, "pg-try");
        assert_text(findings.list.items[2].diag.id, "pg-dash");
        assert_int_equal(findings_count_hurting(&findings), 1);
        assert_int_equal(findings_count_mistakes(&findings), 0);
}

/* One line of a template is one thing to put right; a line for each is not. */
TEST(one_line_of_several) {
        static const TestFile template = {"/usr/lib/systemd/system/postgresql@.service",
                                          "[Service]\nExecStart=-/usr/bin/pg_ctlcluster\n"};
        const Case one = {.config = PG_PAGES,
                          .other = "[Instance]\nEngine=postgresql\nPages=1081\n"
                                   "Unit=postgresql@15-other.service\n",
                          .files = {template}};
        const Case each = {.config = PG_PAGES,
                           .other = "[Instance]\nEngine=postgresql\nPages=1081\n"
                                    "Unit=postgresql-15.service\n",
                           .files = {template,
                                     {"/usr/lib/systemd/system/postgresql-15.service",
                                      "[Service]\nExecStart=-/usr/bin/pg_ctl\n"}}};
        Findings findings = judge(arena, &one);

        assert_int_equal(findings.list.n, 1);
        assert_text(findings.list.items[0].diag.id, "pg-dash");
        assert_contains(findings.list.items[0].diag.text,
                        "db could not map its huge pages; the same holds for other");
        findings = judge(arena, &each);
        assert_int_equal(findings.list.n, 2);
        for (size_t i = 0; i < 2; i++)
                assert_null(strstr(findings.list.items[i].diag.text, "the same holds"));
}

TEST(sound_host_is_fine) {
        static const Case sound[] = {
                {.config = PG "Pages=1200\n", .settings = "shared_buffers=2GB\nhuge_pages=on"},
                {.config = ORA, .settings = "sga_target=8G\nuse_large_pages=only"},
                {.config = MARIA, .settings = "large_pages=1\ninnodb_buffer_pool_size=1G"},
        };

        for (size_t i = 0; i < ARRAY_LEN(sound); i++) {
                Findings findings = judge(arena, &sound[i]);

                VEC_FOREACH(finding, &findings.list)
                        fail_msg("%s", diag_format(arena, &finding->diag));
                assert_text(render_findings(arena, &findings, &(RenderOptions){}),
                            "No problems found.\n");
        }
}

TEST(documentation) {
        assert_text(rule_documentation(arena, "pg-try"), "hugeplan-rules(7), pg-try");
        assert_text(rule_documentation(arena, "conflict-sysctl"),
                    "hugeplan-rules(7), conflict-sysctl");
        assert_text(rule_documentation(arena, "fragmented"), "hugeplan-rules(7), fragmented");
}

TEST(nearest) {
        assert_text(rule_nearest("pg-tri"), "pg-try");
        assert_text(rule_nearest("conflict-sysctrl"), "conflict-sysctl");
        assert_text(rule_nearest("my_off"), "my-off");
        /* Of two that are as near, the first; and nothing that is as far as the word is long. */
        assert_text(rule_nearest("ora-am"), "ora-amm");
        assert_text(rule_nearest("ora-sm"), "ora-shm");
        assert_null(rule_nearest("try"));
        assert_text(rule_nearest("pg-tryxxx"), "pg-try");
        assert_null(rule_nearest("pg-tryxxxx"));
        assert_null(rule_nearest("completely-different"));
        assert_null(rule_nearest(""));
        assert_null(rule_nearest("a-word-that-is-longer-than-any-id-that-there-is"));
}

TEST(what_may_be_silenced) {
        assert_true(rule_may_be_silenced("pg-dash"));
        assert_true(rule_may_be_silenced("conflict-tuned"));
        assert_false(rule_may_be_silenced("config-bad-value"));
        assert_false(rule_may_be_silenced("fragmented"));
        assert_true(rule_hurts("fragmented"));
        assert_true(rule_hurts("conflict-sysctl"));
        assert_false(rule_hurts("config-bad-value"));
        assert_false(rule_hurts("pg-try"));
}

TEST(slice_paths) {
        assert_text(slice_group_path(arena, "system.slice"), "/system.slice");
        assert_text(slice_group_path(arena, "system-postgresql.slice"),
                    "/system.slice/system-postgresql.slice");
        assert_text(slice_group_path(arena, "a-b-c.slice"), "/a.slice/a-b.slice/a-b-c.slice");
        assert_text(slice_group_path(arena, "-.slice"), "");
        assert_text(slice_group_path(arena, "nonsense"), "");
}

TEST(unit_sizes) {
        uint64_t bytes;

        assert_int_equal(unit_size_parse(arena, "8M", &bytes), 0);
        assert_int_equal(bytes, 8 * MIB);
        assert_int_equal(unit_size_parse(arena, "64K:infinity", &bytes), 0);
        assert_int_equal(bytes, 64 * KIB);
        assert_int_equal(unit_size_parse(arena, "infinity", &bytes), 0);
        assert_true(bytes == UINT64_MAX);
        assert_int_equal(unit_size_parse(arena, "much", &bytes), -EINVAL);
}

/* A word that is no reason is none, and nothing is made of it. */
TEST(reason_words) {
        ReasonKind kind = REASON_RELEASED;

        assert_int_equal(reason_from_id("no-reason-at-all", &kind), -EINVAL);
        assert_int_equal(kind, REASON_RELEASED);
        assert_int_equal(reason_from_id(reason_id(REASON_TAKEN), &kind), 0);
        assert_int_equal(kind, REASON_TAKEN);
}
