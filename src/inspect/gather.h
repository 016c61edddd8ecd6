/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Reads a database's own files as their owner, in a process of its own (inspect/confine.h); on a captured host in this
 * process, because all captured files belong to one user. */

#include "demand/figures.h"
#include "host/host_sources.h"
#include "read/overlay.h"

typedef struct OwnerGatherer {
        Gatherer gatherer; /* give a pointer to this */
        const Root *root;
        uint64_t deadline_usec;  /* for all calls together; initially infinite */
        const SourceText *input; /* the contents of PATH_STANDARD_INPUT; NULL: none */
} OwnerGatherer;

/* ROOT must outlive the gatherer. */
OwnerGatherer gather_as_owner(const Root *root);

/* Overlays each oratab of the running host, Oracle's list of instances, with its text, which is read as its owner. On a
 * captured host oratab is read unchanged. */
void gather_oratab(const Root *root, Arena *arena, Overlay *overlay);

/* Returns whether files of the databases could not be read for lack of permission. */
bool gather_was_denied(const Figures *figures);

/* If the user of this process was only guessed to be the owner (owner_why_not_us()), returns an error message if
 * GATHERED belongs to another user, or NULL. */
const char *gather_whose(Arena *arena, const Gathered *gathered);
