/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A process of a script. It performs one command at a time in its cpuset, under its policy and on its CPU. Commands and
 * results are in memory that it shares with the script. */

#include "model/script.h"

#include <semaphore.h>
#include <sys/types.h>

enum { CHILD_PATH_MAX = 192, CHILD_TEXT_MAX = 96 };

/* An operation as the process performs it. SCRIPT_RUN moves the process to its CPUs; a write is of `text` to `path`. */
typedef struct Command {
        ScriptOperation operation;
        uint64_t address;
        int shm_id;
        char path[CHILD_PATH_MAX], text[CHILD_TEXT_MAX];
} Command;

/* Zeroed shared memory, of one process. */
typedef struct Slot {
        sem_t asked, answered;
        Command command;
        long result;
        volatile uint64_t page; /* that it touches */
} Slot;

typedef struct Child {
        Slot *slot;
        pid_t pid;         /* 0: not started, or ended */
        ScriptState state; /* of one that has ended */
        unsigned cpu_node;
} Child;

/* Moves the calling process to the CPUs of a node. */
long child_run_on(unsigned node);

Child child_start(unsigned cpu_node, Slot *slot);
/* Returns the command's result; -ESRCH if the command has killed the process. */
long child_ask(Child *child, const Command *command);
void child_end(Child *child);
