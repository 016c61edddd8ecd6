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
        Worker *worker;
        LoopIo io;
        Job *first, **end; /* the first one is running */
};

static int perform(void *argument) {
        const Disk *disk = argument;
        const Job *job = disk->first;

        return job->task(disk->root, job->arena, job->argument);
}

static Job *take_job(Disk *disk) {
        Job *job = disk->first;

        disk->first = job->next;
        if (!disk->first)
                disk->end = &disk->first;
        return job;
}

/* DONE may add jobs. */
static void on_worker(void *userdata, uint32_t events UNUSED) {
        Disk *disk = userdata;
        uint64_t usec;
        int error = worker_finish(disk->worker, &usec);
        Job *job = take_job(disk);

        if (disk->first)
                worker_start(disk->worker, perform, disk);
        job->done(job->userdata, error, job->argument);
        arena_free(job->arena);
}

int disk_new(const Root *root, Loop *loop, Disk **ret) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Disk *disk = memory_new(sizeof(Disk));

        *disk = (Disk){.end = &disk->first};
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
        for (bool is_running = true; disk->first; is_running = false) {
                if (is_running)
                        worker_finish(disk->worker, &usec);
                else
                        perform(disk);
                arena_free(take_job(disk)->arena);
        }
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
                worker_start(disk->worker, perform, disk);
}
