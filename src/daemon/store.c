/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/store.h"

#include "host/state.h"
#include "model/names.h"
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

static int store_file(const void *root, Arena *arena UNUSED, void *argument) {
        const Job *job = argument;

        return root_store_file(root, job->file.path, job->file.text);
}

/* A failure is logged once until a write succeeds. */
static void on_stored(void *userdata, int error, const void *argument) {
        Store *store = userdata;
        const Job *job = argument;

        if (error < 0 && !store->is_failure_logged)
                log_line(
                        LOG_WARNING,
                        "%s: %s; the learned size is in effect, but the next boot will not know it",
                        job->file.path, strerror(-error));
        store->is_failure_logged = store->is_failure_logged || error < 0;
        log_line(LOG_NOTICE, "%s (%s)", job->what, error < 0 ? "not stored" : job->file.path);
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
        worker_do(store->disk, arena, store_file, job, on_stored, store);
        return number;
}

/* ---- logins ---- */

/* Only on hosts where PAM sets limits for logins. */
static int store_limits(const void *root, Arena *arena UNUSED, void *text) {
        if (!text)
                return root_remove(root, PATH_PAM_LIMITS);
        return root_is_directory(root, PATH_PAM_SECURITY)
                       ? root_store_file(root, PATH_PAM_LIMITS, text)
                       : 0;
}

static void on_limits_stored(void *userdata, int error, const void *text) {
        LoginLimits *limits = userdata;

        limits->is_under_way = false;
        if (error < 0 && error != limits->error)
                log_line(
                        LOG_ERR,
                        "cannot %s " PATH_PAM_LIMITS
                        ": %s; logins keep the limits that they have. This is tried again after each "
                        "reload",
                        text ? "write" : "remove", strerror(-error));
        limits->error = error;
}

void login_limits_follow(LoginLimits *limits, const Keeper *keeper) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const Look *look = keeper_look(keeper);

        /* The owners are not known. */
        if (limits->is_under_way || look->fault.error < 0 || look->config->fault.error < 0 ||
            look->config->is_incomplete ||
            ARRAY_ANY(instance, look->config->instances, look->config->n_instances,
                      instance->refusal))
                return;
        char *text = limits_pam_text(arena, look->config, look->plan);

        if (text ? root_has_text(limits->root, PATH_PAM_LIMITS, text)
                 : !root_exists(limits->root, PATH_PAM_LIMITS))
                return;
        limits->is_under_way = true;
        worker_do(limits->disk, TAKE_PTR(arena), store_limits, text, on_limits_stored, limits);
}
