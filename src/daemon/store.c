/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/store.h"

#include "host/state.h"
#include "runtime/log.h"

#include <string.h>

typedef struct Job {
        LearnedFile file;
        const char *what; /* in words, for the log */
        bool is_preference;
        uint64_t number;
        StoreHandler handler;
        void *userdata;
} Job;

static int store_file(const Root *root, Arena *arena UNUSED, void *argument) {
        const Job *job = argument;

        return learned_file_store(root, &job->file);
}

/* A failure is logged once until a write succeeds. */
static void on_stored(void *userdata, int error, const void *argument) {
        Store *store = userdata;
        const Job *job = argument;

        if (error < 0 && !store->is_failure_logged)
                log_line(LOG_WARNING,
                         "%s: %s; what is learned counts, and the next boot will not know it",
                         job->file.path, strerror(-error));
        store->is_failure_logged = store->is_failure_logged || error < 0;
        log_line(LOG_NOTICE, "%s (%s)", job->what, error < 0 ? "not kept" : job->file.path);
        if (error == 0 && job->is_preference)
                store->on_preference(store->userdata);
        if (job->handler)
                job->handler(job->userdata, job->number, error);
}

uint64_t store_learned(Store *store, const InstanceConfig *instance, const Learned *learned,
                       bool is_preference, StoreHandler handler, void *userdata) {
        Arena *arena = arena_new();
        Job *job = ARENA_NEW(arena, Job);
        uint64_t number = ++store->n;

        *job = (Job){
                .file = learned_file(arena, instance, learned),
                .what = learned_describe(arena, instance, learned),
                .is_preference = is_preference,
                .number = number,
                .handler = handler,
                .userdata = userdata,
        };
        disk_do(store->disk, arena, store_file, job, on_stored, store);
        return number;
}
