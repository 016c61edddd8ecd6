/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Sources that read the files below a root. */

#include "host/root.h"
#include "read/source.h"

/* ROOT must outlive what is returned. Many small files are read, of which strangers may own some:
 * nothing waits, each is bounded, and what was read in all, names of directories too, is bounded
 * (-E2BIG from then on). */
typedef struct HostSources {
        Sources sources; /* give a pointer to this */
        const Root *root;
        size_t bytes_left;
} HostSources;

HostSources host_sources(const Root *root);
