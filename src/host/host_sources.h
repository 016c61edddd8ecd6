/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Sources that read the files below a root.
 *
 * Root reads nothing that another user can write: only regular files are opened (host/root.h), and as root on the
 * running host only files that root owns and no one else can write. Files in systemd's directories are trusted
 * as systemd trusts them. Other files are -EPERM. */

#include "host/root.h"
#include "read/source.h"

#include <sys/types.h>

/* Who besides root and a given owner can write a file, or rename entries of a directory. */
typedef enum OpenTo {
        OPEN_TO_NOBODY,
        OPEN_TO_OWNER, /* another user owns it */
        OPEN_TO_EVERYONE,
        OPEN_TO_GROUP,
} OpenTo;

OpenTo file_open_to(const struct stat *st, uid_t owner, gid_t group);

/* ROOT and ARENA must outlive the sources. Other users may own some of the many small files: no read blocks, the size
 * of each file is bounded, and so is the total including names of directories (-E2BIG from then on). Each directory is
 * read once; later changes of its names are not seen. */
typedef struct HostSources {
        Sources sources; /* give a pointer to this */
        const Root *root;
        Arena *arena;
        Index *listed; /* directories that were read, by path */
        size_t bytes_left;
        enum { SOURCES_ANY, SOURCES_OF_ROOT, SOURCES_OF_OWNER } kind;
        uid_t owner;
        gid_t group;
        /* With SOURCES_OF_OWNER: the first file that others than root and the owner can write. */
        const char *foreign;
        /* The contents of PATH_STANDARD_INPUT, which the caller has read; NULL: none. */
        const SourceText *input;
} HostSources;

/* For a process that reads as its own user; as root on the running host, root's files only. A process that has become
 * the owner of a database (inspect/confine.c) sets SOURCES_OF_OWNER, and reads files that others can write, too. */
HostSources host_sources(const Root *root, Arena *arena);
