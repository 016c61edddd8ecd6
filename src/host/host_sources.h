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

/* ROOT must outlive what is returned. Many small files are read, of which strangers may own some:
 * nothing waits, each is bounded, and what was read in all, names of directories too, is bounded
 * (-E2BIG from then on). */
typedef struct HostSources {
        Sources sources; /* give a pointer to this */
        const Root *root;
        size_t bytes_left;
        enum { SOURCES_ANY, SOURCES_OF_ROOT, SOURCES_OF_OWNER } kind;
        uid_t owner;
        gid_t group;
        /* Of SOURCES_OF_OWNER: the first file that others than root and the owner may write. */
        Arena *arena;
        const char *foreign;
} HostSources;

/* For who reads as himself; as root on the running host, of root's files only. */
HostSources host_sources(const Root *root);

/* For a process that has become OWNER (inspect/gather.h). What is foreign is read, and remembered. */
HostSources host_sources_of(const Root *root, Arena *arena, uid_t owner, gid_t group);
