/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Reads a database's own files as their owner, in a process of its own (inspect/confine.h). On a captured
 * host, whose files are all of one who captured it, in this one. */

#include "demand/figures.h"
#include "host/host_sources.h"

typedef struct OwnerGatherer {
        Gatherer gatherer; /* give a pointer to this */
        const Root *root;
        uint64_t deadline_usec;  /* of all that it does; at first never */
        const SourceText *input; /* what is read for PATH_STANDARD_INPUT; NULL: nothing */
} OwnerGatherer;

/* ROOT must outlive it. */
OwnerGatherer gather_as_owner(const Root *root);

/* Whether files of the databases could not be read for want of permission. */
bool gather_was_denied(const Figures *figures);

/* Where we read as who was a guess (owner_why_not_us()), and what we found says that it is another's: a
 * sentence; else NULL. */
const char *gather_whose(Arena *arena, const Gathered *gathered);
