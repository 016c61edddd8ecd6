/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/disk.h"

#include "base/memory.h"
#include "runtime/worker.h"

#include <errno.h>
#include <sys/epoll.h>

typedef struct Job Job;
struct Job {
        Job *next;
        Arena *arena;
        DiskTask task;
        void *argument;
        DiskDone done;
        void *userdata;
};

struct Disk {
        Root *root;
        Loop *loop;
        Worker *worker;
        LoopIo io;
        LoopTimer at_once; /* the first job ran without a thread */
        int error;         /* of that job */
        Job *first, **end; /* the first one is running */
};

static int perform(void *argument) {
        const Disk *disk = argument;
        const Job *job = disk->first;

        return job->task(disk->root, job->arena, job->argument);
}

static void end_job(Disk *disk, int error);

static void on_performed(void *userdata) {
        Disk *disk = userdata;

        end_job(disk, disk->error);
}

static void on_worker(void *userdata, uint32_t events UNUSED) {
        Disk *disk = userdata;
        uint64_t usec;

        end_job(disk, worker_finish(disk->worker, &usec));
}

static void begin_job(Disk *disk) {
        if (worker_start(disk->worker, perform, disk) == 0)
                return;
        disk->error = perform(disk);
        loop_set(disk->loop, &disk->at_once, 0, on_performed, disk);
}

static Job *take_job(Disk *disk) {
        Job *job = disk->first;

        disk->first = job->next;
        if (!disk->first)
                disk->end = &disk->first;
        return job;
}

/* DONE may add jobs. */
static void end_job(Disk *disk, int error) {
        Job *job = take_job(disk);

        if (disk->first)
                begin_job(disk);
        job->done(job->userdata, error, job->argument);
        arena_free(job->arena);
}

int disk_new(const Root *root, Loop *loop, Disk **ret) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Disk *disk = memory_new(sizeof(Disk));

        *disk = (Disk){.loop = loop, .end = &disk->first};
        int r = root_open(root_path(arena, root, "/"), &disk->root);

        if (r >= 0 && !(disk->worker = worker_new()))
                r = -errno;
        if (r >= 0)
                r = loop_watch(loop, &disk->io, worker_fd(disk->worker), EPOLLIN, on_worker, disk);
        if (r < 0)
                disk_free(disk);
        else
                *ret = disk;
        return r;
}

Disk *disk_free(Disk *disk) {
        uint64_t usec;

        if (!disk)
                return NULL;
        for (bool is_performed = true; disk->first; is_performed = false) {
                if (!is_performed)
                        perform(disk);
                else if (worker_is_busy(disk->worker))
                        worker_finish(disk->worker, &usec);
                arena_free(take_job(disk)->arena);
        }
        loop_unset(&disk->at_once);
        loop_unwatch(&disk->io);
        worker_free(disk->worker);
        root_free(disk->root);
        memory_free(disk);
        return NULL;
}

void disk_do(Disk *disk, Arena *arena, DiskTask task, void *argument, DiskDone done,
             void *userdata) {
        Job *job = ARENA_NEW(arena, Job);

        *job = (Job){NULL, arena, task, argument, done, userdata};
        *disk->end = job;
        disk->end = &job->next;
        if (disk->first == job)
                begin_job(disk);
}
