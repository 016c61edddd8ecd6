/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A child that has permanently become another user: a reader, which is hugeplan's own code that parses that user's
 * files; or a program of that user, run by its descriptor. docs/privilege.md explains in which order rights are given
 * up, and why no others are. prctl(2), capabilities(7).
 *
 * The child has nothing on standard input, no descriptors but its pipes, no rights beyond the user's and no way to get
 * any; its time and output are limited, and it is killed with all processes of its session. */

#include "inspect/owner.h"

/* A program, by a descriptor that may be O_PATH and is not close-on-exec, because a script is read through it. */
typedef struct Program {
        int fd;
        char **arguments;
        char **environment;
} Program;

typedef struct Confinement {
        const char *title; /* for messages: printable and short */
        const Person *person;
        uint64_t timeout_usec;
        size_t output_bytes_max;
        /* Exactly one is set. Both are called in the child after it has permanently become the person; hugeplanctl has
         * no threads. `read` prints to the descriptor, and returns. */
        void (*read)(void *userdata, int output);
        /* Finds the program to run. Returns NULL, or an error message. */
        const char *(*find)(void *userdata, Arena *arena, Program *ret);
        void *userdata;
} Confinement;

/* Sets *RET to the child's output (any bytes; NUL-terminated after *RET_SIZE bytes) and returns NULL, or returns a
 * short, printable error message. */
const char *confine(Arena *arena, const Confinement *confinement, char **ret, size_t *ret_size);
