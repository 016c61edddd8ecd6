/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The files of one process below /proc, as whoever looks at processes reads them; the processes of a unit, and whether
 * this one is among them. */

#include "host/root.h"
#include "host/unit_cgroup.h"
#include "read/process.h"

/* Whether a file could not be read because its process has ended, or never was. */
static inline bool process_file_is_gone(int error) {
        return error == -ENOENT || error == -ESRCH;
}

/* The file NAME of the process PID (0: this one), as root_read_kernel_file() reads it: up to MAX bytes, allocated in
 * ARENA; *RET is NULL where it returns a negative errno. RET_SIZE may be NULL. */
int process_file_read(const Root *root, Arena *arena, uint64_t pid, const char *name, size_t max,
                      char **ret, size_t *ret_size);

/* The status of the process PID; a negative errno where it cannot be read, or is none. */
int process_read_status(const Root *root, Arena *arena, uint64_t pid, Process *ret);

/* The devices of the hugetlbfs mounts that the process PID (0: this one) sees; none where that cannot be read. */
Devices process_file_hugetlbfs(const Root *root, Arena *arena, uint64_t pid);

typedef VEC(uint64_t) ProcessIds;

/* The processes of the control group GROUP of a unit (NULL: none) and of those below it, each group's in the kernel's
 * order, in which they joined it (of a legacy hierarchy: by number). Without what systemd runs for it (".control"). */
ProcessIds unit_cgroup_processes(const Root *root, Arena *arena, const char *group);

/* Whether this process is of UNIT, be control groups mounted where it runs or not. */
bool unit_cgroup_is_own(const Root *root, const char *unit);

/* The control group of UNIT in the unified hierarchy, when this very process runs in it or below, as
 * ExecStartPre= does: "/sys/fs/cgroup/system.slice/mariadb.service", the unit's own also where its
 * processes are in subgroups (Delegate=). UNIT may be an alias. NULL where it runs elsewhere. */
char *unit_cgroup_own(const Root *root, Arena *arena, const char *unit);
