/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Writes files that outlive the boot. fsync(2) may hang with the disk, and the daemon's loop must not, so a thread runs
 * these tasks, one after another in the order of their calls. */

#include "base/arena.h"
#include "host/root.h"
#include "runtime/loop.h"

typedef struct Disk Disk;

/* Runs in the thread with a ROOT of its own. Returns 0 or a negative errno. */
typedef int (*DiskTask)(const Root *root, Arena *arena, void *argument);

/* Runs in the loop after the task. ERROR is what the task returned. */
typedef void (*DiskDone)(void *userdata, int error, const void *argument);

/* ROOT is where the files are; LOOP must outlive the disk. Returns 0 or a negative errno. */
int disk_new(const Root *root, Loop *loop, Disk **ret);

/* Finishes all tasks without calling their DONE. Takes NULL; returns NULL. */
Disk *disk_free(Disk *disk);

/* Takes ownership of ARENA, in which ARGUMENT is. */
void disk_do(Disk *disk, Arena *arena, DiskTask task, void *argument, DiskDone done,
             void *userdata);
