/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Stores what outlives the boot. fsync(2) waits for the disk, which may hang, and the daemon's loop must not: so this
 * is done in a thread of its own, one task after another, in the order in which they came. */

#include "base/arena.h"
#include "host/root.h"
#include "runtime/loop.h"

typedef struct Disk Disk;

/* Runs in the thread, with a ROOT that nobody else uses. 0 or a negative errno. */
typedef int (*DiskTask)(const Root *root, Arena *arena, void *argument);

/* Runs in the loop once the task is done. ERROR: what the task returned. */
typedef void (*DiskDone)(void *userdata, int error, const void *argument);

/* ROOT is where the files are; LOOP must outlive the disk. Negative errno. */
int disk_new(const Root *root, Loop *loop, Disk **ret);

/* Performs what has been begun or waits for its turn; nobody is told of it any more. Takes NULL; returns NULL. */
Disk *disk_free(Disk *disk);

/* ARGUMENT is in ARENA, which is taken. Where there is no thread to be had the task is performed at once; DONE is called
 * from the loop all the same. */
void disk_do(Disk *disk, Arena *arena, DiskTask task, void *argument, DiskDone done,
             void *userdata);
