/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtime/deadline.h"

#include "runtime/clock.h"

#include <poll.h>

uint64_t deadline_in(uint64_t timeout_usec) {
        return add_saturated(clock_now_usec(), timeout_usec);
}

uint64_t deadline_left_usec(uint64_t deadline_usec) {
        return deadline_usec == UINT64_MAX ? UINT64_MAX
                                           : sub_floored(deadline_usec, clock_now_usec());
}

int deadline_poll(int fd, short events, uint64_t deadline_usec) {
        struct pollfd waiting = {.fd = fd, .events = events};

        for (;;) {
                uint64_t left_usec = deadline_left_usec(deadline_usec);
                struct timespec left = {
                        .tv_sec = (time_t) (left_usec / USEC_PER_SEC),
                        .tv_nsec = (long) (left_usec % USEC_PER_SEC * 1000),
                };
                int n = ppoll(&waiting, 1, left_usec == UINT64_MAX ? NULL : &left, NULL);

                if (n > 0)
                        return 0;
                if (n == 0)
                        return -ETIMEDOUT;
                if (errno != EINTR)
                        return -errno;
        }
}
