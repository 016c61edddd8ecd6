/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Performs one operation at a time in a thread of its own: reserving and compacting take from
 * milliseconds to minutes in one write(2), and the daemon's loop has clients, signals and a
 * watchdog to serve meanwhile. */

#include "apply/apply.h"

typedef struct WriteWorker WriteWorker;

/* NULL with errno set. */
WriteWorker *write_worker_new(void);

/* Waits for what is under way. Takes NULL; returns NULL. */
WriteWorker *write_worker_free(WriteWorker *worker);

/* Becomes readable when the operation is done. */
int write_worker_fd(const WriteWorker *worker);

bool write_worker_is_busy(const WriteWorker *worker);

/* Starts OPERATION, which must live until it is done. Negative errno; -EBUSY while another runs. */
int write_worker_start(WriteWorker *worker, const Root *root, const ApplyOperation *operation);

/* Takes the result of the operation that is done, waiting for it if need be: what apply_perform()
 * said, and how long it took. */
int write_worker_finish(WriteWorker *worker, uint64_t *ret_usec);
