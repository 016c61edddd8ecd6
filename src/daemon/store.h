/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Stores what outlives the boot: the learned sizes of instances (host/state.h), and memlock limits for logins of database
 * owners (PATH_PAM_LIMITS), to which drop-ins of units do not apply. */

#include "demand/learned.h"
#include "keeper/keeper.h"
#include "runtime/worker.h"

/* NUMBER is that of store_learned(). ERROR is 0 or a negative errno; then the next boot will not know the size. */
typedef void (*StoreHandler)(void *userdata, uint64_t number, int error);

typedef struct Store {
        Worker *disk;
        void (*on_preference)(
                void *userdata); /* a file has another preference for transparent huge pages */
        void *userdata;
        uint64_t n;
        bool is_failure_logged;
} Store;

/* Stores LEARNED for INSTANCE. IS_PREFERENCE: on_preference() is called after that. HANDLER (or NULL) is called from
 * the loop. Returns the number of the write, never 0. */
uint64_t store_learned(Store *store, const InstanceConfig *instance, const Learned *learned,
                       bool is_preference, StoreHandler handler, void *userdata);

typedef struct LoginLimits {
        const Root *root;
        Worker *disk;
        bool is_under_way;
        int error; /* of the last write; logged once */
} LoginLimits;

/* Writes the file, or removes it if no instance needs it; leaves it alone if the configuration or the host could not be
 * read. Called after each round, so that a failed write is tried again. */
void login_limits_follow(LoginLimits *limits, const Keeper *keeper);
