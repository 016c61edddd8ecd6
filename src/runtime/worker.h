/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A thread that runs one task at a time, so that the daemon's loop can serve clients, signals and the watchdog
 * meanwhile: reserving and compacting take from milliseconds to minutes in one write(2), and fsync(2) hangs with the
 * disk. */

#include "base/size.h"

typedef struct Worker Worker;

/* Runs in the thread. Returns 0 or a negative errno. */
typedef int (*WorkerTask)(void *argument);

/* Returns NULL with errno set on failure. */
Worker *worker_new(void);

/* Waits for the running task. Takes NULL; returns NULL. */
Worker *worker_free(Worker *worker);

/* Returns a descriptor that becomes readable when the task is done. */
int worker_fd(const Worker *worker);

bool worker_is_busy(const Worker *worker);

/* Starts TASK with ARGUMENT, which must live until the task is done; no other task may be running. If no thread can be
 * created the task runs at once: the loop has to wait, but the task is done. */
void worker_start(Worker *worker, WorkerTask task, void *argument);

/* Waits for the end of the task. Returns what the task has returned, and its duration in *RET_USEC. */
int worker_finish(Worker *worker, uint64_t *ret_usec);
