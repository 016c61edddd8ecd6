/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Looks at the processes of one unit, for status/proof.h and for learning. Only reads, and only what belongs to that
 * unit: first its control group's counts, which cost microseconds whatever the size of the database; then the status of
 * each of its processes, for their page tables; then the mappings of its server. Pages are walked (numa_maps) only if
 * no controller counts for the unit or if a mapping's kind is in doubt, for few processes, and not if gigabytes of
 * small pages would be walked: a database stands still during the walk. */

#include "base/index.h"
#include "host/root.h"
#include "read/process.h"
#include "status/proof.h"

/* What the looks of one command share. */
typedef struct ServerHost {
        const Root *root;
        Arena *arena; /* for results */
        const Topology *topology;
        const char *hierarchy; /* the unified one, whose groups have counts; NULL: none */
        const Index *groups;   /* of all units */
        Devices devices;       /* of hugetlbfs */
} ServerHost;

ServerHost server_host(const Root *root, Arena *arena, const Topology *topology);

/* UNIT may be NULL: nothing runs. ENGINE (NULL: not known) has the names of its servers, so that a Patroni without a
 * running server does not count as a server. Never fails and never waits: what cannot be read, or ends meanwhile, is
 * left out, with a sentence in `missing`.
 *
 * With IS_GLANCE, as for each status: whether the unit runs, since when, the counts of its control group, and how its
 * server has mapped its memory if that may be read; no walks, no page tables. */
ServerLook server_look(const ServerHost *host, const Engine *engine, const char *unit,
                       bool is_glance);

/* Returns the bytes that the process PID has mapped of huge pages, and of shared memory that may be their fallback. */
uint64_t server_mapped_bytes(const Root *root, uint64_t pid);
