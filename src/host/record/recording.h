/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A recording: all that was read through a Root, so that a captured host can be made of it that answers the same.
 * What was only listed or looked for is there as a name without contents. */

#include "base/index.h"

typedef enum RecordedKind {
        RECORDED_NAME, /* an empty file: it was there, and nobody read it */
        RECORDED_DIRECTORY,
        RECORDED_LINK,
        RECORDED_FILE,
} RecordedKind;

typedef struct Recorded {
        RecordedKind kind;
        const char *path;  /* absolute */
        const char *bytes; /* of a file, NUL-terminated; of a link, where it leads */
        size_t size;
        size_t order; /* of reading */
} Recorded;

/* What a Root tells of all it reads. The daemon and the generator have none, and take no code for it along. */
typedef struct Recorder Recorder;
struct Recorder {
        void (*add)(Recorder *recorder, RecordedKind kind, const char *path, const char *bytes,
                    size_t size);
        bool (*has_name)(const Recorder *recorder,
                         const char *path); /* as one, a directory or link */
};

typedef struct Recording {
        Recorder recorder; /* give a pointer to this */
        Arena *arena;
        VEC(Recorded *)
        list; /* in the order of reading, each path once as a name and once as a file */
        Index *names, *files; /* Recorded of the list */
        size_t bytes;
        bool is_full; /* there was more: RECORDING_BYTES_MAX */
} Recording;

#define RECORDING_BYTES_MAX ((size_t) 256 << 20)

Recording recording_in(Arena *arena);

/* As a tree: each path once, links on the way to it followed, sorted; what says more of a path goes before what says
 * less, and what was read first before what was read later. Nothing leads out of the tree. */
typedef VEC(Recorded) RecordedTree;
RecordedTree recording_tree(Arena *arena, const Recording *recording);

/* The tree as an archive: ustar, with the pax extension for long names (POSIX.1-2017, pax, "ustar Interchange
 * Format"). All belongs to root, of no time, so that the same host gives the same bytes. */
char *recording_archive(Arena *arena, const RecordedTree *tree, size_t *ret_size);
