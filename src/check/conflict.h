/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Conflicts: sources of settings that will undo parts of the plan, as warnings for `hugeplanctl check`. */

#include "check/host_view.h"

/* Adds one problem for each entry that conflicts with the plan: a warning, or a notice if another entry overrides it at
 * present or a line only mentions huge pages. Adds nothing without instances, or for entries that do no harm: the
 * plan's transparent huge page policy, shared-memory limits that suffice, the group that the plan sets too, hugepages=
 * on the kernel command line (its pages count for the plan). Ids: conflict-sysctl, conflict-tmpfiles, conflict-tuned,
 * conflict-command-line, conflict-script.
 *
 * Adds shm-group-replaced, at the line that sets the present group if there is one: an error if the owner of an
 * instance is in that group and not in hugeplan's, so that a database started by hand would lose its huge pages; else a
 * warning. */
void conflicts_add(Arena *arena, const HostView *view, Diags *problems);

/* Returns the remedy for an entry at its place: "delete the line". */
const char *conflict_place_remedy(Arena *arena, const SettingSource *entry);
