/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Facts about a host that planning does not need, and that decide whether a database can use its plan: limits, groups,
 * units with their slices and control groups.
 *
 * Sources: Documentation/admin-guide/sysctl/vm.rst and kernel.rst, cgroup-v2.rst, proc.rst, limits.conf(5), passwd(5),
 * group(5), logind.conf(5), systemd-system.conf(5), systemd.slice(5). */

#include "config/config.h"
#include "demand/figures.h"
#include "model/topology.h"
#include "plan/host_plan.h"
#include "plan/plan.h"
#include "read/accounts.h"
#include "read/overlay.h"
#include "read/setting_source.h"
#include "read/unit_file.h"
#include "status/history.h"
#include "status/proof.h"
#include "units/dropin.h"
#include "units/loaded_unit.h"
#include "units/memory_limit.h"

/* The unit of an instance: its files, and its present state. */
typedef struct UnitFacts {
        const char *name;
        const UnitFile *file;
        VEC(const UnitFile *)
        slices;              /* from the unit's own slice up to the topmost, without -.slice */
        const char *group;   /* "/system.slice/mariadb.service", below hierarchy */
        bool is_running;     /* its control group has processes */
        MemoryLimits limits; /* of its group and the groups above, and those in their files */
        /* The nodes that its files or those of its slices allow, or else its group's cpuset; empty: not known. */
        IdSet memory_nodes;
} UnitFacts;

/* The user that runs the database. */
typedef struct OwnerFacts {
        const char *name; /* NULL: not known */
        bool has_ids;     /* it is in passwd(5) */
        uint64_t uid;
        VEC(uint64_t) gids; /* its own group, and groups that list it */
} OwnerFacts;

/* One for each instance, in the order of the configuration. */
typedef struct InstanceFacts {
        const UnitFacts *unit; /* NULL: it has none */
        OwnerFacts owner;
} InstanceFacts;

/* A memlock line of limits.conf(5), which applies to logins only. */
typedef struct LoginLimit {
        const char *domain; /* "oracle", "@dba", "*" */
        const char *type;   /* "soft", "hard", "-" */
        const char *value;  /* kB, or "unlimited" */
        const char *file;
        unsigned line;
} LoginLimit;

typedef struct HostFacts {
        InstanceFacts *instances;
        size_t n_instances;
        const char *hierarchy;   /* mount point of the unified hierarchy of control groups */
        bool has_hugetlb_limits; /* it has the hugetlb controller */
        /* Groups that limit huge pages when they are touched (hugetlb.SIZE.max), but not when they are reserved
         * (hugetlb.SIZE.rsvd.max). A program in such a group can reserve all free pages of the host, and is killed by
         * SIGBUS when it touches more than the limit. PostgreSQL in containers, initdb included, died so as soon as a
         * host had huge pages: container runtimes (runc before 1.1.10) set the first file only. Sources: hugetlb in
         * Documentation/admin-guide/cgroup-v2.rst; the OCI runtime specification, "Huge page limits". */
        MemoryLimits group_traps;
        IdSet cpu_nodes;     /* nodes that have CPUs, and memory; empty: not known */
        KernelLimits limits; /* UINT64_MAX: not known, or none */
        bool has_own_group;  /* NAME_HUGETLB_GROUP exists */
        PageCounts overcommits;
        VEC(LoginLimit) login_limits;
        const char *boot_uncounted; /* why the boot guard could not count this boot; NULL: it did */
        const UnitAssignment *remove_ipc;    /* logind's RemoveIPC=, if any file sets it */
        const UnitAssignment *start_timeout; /* the service manager's DefaultTimeoutStartSec= */
} HostFacts;

/* Reads files below /etc, /proc, /run and /sys, of a host as it is or will be (host_after()). Never fails: a fact
 * that cannot be read is not known. FIGURES have the owner of a database if neither its configuration nor its unit
 * does. */
HostFacts *host_facts_read(Arena *arena, const Sources *sources, const Config *config,
                           const Topology *topology, const Figures *figures);

/* Returns the limit KEY of the group PATH, or NULL. */
const MemoryLimit *memory_limits_find(const MemoryLimits *limits, const char *path,
                                      const char *key);

/* Returns the unit as the service manager will load it. */
LoadedUnit unit_facts_loaded(Arena *arena, const UnitFacts *unit);

/* Returns the control group of a slice: "/system.slice/system-postgresql.slice" for "system-postgresql.slice".
 * systemd.slice(5). */
char *slice_group_path(Arena *arena, const char *slice);

/* Returns the host's files (SOURCES) as they are once the plan is applied, because an administrator must not be told to set
 * by hand what the plan sets: with what hugepland writes below /proc/sys and /sys besides the pools, what the generator
 * writes at the next `systemctl daemon-reload`, and what hugepland writes for logins. */
Overlay host_after(Arena *arena, const Sources *sources, const Config *config, const Plan *plan,
                   const HostWrites *writes, const Dropins *dropins);

/* All that a host is judged by, as hugeplanctl has read it: for rules, conflicts, idle pages, import and report. What
 * was not read is NULL, and nothing is concluded from it. */
typedef struct HostView {
        const Config *config;
        const Topology *topology;
        const Ledger *ledger;
        const char *no_before; /* why LEDGER lacks the pages of before hugeplan; NULL: it has them */
        const HostUse *use;
        const Plan *plan; /* made from the above */
        const ThpPlan *thp;
        const Figures *figures; /* of all instances whose files can be read */
        const HostFacts *facts; /* of the same configuration, once it is applied */
        const Accounts *accounts;
        const PageUsers *page_users;
        const ProofList *proofs; /* of the instances that reserve pages */
        const SettingSources *setting_sources;
        const HistoryEntries *history;
        const struct Suggestions *suggestions; /* the databases found (check/suggest.h) */
        uint64_t tables_bytes;                 /* page tables of the whole host; 0: not known */
        bool is_aside;                         /* hugeplan adds no gates and sets no limits here */
} HostView;
