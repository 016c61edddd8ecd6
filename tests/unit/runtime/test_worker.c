/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Tasks in a thread, one at a time. Linked with --wrap=pthread_create. */

#include "runtime/worker.h"
#include "support/testing.h"

#include "base/size.h"
#include "host/root.h"
#include "support/tree.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>

static int thread_error; /* the error of pthread_create(3); 0: none */

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*work)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*work)(void *), void *argument);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*work)(void *), void *argument) {
        return thread_error > 0 ? thread_error
                                : __real_pthread_create(thread, attributes, work, argument);
}

/* What is written where. */
typedef struct Write {
        const Root *root;
        const char *path, *text;
} Write;

static int perform(void *argument) {
        const Write *write = argument;

        return root_write_attribute(write->root, write->path, write->text);
}

static bool is_readable(const Worker *worker, int timeout_msec) {
        struct pollfd fd = {.fd = worker_fd(worker), .events = POLLIN};

        return poll(&fd, 1, timeout_msec) == 1;
}

/* The loop sleeps until the task has ended, and gets its result. Then the next task can start. */
TREE_TEST(one_at_a_time) {
        Write operation = {tree->root, "/pool", "42\n"}, failing = {tree->root, "/none", "1\n"};
        Worker *worker = worker_new();
        uint64_t usec = UINT64_MAX;

        tree_write(tree, "/pool", "0\n");
        assert_false(worker_is_busy(worker));
        assert_false(is_readable(worker, 0));
        worker_start(worker, perform, &operation);
        assert_true(worker_is_busy(worker));
        assert_true(is_readable(worker, 10000));
        assert_int_equal(worker_finish(worker, &usec), 0);
        assert_uint_in_range(usec, 0, 60 * USEC_PER_SEC);
        assert_text(tree_read(tree, "/pool"), "42\n");
        assert_false(worker_is_busy(worker));
        assert_false(is_readable(worker, 0));
        worker_start(worker, perform, &failing);
        assert_int_equal(worker_finish(worker, &usec), -ENOENT);
        assert_null(worker_free(worker));
}

/* No task is in progress when a worker is freed. */
TREE_TEST(free_waits) {
        Write operation = {tree->root, "/pool", "42\n"};

        for (int i = 0; i < 20; i++) {
                Worker *worker = worker_new();

                tree_write(tree, "/pool", "0\n");
                worker_start(worker, perform, &operation);
                worker_free(worker);
                assert_text(tree_read(tree, "/pool"), "42\n");
        }
        assert_null(worker_free(NULL));
}

/* Signals belong to the loop: they are blocked in the thread. */
TREE_TEST(signals) {
        Write operation = {tree->root, "/pool", "42\n"};
        Worker *worker = worker_new();
        sigset_t mask;
        uint64_t usec;

        tree_write(tree, "/pool", "0\n");
        worker_start(worker, perform, &operation);
        pthread_sigmask(SIG_SETMASK, NULL, &mask);
        assert_false(sigismember(&mask, SIGTERM));
        worker_finish(worker, &usec);
        worker_free(worker);
}

/* Without a thread the task is performed in the loop. */
TREE_TEST(no_thread) {
        Write operation = {tree->root, "/pool", "42\n"};
        Worker *worker = worker_new();
        sigset_t mask;
        uint64_t usec;

        tree_write(tree, "/pool", "0\n");
        thread_error = EAGAIN;
        worker_start(worker, perform, &operation);
        thread_error = 0;
        assert_true(worker_is_busy(worker));
        assert_true(is_readable(worker, 0));
        pthread_sigmask(SIG_SETMASK, NULL, &mask);
        assert_false(sigismember(&mask, SIGTERM));
        assert_text(tree_read(tree, "/pool"), "42\n");
        assert_int_equal(worker_finish(worker, &usec), 0);
        assert_false(worker_is_busy(worker));
        assert_false(is_readable(worker, 0));
        worker_free(worker);
}
