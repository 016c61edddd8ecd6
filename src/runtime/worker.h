/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A thread that runs tasks, one after another in the order of their calls, so that the daemon's loop can serve clients,
 * signals and the watchdog meanwhile: reserving and compacting take from milliseconds to minutes in one write(2), and
 * fsync(2) hangs with the disk. */

#include "base/arena.h"
#include "runtime/loop.h"

typedef struct Worker Worker;

/* Runs in the thread, with the worker's CONTEXT. Returns 0 or a negative errno. */
typedef int (*WorkerTask)(const void *context, Arena *arena, void *argument);

/* Runs in the loop after the task. ERROR is what the task returned. */
typedef void (*WorkerDone)(void *userdata, int error, const void *argument);

/* LOOP and CONTEXT must outlive the worker. Returns 0 or a negative errno. */
int worker_new(Loop *loop, const void *context, Worker **ret);

/* Finishes all tasks without calling their DONE. Takes NULL; returns NULL. */
Worker *worker_free(Worker *worker);

/* Whether a task has not ended yet, or its DONE was not called. */
bool worker_is_busy(const Worker *worker);

/* Takes ownership of ARENA, in which ARGUMENT is. If no thread can be created the task runs at once: the loop has to
 * wait, but the task is done. */
void worker_do(Worker *worker, Arena *arena, WorkerTask task, void *argument, WorkerDone done,
               void *userdata);
