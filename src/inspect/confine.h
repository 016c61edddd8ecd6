/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A child that has become somebody else for good: a reader, our own code, which parses what that user
 * wrote; or a program of his, run by its descriptor. docs/privilege.md has the order in which rights are
 * given up, and why no more is. prctl(2), capabilities(7).
 *
 * It has nothing on standard input, no descriptors but its pipes, no rights beyond the person's and no way
 * to get any; it may take so long and print so much, and is killed with all it has started in its
 * session. */

#include "inspect/owner.h"

/* A program, by a descriptor that may be O_PATH and is not closed on exec. */
typedef struct Program {
        int fd;
        char **arguments;
        char **environment;
} Program;

typedef struct Confinement {
        const char *title; /* for sentences: printable and short */
        const Person *person;
        uint64_t timeout_usec;
        size_t output_bytes_max;
        /* Of these one; both are called in the child, once it is the person for good: hugeplanctl has no
         * threads. A reader prints to the descriptor, and returns. */
        void (*read)(void *userdata, int output);
        /* Finds the program that is to be run: NULL, or a sentence. */
        const char *(*find)(void *userdata, Arena *arena, Program *ret);
        void *userdata;
} Confinement;

/* Fills *RET (NUL-terminated, RET_SIZE bytes before that) with what it has printed, whatever that is; or
 * returns a sentence, printable and short, on why there is nothing. */
const char *confine(Arena *arena, const Confinement *confinement, char **ret, size_t *ret_size);
