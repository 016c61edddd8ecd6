/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The hugetlbfs mounts of instances (Mount=) on a host: their units, what is in their way or wrong with
 * them, and the pages they keep. */

#include "host/root.h"
#include "status/status.h"
#include "units/mount_unit.h"

/* Returns the mount units of CONFIG on this host; they refer to CONFIG. */
MountUnits mounts_of(const Root *root, Arena *arena, const Config *config,
                     const Topology *topology);

/* Returns why UNIT cannot be generated (another unit file, a line of fstab, another file system), or NULL if it can.
 * Files in the directory do not count here, because the unit itself refuses to cover them. */
const Diag *mounts_obstacle(const Root *root, Arena *arena, const MountUnit *unit);

/* Returns the state of the host for UNIT; TABLE has its mounts. */
MountSight mounts_look(const Root *root, Arena *arena, const MountTable *table,
                       const MountUnit *unit);

/* Returns how the mounted file system differs from the wanted one, or NULL if it does not or nothing is mounted. */
const Diag *mount_difference(Arena *arena, const MountUnit *unit, const MountSight *sight);

/* Adds a problem for each mount that has an obstacle, whose unit systemd does not have as this configuration
 * makes it, or whose file system has other options. */
void mounts_check(const Root *root, const MountUnits *units, Diags *problems);

/* Returns why INSTANCE must not start, REASON_MOUNT_MISSING or REASON_NONE; or, of one that does not start and has a
 * SHORTAGE, why its Mount= must not be made: min_size= would take pages of others. */
Reason mounts_judge_start(const Root *root, Arena *arena, const InstanceConfig *instance,
                          const Reason *shortage);

/* Reads all mounts of the host. */
MountTable mounts_read(const Root *root, Arena *arena);

/* Returns the pages that the mount of INSTANCE keeps now; all zero if there is no mount. */
MountUse mounts_use(const Root *root, const InstanceConfig *instance);
