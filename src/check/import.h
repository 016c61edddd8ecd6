/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Import: the settings of other programs as drop-ins of hugeplan, and what to do about their lines.
 *
 * Databases that were found reserve their own pages (check/suggest.h). Pages that are set beyond the need of these and
 * of present instances belong to programs that hugeplan does not know: they stay reserved, as an instance without a
 * unit, so that such a program (DPDK, a virtual machine) has them after the next boot, too. Without the old lines, the
 * plan so has at least as many pages of each size as were set. */

#include "check/host_facts.h"
#include "check/suggest.h"

#define SET_PAGES_UNEXPLAINED "as they exist now; nothing that was read sets as many"

/* Pages of one size. */
typedef struct SetPages {
        uint64_t page_size_bytes;
        uint64_t pages;       /* over all nodes */
        uint64_t *node_pages; /* by index of the node */
        bool is_by_node;      /* the nodes were chosen; else the kernel spreads the pages */
        bool is_unexplained;  /* more exist than any entry that was read sets */
        const char *who; /* then: who may have set them, by the history; NULL: that was not read */
        VEC(const SettingSource *) sources; /* those that contribute */
        /* By import_make(): */
        uint64_t known_pages; /* needed by instances and the databases found */
        uint64_t rest_pages;  /* reserved for others: set beyond that, or used by them, if more */
} SetPages;

typedef VEC(SetPages) SetPagesList;

/* Returns the sizes with pages set by others, largest first: the existing ones, or those that a boot without hugeplan
 * would leave after all configuration of other programs that was read; the larger number of both. The kernel command
 * line, sysctl.d and tmpfiles.d apply in this order; when tuned and sysfsutils apply is not known, so only their larger
 * number counts. Pages that the plan of VIEW (NULL: none yet) has reserved do not count. */
SetPagesList set_pages_find(Arena *arena, const HostView *view);

typedef struct ImportFile {
        const char *path, *text;
} ImportFile;

typedef enum ImportAction {
        IMPORT_REMOVE, /* it would overwrite the plan */
        IMPORT_LOOK,   /* its effect is not known */
} ImportAction;

/* A line of another program. */
typedef struct ImportLine {
        ImportAction action;
        const char *file;
        unsigned line; /* 0: the file has only one */
        const char *text;
        const char *advice;
} ImportLine;

typedef struct Import {
        VEC(ImportFile) files; /* for the databases found, then the rest by page size */
        VEC(ImportLine) lines;
        SetPagesList pages;
} Import;

/* VIEW has the databases found. */
Import import_make(Arena *arena, const HostView *view);

/* Holds "remove" and "look". */
extern const char *const import_action_names[];
