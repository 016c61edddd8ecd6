/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The mount units of instances with Mount=. systemd.mount(5).
 *
 *  min_size= takes pages from the pool at the time of mounting, so a mount is ordered after the reservation of its
 * instance, and fails if that was refused: otherwise it would take pages planned for others. Mount units have no
 * ExecStartPre=; hugeplan-wait@.service is the gate of the mount. Unlike other mounts it is not ordered before
 * local-fs.target, because an instance short of pages must not delay the boot. */

#include "config/config.h"
#include "model/topology.h"
#include "read/accounts.h"
#include "read/mount_table.h"

typedef struct MountUnit {
        const InstanceConfig *instance;
        const char *name; /* "mnt-huge.mount" */
        const char *text;
        HugeMount wanted;
} MountUnit;

typedef VEC(MountUnit) MountUnits;

/* Returns whether any instance has a mount. */
bool mount_is_wanted(const Config *config);

/* Refuses each instance, by file and line, whose mount's owner does not exist: hugetlbfs takes numbers only, so names
 * must be in the account files of this host. */
void mount_check_owners(Arena *arena, Config *config, const Accounts *accounts);

/* Returns a unit for each mount that is possible on this host, in the order of the instances. */
MountUnits mount_units_make(Arena *arena, const Config *config, const Topology *topology,
                            const Accounts *accounts);

/* Returns options for mount(8): "pagesize=2M,uid=109,gid=117,mode=0770,size=...,min_size=...". */
char *huge_mount_format(Arena *arena, const HugeMount *mount);
