/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Conflicts: sources of settings that will undo what the plan does, as warnings for `hugeplanctl check`. */

#include "check/host_facts.h"
#include "plan/plan.h"
#include "plan/thp_plan.h"
#include "read/accounts.h"
#include "read/setting_source.h"

typedef struct ConflictInput {
        const Config *config;
        const Topology *topology; /* vm.hugetlb_shm_group as it is */
        const Plan *plan;
        const ThpPlan *thp;
        const SettingSources *setting_sources;
        const HostFacts *facts;   /* who owns the instances */
        const Accounts *accounts; /* NULL: not known */
} ConflictInput;

/* Adds one problem for each entry that stands against the plan: a warning, or a notice where another entry overrules it
 * as things are, or a line only mentions huge pages. Nothing where there are no instances, and nothing for entries that
 * do no harm: the transparent huge page policy that the plan has too, shared-memory limits that suffice, the group that
 * the plan sets too, hugepages= on the kernel command line (those pages count as served). Ids: conflict-sysctl,
 * conflict-tmpfiles, conflict-tuned, conflict-command-line, conflict-script.
 *
 * Adds shm-group-replaced, at the line that sets the group of today where one explains it: an error where the owner of
 * an instance is in that group and not in ours, so that a database started by hand would lose its huge pages; else a
 * warning. */
void conflicts_add(Arena *arena, const ConflictInput *input, Diags *problems);

/* What is to be done about an entry where it stands: "delete the line". */
const char *conflict_place_remedy(Arena *arena, const SettingSource *entry);
