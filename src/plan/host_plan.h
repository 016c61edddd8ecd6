/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The plan's writes besides the pools: transparent huge pages, and the limits that the kernel has to lift before it lets
 * a database process have its pages.
 *
 * Only System V segments (SHM_HUGETLB, Oracle's way) need any: the group in vm.hugetlb_shm_group; RLIMIT_MEMLOCK on
 * kernels before 5.16 and some of vendors (fs/hugetlbfs/inode.c), so hugeplan always sets it, too; kernel.shmmax (bytes of
 * one segment) and kernel.shmall (base pages of all). */

#include "plan/plan.h"
#include "read/accounts.h"

/* A write to a kernel file. */
typedef struct HostWrite {
        const char *path;
        const char *value;  /* in the unit of the file */
        const char *before; /* the file's current value; NULL: not known */
} HostWrite;

typedef VEC(HostWrite) HostWrites;

/* The remedy if the group NAME_HUGETLB_GROUP is missing. */
#define SHM_GROUP_REMEDY "run 'systemd-sysusers', then 'hugeplanctl reload'"

/* The input of all writes besides the pools; the limits do not depend on systemd_version. */
typedef struct HostPlanInput {
        const Config *config;
        const Plan *plan;
        const Topology *topology;
        const Accounts *accounts; /* may be empty if config_needs_group() returns false */
        unsigned systemd_version; /* 0: not known */
} HostPlanInput;

/* Returns writes that raise limits that are lower than the instances need; none is lowered. The group is set to
 * hugeplan's; PROBLEMS gets the group that this replaces, or that hugeplan's group is missing. */
HostWrites limits_plan_make(Arena *arena, const HostPlanInput *input, Diags *problems);

/* Returns the bytes of PLAN's System V segments: of the largest instance or, if IS_SUM, of all. */
uint64_t limits_sysv_bytes(const Plan *plan, bool is_sum);

/* Returns the text of limits.d for logins by PAM, in kB as in limits.conf(5); NULL if no user needs it. */
char *limits_pam_text(Arena *arena, const Config *config, const Plan *plan);

/* ---- the transparent huge page policy of the host, resolved over all instances (thp_plan.c) ---- */

typedef struct ThpPlan {
        ThpPolicy policy;  /* THP_KEEP: nothing is changed */
        HostWrites writes; /* of that policy, the global file first */
} ThpPlan;

/* Returns the plan. For auto in [Host] the policy is never, unless an instance or its engine declares that it needs
 * more; then the weakest policy that serves all. Without instances nothing is changed. "never" in the global file does
 * not disable the per-size files and those of shared memory: if they differ, they are part of the plan (transhuge.rst).
 * With "always", defrag is kept from stalling page faults. PROBLEMS names instances that are not served, unless
 * SYSTEMD_VERSION (0: not known) serves them by their unit. */
ThpPlan thp_plan_make(Arena *arena, const Config *config, const Topology *topology,
                      unsigned systemd_version, Diags *problems);

/* ---- all ---- */

typedef struct HostPlan {
        ThpPlan thp;
        HostWrites limits;
        HostWrites writes; /* all of both */
} HostPlan;

/* Returns the plan for the host; adds what it does not solve to PROBLEMS. */
HostPlan host_plan_make(Arena *arena, const HostPlanInput *input, Diags *problems);
