/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The clock of the programs: microseconds since boot, including suspend (CLOCK_BOOTTIME). */

#include "base/size.h"

#include <time.h>

static inline uint64_t clock_read_usec(clockid_t clock) {
        struct timespec now;

        clock_gettime(clock, &now);
        return (uint64_t) now.tv_sec * USEC_PER_SEC + (uint64_t) now.tv_nsec / 1000;
}

static inline uint64_t clock_now_usec(void) {
        return clock_read_usec(CLOCK_BOOTTIME);
}
