/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* vm.hugetlb_shm_group can name one group, and the plan makes that ours: who is let in by another one
 * today has to be told before, and once. */

#include "check/host_facts.h"
#include "read/accounts.h"
#include "read/setting_source.h"

typedef struct ShmGroupInput {
        const Config *config;
        const Topology *topology; /* the group as it is */
        const HostFacts *facts;   /* who owns the instances */
        const Accounts *accounts;
        const SettingSources *setting_sources;
} ShmGroupInput;

/* The group that the plan replaces; 0: none. */
uint64_t shm_group_replaced(const ShmGroupInput *input);

/* Adds shm-group-replaced, at the line that sets the group of today where one explains it: an error
 * where the owner of an instance is in that group and not in ours, so that a database started by hand
 * would lose its huge pages; else a warning. */
void shm_group_judge(Arena *arena, const ShmGroupInput *input, Diags *problems);
