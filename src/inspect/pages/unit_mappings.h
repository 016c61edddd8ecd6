/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the processes of one unit have mapped, as the kernel has it in /proc/PID/maps and smaps: huge pages, touched
 * or not, and shared memory that is of small pages. A segment counts once, however many of them map it, and over
 * as much of it as any of them does.
 *
 * It takes the right to trace the processes (their owner's, or CAP_SYS_PTRACE), and nothing but the kernel's own
 * text is read: what the processes name or map decides about no path. */

#include "config/config.h"
#include "host/root.h"
#include "read/process.h"

typedef struct UnitMappings {
        HugeMappings
                segments; /* one for each part of a segment that is mapped, none overlapping another */
        size_t n_processes; /* of the unit */
        /* By their status: page tables of all of them (VmPTE), and the small pages of the one with the most (VmRSS). */
        uint64_t table_bytes, resident_bytes;
        bool is_complete; /* all of them could be looked into */
} UnitMappings;

/* Never fails: who ends meanwhile is left out. */
UnitMappings unit_mappings_read(const Root *root, Arena *arena, const char *unit);

/* The bytes that the process PID has mapped of huge pages, and of shared memory of small ones. */
uint64_t process_mappings_bytes(const Root *root, uint64_t pid);

/* The huge pages, by their sizes. */
PageCounts unit_mappings_huge(Arena *arena, const UnitMappings *mappings);

/* As many pages of PAGE_SIZE_BYTES as the shared memory of small pages would take; segments of less than one are no
 * loss and left out. */
uint64_t unit_mappings_small(const UnitMappings *mappings, uint64_t page_size_bytes);
