/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Conflicts: sources of settings that will undo what the plan does, as warnings for `hugeplanctl check`. */

#include "plan/plan.h"
#include "plan/thp_plan.h"
#include "read/setting_source.h"

typedef struct ConflictInput {
        const Config *config;
        const Topology *topology;
        const Plan *plan;
        const ThpPlan *thp;
        const SettingSources *setting_sources;
        uint64_t own_group;      /* the gid that vm.hugetlb_shm_group is to be; 0: not known */
        uint64_t replaced_group; /* the one that it is, of which check/shm_group.h tells; 0: none */
} ConflictInput;

/* Adds one problem for each entry that stands against the plan: a warning, or a notice where another
 * entry overrules it as things are, or a line only mentions huge pages. Nothing where there are no instances, and nothing for entries
 * that do no harm: the transparent huge page policy that the plan has too, shared-memory limits
 * that suffice, the group that the plan sets too, hugepages= on the kernel command line (those pages
 * count as served). Ids:
 * conflict-sysctl, conflict-tmpfiles, conflict-tuned, conflict-command-line, conflict-script. */
void conflicts_add(Arena *arena, const ConflictInput *input, Diags *problems);

/* What is to be done about an entry where it stands: "delete the line". */
const char *conflict_place_remedy(Arena *arena, const SettingSource *entry);
