/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Stores what is known of instances from their starts, for the next boot (state/learned_file.h). */

#include "daemon/disk.h"
#include "demand/learned.h"

/* NUMBER is what store_learned() gave. ERROR: 0, or a negative errno: the next boot will not know it. */
typedef void (*StoreHandler)(void *userdata, uint64_t number, int error);

typedef struct Store {
        Disk *disk;
        void (*on_preference)(
                void *userdata); /* another preference for transparent huge pages is in a file now */
        void *userdata;
        uint64_t n;
        bool is_failure_told;
} Store;

/* LEARNED, all that is known of INSTANCE; IS_PREFERENCE: on_preference() is called once it is there. HANDLER (NULL: nobody) is called from the loop. Its number, never 0. */
uint64_t store_learned(Store *store, const InstanceConfig *instance, const Learned *learned,
                       bool is_preference, StoreHandler handler, void *userdata);
