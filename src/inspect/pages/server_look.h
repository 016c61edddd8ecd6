/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Looks at the processes of one unit, for status/proof.h and what is learned of it. Only reads, and only what is of
 * that unit: its control group's counts first, which cost microseconds whatever the database holds; then the status of
 * each of its processes, for their page tables; the mappings of its server; and walks over pages (numa_maps) only where
 * nothing counts for the unit, or a mapping's kind is in doubt, for few processes, and not where there are gigabytes of
 * small pages to be walked: a database stands still for as long as that takes. */

#include "host/root.h"
#include "status/proof.h"

/* UNIT may be NULL: nothing runs. ENGINE (NULL: not known) has the names of its servers, so that Patroni, whose server
 * does not run, is not taken for one. Never fails and never waits: what cannot be read, or ends meanwhile, is
 * left out, with a sentence in `missing`.
 *
 * At a glance (IS_GLANCE), as for each status: whether it runs, since when, what its control group has, and how its
 * server has mapped its memory where that may be read; no walks, no page tables. */
ServerLook server_look(const Root *root, Arena *arena, const Topology *topology,
                       const Engine *engine, const char *unit, bool is_glance);

/* What the process PID has mapped of huge pages, and of shared memory that may stand in their place. */
uint64_t server_mapped_bytes(const Root *root, uint64_t pid);
