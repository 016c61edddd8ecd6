/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Facts about a host that no plan needs, and that decide whether a database gets on with one: limits,
 * groups, units with their slices and control groups, Oracle's list of instances.
 *
 * Sources: Documentation/admin-guide/sysctl/vm.rst and kernel.rst, cgroup-v2.rst, proc.rst,
 * limits.conf(5), passwd(5), group(5), logind.conf(5), systemd.slice(5), Oracle's oratab. */

#include "config/config.h"
#include "demand/figures.h"
#include "model/topology.h"
#include "read/unit_file.h"
#include "units/memory_limit.h"

/* A value, and where it stands. */
typedef struct FactOrigin {
        const char *file;
        unsigned line;
} FactOrigin;

/* A file of a control group that sets an upper bound to huge pages. */
typedef struct GroupLimit {
        const char *file; /* "/sys/fs/cgroup/system.slice/hugetlb.2MB.max" */
        uint64_t page_size_bytes;
        uint64_t bytes;
} GroupLimit;

typedef VEC(GroupLimit) GroupLimits;

/* The unit of an instance as its files describe it, and as it is now. */
typedef struct UnitFacts {
        const char *name;
        const UnitFile *file;
        VEC(const UnitFile *) slices; /* from its own up to the top one, without -.slice */
        const char *group;            /* "/system.slice/mariadb.service", below hierarchy */
        bool is_running;              /* there are processes in its control group */
        uint64_t pid;                 /* the first of them */
        uint64_t age_usec;            /* since that was started; 0: not known */
        GroupLimits limits;           /* of the group and those above it */
        MemoryLimits memory_limits;   /* likewise */
        bool has_memory_nodes;        /* cpuset.mems.effective of its group could be read */
        IdSet memory_nodes;
} UnitFacts;

/* Who runs the database. */
typedef struct OwnerFacts {
        const char *name; /* NULL: not known */
        bool has_ids;     /* passwd(5) has it */
        uint64_t uid;
        VEC(uint64_t) gids; /* its own group, those that list it, and those that the unit adds */
} OwnerFacts;

/* One row for each instance of the configuration, in its order. */
typedef struct InstanceFacts {
        const UnitFacts *unit; /* NULL: it has none */
        OwnerFacts owner;
} InstanceFacts;

/* A memlock line of limits.conf(5), which counts for logins only. */
typedef struct LoginLimit {
        const char *domain; /* "oracle", "@dba", "*" */
        const char *type;   /* "soft", "hard", "-" */
        const char *value;  /* kB, or "unlimited" */
        FactOrigin origin;
} LoginLimit;

typedef struct OracleSid {
        const char *sid;
        const char *home;
        FactOrigin origin;
} OracleSid;

/* What the alert log says of huge pages at the last start. */
typedef struct OracleAlert {
        const char *sid;
        uint64_t page_size_bytes, available_pages, expected_pages;
        const char *error; /* NULL: none was reported */
        const char *file;
} OracleAlert;

typedef struct Overcommit {
        uint64_t page_size_bytes;
        uint64_t pages;
} Overcommit;

typedef struct HostFacts {
        InstanceFacts *instances;
        size_t n_instances;
        const char *hierarchy;   /* where the unified hierarchy of control groups is mounted */
        bool has_hugetlb_limits; /* it has the hugetlb controller */
        /* Groups that are traps: their limit of huge pages counts when a page is touched (hugetlb.SIZE.max), and
         * nothing limits what is reserved (hugetlb.SIZE.rsvd.max). A program in such a group is promised all the pages
         * that the host has free, and is killed by SIGBUS when it touches them. That is what became of PostgreSQL in
         * containers, initdb included, once a host had huge pages: container runtimes (runc before 1.1.10) set the
         * first file only. Sources: hugetlb in Documentation/admin-guide/cgroup-v2.rst; the OCI runtime
         * specification, "Huge page limits". */
        GroupLimits group_traps;
        bool counts_huge_pages; /* cgroup2 is mounted with memory_hugetlb_accounting */
        bool has_shmmax, has_shmall, has_shm_group;
        uint64_t shmmax_bytes;
        uint64_t shmall_pages; /* of the base page size */
        uint64_t shm_group;    /* vm.hugetlb_shm_group; 0: none but root's */
        bool has_own_group;    /* NAME_HUGETLB_GROUP exists */
        /* vm.dirty_background_ratio: percent of the memory that is no huge pages; 0: bytes are set instead, or
         * it could not be read. */
        uint64_t dirty_background_percent;
        VEC(Overcommit) overcommits;
        VEC(LoginLimit) login_limits;
        VEC(OracleSid) sids;
        VEC(OracleAlert) alerts;
        const char *boot_uncounted; /* why the boot guard could not count this boot; NULL: it did */
        /* logind's RemoveIPC=: not said anywhere, or what. */
        TriState remove_ipc;
        FactOrigin remove_ipc_origin;
} HostFacts;

/* Reads below /etc, /proc, /run and /sys, of a host as it is or will be (check/host_after.h). Never
 * fails: what cannot be read is not known. FIGURES tell who
 * owns a database where the configuration and the unit do not. */
HostFacts *host_facts_read(Arena *arena, const Sources *sources, const Config *config,
                           const Topology *topology, const Figures *figures);

/* Adds what the end of an alert log says of the last start: the row of the table
 * "PAGESIZE AVAILABLE_PAGES EXPECTED_PAGES ALLOCATED_PAGES ERROR(s)" for huge pages that Oracle prints
 * from 12c on. Nothing where there is none. */
void host_facts_add_alert(Arena *arena, HostFacts *facts, const char *sid, const char *file,
                          const SourceText *text);

/* Whether a line of an alert log is of such a table. */
bool host_facts_is_alert(Arena *arena, const char *line);

/* "system-postgresql.slice" is in "/system.slice/system-postgresql.slice": the control group of a
 * slice. systemd.slice(5). */
char *slice_group_path(Arena *arena, const char *slice);

/* A size as unit files have it: bytes, or with one of the suffixes K M G T P E; "infinity" is
 * UINT64_MAX. Of "SOFT:HARD" the soft limit. systemd.exec(5). -EINVAL where it is none. */
int unit_size_parse(Arena *arena, const char *value, uint64_t *ret_bytes);
