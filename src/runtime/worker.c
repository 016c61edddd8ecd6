/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtime/worker.h"

#include "base/memory.h"

#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { STACK_BYTES = 256 * 1024 };

typedef struct Job Job;
struct Job {
        Job *next;
        Arena *arena;
        WorkerTask task;
        void *argument;
        WorkerDone done;
        void *userdata;
};

struct Worker {
        const void *context;
        int event_fd; /* readable when the task has ended */
        LoopIo io;
        Job *first, **end; /* the first one is running */
        bool has_thread;
        pthread_t thread;
        int error;
};

static void *work(void *argument) {
        Worker *worker = argument;
        const Job *job = worker->first;

        worker->error = job->task(worker->context, job->arena, job->argument);
        eventfd_write(worker->event_fd, 1);
        return NULL;
}

static void start(Worker *worker) {
        pthread_attr_t attributes;
        sigset_t all, before;

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

/* Waits for the end of the first job, and takes it off the list. */
static Job *finish(Worker *worker) {
        Job *job = worker->first;
        eventfd_t count;

        if (worker->has_thread)
                pthread_join(worker->thread, NULL);
        (void) eventfd_read(worker->event_fd, &count);
        worker->first = job->next;
        if (!worker->first)
                worker->end = &worker->first;
        return job;
}

/* DONE may add jobs. */
static void on_ended(void *userdata, uint32_t events UNUSED) {
        Worker *worker = userdata;
        Job *job = finish(worker);
        int error = worker->error;

        if (worker->first)
                start(worker);
        job->done(job->userdata, error, job->argument);
        arena_free(job->arena);
}

int worker_new(Loop *loop, const void *context, Worker **ret) {
        Worker *worker = memory_new(sizeof(Worker));

        *worker = (Worker){.context = context,
                           .event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
                           .end = &worker->first};
        int r = worker->event_fd < 0 ? -errno
                                     : loop_watch(loop, &worker->io, worker->event_fd, EPOLLIN,
                                                  on_ended, worker);

        if (r < 0)
                worker_free(worker);
        else
                *ret = worker;
        return r;
}

Worker *worker_free(Worker *worker) {
        if (!worker)
                return NULL;
        while (worker->first) {
                arena_free(finish(worker)->arena);
                if (worker->first)
                        start(worker);
        }
        loop_unwatch(&worker->io);
        if (worker->event_fd >= 0)
                close(worker->event_fd);
        memory_free(worker);
        return NULL;
}

bool worker_is_busy(const Worker *worker) {
        return worker->first;
}

void worker_do(Worker *worker, Arena *arena, WorkerTask task, void *argument, WorkerDone done,
               void *userdata) {
        Job *job = ARENA_NEW(arena, Job);

        *job = (Job){NULL, arena, task, argument, done, userdata};
        *worker->end = job;
        worker->end = &job->next;
        if (worker->first == job)
                start(worker);
}
