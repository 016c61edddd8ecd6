/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "runtime/clock.h"
#include "runtime/loop.h"
#include "support/testing.h"

#include <sys/epoll.h>
#include <unistd.h>

enum { STEPS_MAX = 64 };

/* One letter for each call, in their order. */
typedef struct Steps {
        Loop *loop;
        LoopIo io;
        LoopTimer a, b, c;
        int ends[2];
        size_t n_bytes;
        char names[STEPS_MAX + 1];
        size_t n;
} Steps;

static void note(Steps *steps, char name) {
        assert_uint_in_range(steps->n, 0, STEPS_MAX - 1);
        steps->names[steps->n++] = name;
}

static void on_a(void *userdata) {
        note(userdata, 'a');
}

static void on_b(void *userdata) {
        Steps *steps = userdata;

        note(steps, 'b');
        loop_unset(&steps->c);
}

static void on_c(void *userdata) {
        note(userdata, 'c');
}

static void on_last(void *userdata) {
        Steps *steps = userdata;

        note(steps, 'z');
        loop_end(steps->loop, 7);
}

/* Again and again, immediately. */
static void on_busy(void *userdata) {
        Steps *steps = userdata;

        note(steps, 't');
        loop_set(steps->loop, &steps->a, 0, on_busy, steps);
}

static void on_byte(void *userdata, uint32_t events) {
        Steps *steps = userdata;
        char byte;

        assert_int_equal(events, EPOLLIN);
        note(steps, 'i');
        if (steps->n >= 8) {
                assert_int_equal(read(steps->ends[0], &byte, 1), 1);
                loop_unwatch(&steps->io);
                loop_set(steps->loop, &steps->b, 0, on_last, steps);
        }
}

/* Takes one byte at a time, up to a number; if there are fewer, none. */
static void on_some(void *userdata, uint32_t events UNUSED) {
        Steps *steps = userdata;
        char byte;

        if (steps->n_bytes == SIZE_MAX)
                return;
        note(steps, 'i');
        assert_int_equal(read(steps->ends[0], &byte, 1), 1);
        steps->n_bytes--;
}

static Steps *steps_new(void) {
        Steps *steps = test_calloc(1, sizeof(Steps));

        assert_int_equal(loop_new(&steps->loop), 0);
        assert_int_equal(pipe(steps->ends), 0);
        return steps;
}

static void steps_free(Steps *steps) {
        loop_free(steps->loop);
        close(steps->ends[0]);
        close(steps->ends[1]);
        test_free(steps);
}

#define LOOP_TEST(name) TEST_WITH(name, Steps, steps_new, steps_free, steps)

/* In the order of their times. A timer that is set again fires once, and one that is unset by another's callback
 * does not fire. */
LOOP_TEST(times) {
        uint64_t now = clock_now_usec();

        loop_set(steps->loop, &steps->c, now + 3000, on_c, steps);
        loop_set(steps->loop, &steps->a, now, on_c, steps);
        loop_set(steps->loop, &steps->b, now + 2000, on_b, steps);
        loop_set(steps->loop, &steps->a, now + 1000, on_a, steps);
        assert_true(loop_is_set(&steps->a));
        LoopTimer last = {};

        loop_set(steps->loop, &last, now + 5000, on_last, steps);
        assert_int_equal(loop_run(steps->loop), 7);
        assert_text(steps->names, "abz");
        assert_false(loop_is_set(&steps->a));
        assert_true(clock_now_usec() >= now + 5000);
}

/* Timers of equal times fire in the order in which they were set, and each can be unset. */
LOOP_TEST(equal_times) {
        LoopTimer first = {}, last = {}, after = {};

        loop_set(steps->loop, &last, 5, on_last, steps);
        loop_set(steps->loop, &steps->c, 4, on_c, steps);
        loop_set(steps->loop, &steps->a, 4, on_a, steps);
        loop_set(steps->loop, &first, 0, on_b, steps);
        loop_set(steps->loop, &after, 6, on_b, steps);
        loop_unset(&first);
        loop_unset(&after);
        assert_int_equal(loop_run(steps->loop), 7);
        assert_text(steps->names, "caz");
}

/* Timers that are always due do not starve descriptors, nor the other way round. */
LOOP_TEST(turns) {
        assert_int_equal(write(steps->ends[1], "x", 1), 1);
        assert_int_equal(
                loop_watch(steps->loop, &steps->io, steps->ends[0], EPOLLIN, on_byte, steps), 0);
        loop_set(steps->loop, &steps->a, 0, on_busy, steps);
        assert_int_equal(loop_run(steps->loop), 7);
        assert_int_equal(strspn(steps->names, "ti"), steps->n - 1);
        assert_true(strstr(steps->names, "ti") && strstr(steps->names, "it"));
        assert_null(strstr(steps->names, "ii"));
}

/* Three bytes are read before the timer fires; with endless input it fires at its time. */
LOOP_TEST(after_all) {
        for (unsigned is_endless = 0; is_endless < 2; is_endless++) {
                LoopTimer last = {};

                *steps = (Steps){.loop = steps->loop,
                                 .ends = {steps->ends[0], steps->ends[1]},
                                 .n_bytes = is_endless ? SIZE_MAX : 3};
                assert_int_equal(write(steps->ends[1], "xxx", 3), 3);
                assert_int_equal(loop_watch(steps->loop, &steps->io, steps->ends[0], EPOLLIN,
                                            on_some, steps),
                                 0);
                uint64_t now = clock_now_usec();

                loop_set_after_all(steps->loop, &steps->a,
                                   is_endless ? now + 1000 : now + USEC_PER_SEC, on_a, steps);
                loop_set(steps->loop, &last, now + 3000, on_last, steps);
                assert_int_equal(loop_run(steps->loop), 7);
                assert_text(steps->names, is_endless ? "az" : "iiiaz");
                assert_true(clock_now_usec() < now + USEC_PER_SEC);
                loop_unwatch(&steps->io);
                loop_free(steps->loop);
                assert_int_equal(loop_new(&steps->loop), 0);
        }
}

LOOP_TEST(descriptors) {
        LoopIo other = {};

        assert_int_equal(loop_watch(steps->loop, &other, -1, EPOLLIN, on_byte, steps), -EBADF);
        loop_unwatch(&other); /* never watched */
        assert_int_equal(write(steps->ends[1], "x", 1), 1);
        assert_int_equal(loop_watch(steps->loop, &steps->io, steps->ends[0], 0, on_byte, steps), 0);
        loop_set(steps->loop, &steps->a, clock_now_usec() + 1000, on_last, steps);
        assert_int_equal(loop_run(steps->loop), 7);
        assert_text(steps->names, "z"); /* it does not watch for reading */
}
