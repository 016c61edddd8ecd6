/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Limits: what a database process needs besides the pages before the kernel lets it have them.
 *
 * Only System V segments (SHM_HUGETLB, Oracle's way) need any. Since Linux 5.16 the group in
 * vm.hugetlb_shm_group alone lets them in, or CAP_IPC_LOCK; before that, RLIMIT_MEMLOCK did as well
 * (mm/hugetlb, fs/hugetlbfs/inode.c). Both are given, for who knows what a vendor's kernel has.
 * Besides that, kernel.shmmax (bytes of one segment) and kernel.shmall (base pages of all) count for
 * them. Memory that is mapped with MAP_HUGETLB needs none of it. */

#include "model/host_write.h"
#include "plan/plan.h"
#include "read/accounts.h"

/* Where the group NAME_HUGETLB_GROUP is missing. */
#define SHM_GROUP_REMEDY "run 'systemd-sysusers', then 'hugeplanctl reload'"

/* What is written besides the pools is made from this; the limits do not go by the version. */
typedef struct HostPlanInput {
        const Config *config;
        const Plan *plan;
        const Topology *topology;
        const Accounts *accounts; /* none need to be known where config_needs_group() says no */
        unsigned systemd_version; /* 0: not known */
} HostPlanInput;

/* Limits are raised where they are lower than the instances need, never lowered. The group is set
 * to ours; a group that it takes the place of is named in PROBLEMS, as is a group that is missing. */
HostWrites limits_plan_make(Arena *arena, const HostPlanInput *input, Diags *problems);

/* Bytes of the System V segments that PLAN stands for: the largest instance's, or those of all. */
uint64_t limits_sysv_bytes(const Plan *plan, bool is_sum);

/* "oracle (54321)"; the number alone where no group is known to have it. */
const char *limits_group_name(Arena *arena, const Accounts *accounts, uint64_t id);

/* The text of limits.d for logins by PAM, in kB as limits.conf(5) has it; NULL: nobody needs any. */
char *limits_pam_text(Arena *arena, const Config *config, const Plan *plan);
