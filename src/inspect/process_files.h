/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The files of one process below /proc; the processes of a unit, and whether this process is among them; and all
 * running processes, with name, arguments and unit. */

#include "engines/finder.h"
#include "host/root.h"
#include "host/unit_cgroup.h"
#include "read/process.h"

/* Returns whether ERROR means that the process has ended or never existed. */
static inline bool process_file_is_gone(int error) {
        return error == -ENOENT || error == -ESRCH;
}

/* Reads the file NAME of the process PID (0: this one) with root_read_kernel_file(): up to MAX bytes, allocated in
 * ARENA. Returns a negative errno on failure, with *RET set to NULL. RET_SIZE may be NULL. */
int process_file_read(const Root *root, Arena *arena, uint64_t pid, const char *name, size_t max,
                      char **ret, size_t *ret_size);

/* Reads the status of the process PID. Returns a negative errno if the file cannot be read or is incomplete. */
int process_read_status(const Root *root, Arena *arena, uint64_t pid, Process *ret);

/* Returns the devices of the hugetlbfs mounts that the process PID (0: this one) sees; none if they cannot be read. */
Devices process_file_hugetlbfs(const Root *root, Arena *arena, uint64_t pid);

typedef VEC(uint64_t) ProcessIds;

/* Returns the processes of GROUP, a unit's control group (NULL: none), and of those below it, each group's in the order
 * of joining (in a legacy hierarchy: by number), without systemd's own for the unit (".control"). */
ProcessIds unit_cgroup_processes(const Root *root, Arena *arena, const char *group);

/* Returns whether this process belongs to UNIT; control groups need not be mounted. */
bool unit_cgroup_is_own(const Root *root, const char *unit);

/* Returns the control group of UNIT in the unified hierarchy if this process runs in it or below, as ExecStartPre=
 * does: "/sys/fs/cgroup/system.slice/mariadb.service", the unit's own even if its processes are in subgroups
 * (Delegate=). Returns NULL if this process runs elsewhere. UNIT may be an alias. */
char *unit_cgroup_own(const Root *root, Arena *arena, const char *unit);

/* Returns the readable processes that have arguments, so that kernel threads are left out. */
Processes processes_list(const Root *root, Arena *arena);
