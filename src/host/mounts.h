/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The hugetlbfs mounts of instances (Mount=) on a host: what has their place or is wrong with them, and the pages they
 * keep. */

#include "host/root.h"
#include "status/status.h"
#include "units/mount_unit.h"

/* The state of the host at one moment, for one unit. */
typedef struct MountSight {
        const MountTable *table;
        const char *unit_file;  /* another unit file of the same name; NULL: none */
        bool is_directory_used; /* a mount that does not exist yet would cover files */
} MountSight;

/* Returns what has the place of our mount, or NULL if nothing has. */
const Diag *mount_obstacle(Arena *arena, const MountUnit *unit, const MountSight *sight);

/* Returns how the mounted file system differs from the wanted one, or NULL if it does not or nothing is mounted. */
const Diag *mount_difference(Arena *arena, const MountUnit *unit, const MountSight *sight);

/* Adds a problem for each mount that has an obstacle, whose unit systemd does not have as this configuration
 * makes it, or whose file system has other options. */
void mounts_check(const Root *root, const MountUnits *units, Diags *problems);

/* Returns why INSTANCE must not start, REASON_MOUNT_MISSING or REASON_NONE; or, of one that does not start and has a
 * SHORTAGE, why its Mount= must not be made: min_size= would take pages of others. */
Reason mounts_judge_start(const Root *root, Arena *arena, const InstanceConfig *instance,
                          const Reason *shortage);

/* Returns the pages that the mount of INSTANCE keeps now; all zero if there is no mount. */
MountUse mounts_use(const Root *root, const InstanceConfig *instance);
