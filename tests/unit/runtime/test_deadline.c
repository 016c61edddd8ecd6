/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "base/size.h"
#include "runtime/clock.h"
#include "runtime/deadline.h"
#include "support/testing.h"

#include <poll.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

TEST(never) {
        assert_true(deadline_in(UINT64_MAX) == UINT64_MAX);
        assert_true(deadline_left_usec(UINT64_MAX) == UINT64_MAX);
        assert_int_equal(deadline_left_usec(0), 0);
        assert_int_equal(deadline_left_usec(clock_now_usec()), 0);
        assert_uint_in_range(deadline_left_usec(deadline_in(60 * USEC_PER_SEC)), 1,
                             60 * USEC_PER_SEC);
}

/* Readable data is seen even if the deadline has passed. */
TEST(ready) {
        int ends[2];

        assert_int_equal(pipe(ends), 0);
        assert_int_equal(deadline_poll(ends[0], POLLIN, 0), -ETIMEDOUT);
        assert_int_equal(deadline_poll(ends[1], POLLOUT, UINT64_MAX), 0);
        assert_int_equal(write(ends[1], "x", 1), 1);
        assert_int_equal(deadline_poll(ends[0], POLLIN, 0), 0);
        close(ends[1]);
        assert_int_equal(deadline_poll(ends[0], POLLIN, UINT64_MAX), 0);
        close(ends[0]);
}

static void on_alarm(int number) {
        (void) number;
}

/* The wait ends neither early because of signals, nor never. */
TEST(in_time) {
        const struct sigaction noted = {.sa_handler = on_alarm};
        const struct itimerval often = {{0, 5000}, {0, 5000}}, off = {};
        uint64_t deadline_usec = deadline_in(50 * USEC_PER_MSEC);
        int ends[2];

        assert_int_equal(pipe(ends), 0);
        sigaction(SIGALRM, &noted, NULL);
        setitimer(ITIMER_REAL, &often, NULL);
        assert_int_equal(deadline_poll(ends[0], POLLIN, deadline_usec), -ETIMEDOUT);
        setitimer(ITIMER_REAL, &off, NULL);
        assert_true(clock_now_usec() >= deadline_usec);
        close(ends[0]);
        close(ends[1]);
}
