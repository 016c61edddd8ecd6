/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A recording: everything that was read through a Root, to make a captured host with the same contents. A path that was
 * only listed or looked up is a name without contents. */

#include "base/index.h"

typedef enum RecordedKind {
        RECORDED_NAME, /* an empty file: the path exists and was not read */
        RECORDED_DIRECTORY,
        RECORDED_LINK,
        RECORDED_FILE,
} RecordedKind;

typedef struct Recorded {
        RecordedKind kind;
        const char *path;  /* absolute */
        const char *bytes; /* of a file, NUL-terminated; of a link, its target */
        size_t size;
        size_t order; /* of reading */
} Recorded;

/* Gets everything that a Root reads: an interface, so that daemon and generator are linked without recording.c. */
typedef struct Recorder Recorder;
struct Recorder {
        void (*add)(Recorder *recorder, RecordedKind kind, const char *path, const char *bytes,
                    size_t size);
        bool (*has_name)(const Recorder *recorder,
                         const char *path); /* was recorded as a name, directory or link */
};

typedef struct Recording {
        Recorder recorder; /* pass a pointer to this */
        Arena *arena;
        VEC(Recorded *)
        list; /* in the order of reading, each path once as a name and once as a file */
        Index *names, *files; /* Recorded of the list */
        size_t bytes;
        bool is_full; /* more than RECORDING_BYTES_MAX was read */
} Recording;

#define RECORDING_BYTES_MAX ((size_t) 256 << 20)

Recording recording_in(Arena *arena);

/* Returns the recording as a tree: sorted, each path once, with the links in it followed. Of several records of one
 * path the one with the most information is used, or else the first. No path leads out of the tree. */
typedef VEC(Recorded) RecordedTree;
RecordedTree recording_tree(Arena *arena, const Recording *recording);

/* Returns the tree as an archive: ustar with the pax extension for long names (POSIX.1-2017, pax, "ustar Interchange
 * Format"). Root owns all entries, and all times are 0, so that the same host gives the same bytes. */
char *recording_archive(Arena *arena, const RecordedTree *tree, size_t *ret_size);
