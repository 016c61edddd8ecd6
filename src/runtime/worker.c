/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtime/worker.h"

#include "base/memory.h"
#include "runtime/clock.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { STACK_BYTES = 256 * 1024 };

struct Worker {
        int event_fd;
        bool is_busy, has_thread;
        pthread_t thread;
        WorkerTask task;
        void *argument;
        int error;
        uint64_t usec;
};

Worker *worker_new(void) {
        Worker *worker = memory_new(sizeof(Worker));

        worker->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (worker->event_fd < 0) {
                memory_free(worker);
                return NULL;
        }
        return worker;
}

Worker *worker_free(Worker *worker) {
        uint64_t usec;

        if (!worker)
                return NULL;
        if (worker->is_busy)
                worker_finish(worker, &usec);
        close(worker->event_fd);
        memory_free(worker);
        return NULL;
}

int worker_fd(const Worker *worker) {
        return worker->event_fd;
}

bool worker_is_busy(const Worker *worker) {
        return worker->is_busy;
}

static void *work(void *argument) {
        Worker *worker = argument;
        uint64_t start = clock_now_usec();

        worker->error = worker->task(worker->argument);
        worker->usec = clock_now_usec() - start;
        eventfd_write(worker->event_fd, 1);
        return NULL;
}

void worker_start(Worker *worker, WorkerTask task, void *argument) {
        pthread_attr_t attributes;
        sigset_t all, before;

        worker->is_busy = true;
        worker->task = task;
        worker->argument = argument;
        /* The task runs with all signals blocked: the loop handles them, and one would cut a write(2) short. */
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, STACK_BYTES);
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        worker->has_thread = pthread_create(&worker->thread, &attributes, work, worker) == 0;
        if (!worker->has_thread)
                work(worker);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        pthread_attr_destroy(&attributes);
}

int worker_finish(Worker *worker, uint64_t *ret_usec) {
        eventfd_t count;

        if (worker->has_thread)
                pthread_join(worker->thread, NULL);
        (void) eventfd_read(worker->event_fd, &count);
        worker->is_busy = false;
        *ret_usec = worker->usec;
        return worker->error;
}
