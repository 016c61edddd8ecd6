/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A thread that performs one task at a time. Reserving and compacting take from milliseconds to minutes in one
 * write(2), and a disk that hangs holds fsync(2); the daemon's loop has clients, signals and a watchdog to serve
 * meanwhile. */

#include "base/size.h"

typedef struct Worker Worker;

/* Runs in the thread. Returns 0 or a negative errno. */
typedef int (*WorkerTask)(void *argument);

/* NULL with errno set. */
Worker *worker_new(void);

/* Waits for the task that is under way. Takes NULL; returns NULL. */
Worker *worker_free(Worker *worker);

/* Becomes readable when the task is done. */
int worker_fd(const Worker *worker);

bool worker_is_busy(const Worker *worker);

/* Starts TASK with ARGUMENT, which must live until the task is done. Negative errno; -EBUSY while another task
 * runs. */
int worker_start(Worker *worker, WorkerTask task, void *argument);

/* Takes what the task has returned, and how long it took, waiting for its end if need be. */
int worker_finish(Worker *worker, uint64_t *ret_usec);
