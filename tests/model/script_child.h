/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A process of a script: it performs one command at a time, which comes through a socket, so that it
 * happens in its cpuset, under its policy, on its CPU. One that a signal ends is seen by the end of its
 * socket. */

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
        unsigned progress; /* an element of it */
        unsigned cpu_node;
        KernelPolicy policy;
        char path[CHILD_PATH_MAX];
        char text[CHILD_TEXT_MAX];
} Command;

typedef struct Child {
        pid_t pid; /* 0: never was, or has gone */
        int fd;
        int state; /* SCRIPT_LIVES... */
        unsigned cpu_node;
} Child;

/* Has this very process run on the CPUs of a node. 0, or a negative errno. */
long child_run_on(unsigned node);

/* PROGRESS is memory shared by all: each writes to its own element which page it touches. */
Child child_start(unsigned cpu_node, volatile uint64_t *progress);
/* A brother of this process, not its child: the script waits for all. */
Child child_fork(Child *child, unsigned cpu_node);
/* The command's result; -ESRCH where the process has died of it. */
long child_ask(Child *child, const Command *command);
void child_end(Child *child);
