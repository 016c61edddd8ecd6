/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A child that has permanently become another user: a reader, which is hugeplan's own code that parses that user's
 * files; or a program of that user, run by its descriptor. docs/privilege.md explains in which order rights are given
 * up, and why no others are. prctl(2), capabilities(7).
 *
 * The child has nothing on standard input, no descriptors but its pipes, no rights beyond the user's and no way to get
 * any; its time and output are limited, and it is killed with all processes of its session. */

#include "base/size.h"
#include "host/host_sources.h"
#include "inspect/owner.h"

#include <jansson.h>

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

/* ---- readers, which answer in JSON ---- */

#define READER_NO_ANSWER "the process that reads its files gave no valid answer"

/* Called in that process. SOURCES read with the rights of PERSON. */
typedef json_t *(*ReaderMake)(void *userdata, Arena *arena, HostSources *sources);

/* Sets *RET to the answer of MAKE (untrusted; the caller checks each member and releases it) and returns NULL, or
 * returns an error message. If ROOT has a recorder, it also records all that the process read, still unmasked
 * (inspect/kept.h). */
const char *reader_ask(const Root *root, Arena *arena, const Person *person, uint64_t timeout_usec,
                       ReaderMake make, void *userdata, json_t **ret);

/* Far above the usual duration. */
#define READER_USEC (10 * USEC_PER_SEC)
