/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Sources that read the files below a root.
 *
 * No foreign byte in root: nothing is opened but regular files (host/root.h); and as root, on the running
 * host, only those that belong to root and nobody else may write. What is systemd's to trust (unit files) is
 * as it trusts it. -EPERM for what is not. */

#include "host/root.h"
#include "read/source.h"

#include <sys/types.h>

/* Who beside root and a certain owner may write a file, or, by renaming what is in it, a directory. */
typedef enum OpenTo {
        OPEN_TO_NOBODY,
        OPEN_TO_OWNER, /* it belongs to another user */
        OPEN_TO_EVERYONE,
        OPEN_TO_GROUP,
} OpenTo;

OpenTo file_open_to(const struct stat *st, uid_t owner, gid_t group);

/* ROOT and ARENA must outlive what is returned. Many small files are read, of which strangers may own some:
 * nothing waits, each is bounded, and what was read in all, names of directories too, is bounded
 * (-E2BIG from then on). A directory is read once: later changes of its names are not seen. */
typedef struct HostSources {
        Sources sources; /* give a pointer to this */
        const Root *root;
        Arena *arena;
        Index *listed; /* the directories that were read, by path */
        size_t bytes_left;
        enum { SOURCES_ANY, SOURCES_OF_ROOT, SOURCES_OF_OWNER } kind;
        uid_t owner;
        gid_t group;
        /* Of SOURCES_OF_OWNER: the first file that others than root and the owner may write. */
        const char *foreign;
        /* What is read for PATH_STANDARD_INPUT: the caller has taken the bytes off it. NULL: nothing. */
        const SourceText *input;
} HostSources;

/* For who reads as himself; as root on the running host, of root's files only. */
HostSources host_sources(const Root *root, Arena *arena);

/* For a process that has become OWNER (inspect/gather.h). What is foreign is read, and remembered. */
HostSources host_sources_of(const Root *root, Arena *arena, uid_t owner, gid_t group);
