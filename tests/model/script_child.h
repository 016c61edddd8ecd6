/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A process of a script. It performs one command at a time in its cpuset, under its policy and on its CPU. Commands come
 * through a socket, whose end shows that a signal has killed the process. */

#include "model/script.h"

#include <sys/types.h>

enum { CHILD_PATH_MAX = 192, CHILD_TEXT_MAX = 96 };

typedef enum Operation {
        OPERATION_RUN_ON,
        OPERATION_POLICY,
        OPERATION_FORK,
        OPERATION_MAP,
        OPERATION_ATTACH,
        OPERATION_FILE,
        OPERATION_BIND,
        OPERATION_TOUCH,
        OPERATION_UNMAP,
        OPERATION_SHMGET,
        OPERATION_WRITE,
} Operation;

typedef struct Command {
        Operation operation;
        uint64_t address, page_bytes, n_pages, first, last;
        bool is_private, is_noreserve;
        int shm_id;
        unsigned progress; /* index of its element */
        unsigned cpu_node;
        KernelPolicy policy;
        char path[CHILD_PATH_MAX];
        char text[CHILD_TEXT_MAX];
} Command;

typedef struct Child {
        pid_t pid; /* 0: not started, or ended */
        int fd;
        int state; /* SCRIPT_LIVES... */
        unsigned cpu_node;
} Child;

/* Moves the calling process to the CPUs of a node. */
long child_run_on(unsigned node);

/* PROGRESS is shared memory. Each process writes the page that it touches to its own element. */
Child child_start(unsigned cpu_node, volatile uint64_t *progress);
/* The new process is a child of the script, which waits for all processes. */
Child child_fork(Child *child, unsigned cpu_node);
/* Returns the command's result; -ESRCH if the command has killed the process. */
long child_ask(Child *child, const Command *command);
void child_end(Child *child);
