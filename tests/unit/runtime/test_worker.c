/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Tasks in a thread, one after another. Linked with --wrap=pthread_create. */

#include "runtime/worker.h"
#include "support/testing.h"

#include "base/size.h"
#include "host/root.h"
#include "support/tree.h"

#include <errno.h>
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

typedef struct Write {
        const char *path, *text;
} Write;

static Write writes[] = {{"/pool", "1\n"}, {"/none", "2\n"}, {"/pool", "3\n"}};

/* Signals belong to the loop: they are blocked in the thread. */
static int perform(const void *root, Arena *arena UNUSED, void *argument) {
        const Write *write = argument;
        sigset_t mask;

        pthread_sigmask(SIG_SETMASK, NULL, &mask);
        return sigismember(&mask, SIGTERM) ? root_write_attribute(root, write->path, write->text)
                                           : -EINTR;
}

typedef struct Case {
        Loop *loop;
        Worker *worker;
        size_t ended;
} Case;

/* The results come in order. The loop ends with the last one. */
static void on_end(void *userdata, int error, const void *argument) {
        Case *data = userdata;

        assert_ptr_equal(argument, &writes[data->ended]);
        assert_int_equal(error, data->ended == 1 ? -ENOENT : 0);
        assert_true(worker_is_busy(data->worker) == (++data->ended < ARRAY_LEN(writes)));
        if (data->ended == ARRAY_LEN(writes))
                loop_end(data->loop, 0);
}

static Case start(const Tree *tree) {
        Case data = {0};

        tree_write(tree, "/pool", "0\n");
        assert_int_equal(loop_new(&data.loop), 0);
        assert_int_equal(worker_new(data.loop, tree->root, &data.worker), 0);
        assert_false(worker_is_busy(data.worker));
        return data;
}

static void add_all(Case *data) {
        sigset_t mask;

        for (size_t i = 0; i < ARRAY_LEN(writes); i++)
                worker_do(data->worker, arena_new(), perform, &writes[i], on_end, data);
        assert_true(worker_is_busy(data->worker));
        pthread_sigmask(SIG_SETMASK, NULL, &mask);
        assert_false(sigismember(&mask, SIGTERM));
}

static void end(const Tree *tree, Case *data, size_t ended) {
        assert_null(worker_free(data->worker));
        assert_int_equal(data->ended, ended);
        assert_text(tree_read(tree, "/pool"), "3\n");
        loop_free(data->loop);
}

/* The loop sleeps until a task has ended, and gets its result. Then the next task starts. */
TREE_TEST(in_order) {
        Case data = start(tree);

        add_all(&data);
        assert_int_equal(loop_run(data.loop), 0);
        end(tree, &data, ARRAY_LEN(writes));
}

/* All tasks are done when a worker is freed, and nobody is told. */
TREE_TEST(free_waits) {
        for (int i = 0; i < 20; i++) {
                Case data = start(tree);

                add_all(&data);
                end(tree, &data, 0);
        }
        assert_null(worker_free(NULL));
}

/* Without a thread the tasks are performed in the loop. */
TREE_TEST(no_thread) {
        Case data = start(tree);

        thread_error = EAGAIN;
        add_all(&data);
        assert_text(tree_read(tree, "/pool"), "1\n");
        assert_int_equal(loop_run(data.loop), 0);
        end(tree, &data, ARRAY_LEN(writes));
        thread_error = 0;
}
