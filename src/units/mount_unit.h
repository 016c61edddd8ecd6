/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The mount units of instances with Mount=. systemd.mount(5).
 *
 * min_size= takes pages out of what all may have at the moment of mounting, so a mount comes after
 * the reservation of its own instance, and not at all where that was refused: it would take what was
 * reserved for others. Mount units have no ExecStartPre=; hugeplan-wait@.service is the gate of the
 * mount. Not before local-fs.target, as mounts usually are: one short instance must not hold up the
 * boot. */

#include "config/config.h"
#include "config/mount_config.h"
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

typedef struct MountUnitInput {
        const Config *config;
        const Topology *topology;
        const Accounts *accounts;
} MountUnitInput;

/* Whether any instance has a mount. */
bool mount_is_wanted(const Config *config);

/* An instance whose mount's owner does not exist becomes invalid, by file and line: hugetlbfs takes
 * numbers only, which have to be found in the files of this host. */
void mount_check_owners(Arena *arena, Config *config, const Accounts *accounts);

/* One for each mount that can be made on this host, in the order of the instances. */
MountUnits mount_units_make(Arena *arena, const MountUnitInput *input);

/* ---- whether it can be there, and is ---- */

/* What was found on the host at one moment, for one unit. */
typedef struct MountSight {
        const MountTable *table;
        const char *unit_file; /* an administrator's, or a package's, of the same name; NULL: none */
        unsigned fstab_line;   /* 0: none */
        bool is_directory_used; /* what is not mounted yet would be mounted over files */
} MountSight;

/* What is there instead of our mount, which is then left alone; NULL: nothing is in its way. */
const Diag *mount_obstacle(Arena *arena, const MountUnit *unit, const MountSight *sight);

/* How what is mounted differs from what is wanted; NULL: it does not, or nothing is mounted. */
const Diag *mount_difference(Arena *arena, const MountUnit *unit, const MountSight *sight);
