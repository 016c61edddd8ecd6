/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The hugetlbfs mounts of instances (Mount=) on a host: what they are to be, whether they can be and
 * are so, and what they keep. */

#include "host/root.h"
#include "status/status.h"
#include "units/mount_unit.h"

/* The units that CONFIG asks for on this host; refers to CONFIG. */
MountUnits mounts_of(const Root *root, Arena *arena, const Config *config,
                     const Topology *topology);

/* What keeps one from being generated: somebody's own unit, a line of fstab, another file system.
 * NULL: nothing. Files in the directory do not, this early; the unit itself refuses to cover them. */
const Diag *mounts_obstacle(const Root *root, Arena *arena, const MountUnit *unit);

/* Adds what is wrong with mounts: something is in the way, systemd does not have the unit of this
 * configuration, or what is mounted is another. */
void mounts_check(const Root *root, const MountUnits *units, Diags *problems);

/* Why INSTANCE must not start now: nothing is mounted where Mount= wants it; REASON_NONE: it may. */
Reason mounts_judge_start(const Root *root, Arena *arena, const InstanceConfig *instance);

/* All that is mounted here. */
MountTable mounts_read(const Root *root, Arena *arena);

/* What the mount of INSTANCE keeps now; all zero where there is none. */
MountUse mounts_use(const Root *root, const InstanceConfig *instance);
