/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Import: what other programs set today, as drop-ins of ours, and what becomes of their lines.
 *
 * The databases that were found take their pages by themselves (check/suggest.h). What is set beyond what they
 * and the instances there are need is nobody's whom hugeplan knows: it stays reserved, as an instance without a
 * unit, so that a program which lives by these pages (DPDK, a virtual machine) finds them after the next boot, too.
 * So with the old lines gone the plan has at least as many pages of each size as were set. */

#include "check/host_facts.h"
#include "check/migrate/set_pages.h"
#include "check/suggest.h"
#include "plan/plan.h"
#include "status/history.h"
#include "status/page_users.h"

typedef struct ImportInput {
        const Config *config;
        const Plan *plan; /* of the configuration as it is */
        const Topology *topology;
        const SettingSources *setting_sources;
        const Suggestions *suggestions;
        const HostFacts *facts;
        const PageUsers *page_users;
        const HistoryEntries *history;
} ImportInput;

typedef struct ImportFile {
        const char *path, *text;
} ImportFile;

typedef enum ImportAction {
        IMPORT_REMOVE, /* it would overwrite the plan */
        IMPORT_KEEP,   /* it does no harm */
        IMPORT_LOOK,   /* what it does is not known here */
} ImportAction;

/* A line of somebody else's. */
typedef struct ImportLine {
        ImportAction action;
        const char *file;
        unsigned line; /* 0: the file has but one */
        const char *text;
        const char *advice;
} ImportLine;

/* What becomes of the pages of one size that are set. */
typedef struct ImportPages {
        uint64_t page_size_bytes;
        uint64_t set_pages;
        const char *
                who; /* so many stand, and nothing that was read sets as many: who may have; NULL: they are explained */
        uint64_t known_pages; /* what instances and databases that were found need */
        uint64_t rest_pages; /* reserved for others: what is set beyond that, or what they use now, if that is more */
} ImportPages;

/* More than the host's nodes can give together. */
typedef struct ImportExcess {
        uint64_t wanted_bytes;     /* of all instances, proposed ones included; 0: they fit */
        uint64_t most_bytes;       /* the memory of all nodes less KeepFree= */
        const Suggestion *largest; /* of the proposed databases; NULL: none has a size */
        uint64_t largest_pages;    /* of the default size, that the others would leave it */
} ImportExcess;

typedef struct Import {
        VEC(ImportFile) files; /* the databases that were found, then the rest by page size */
        VEC(ImportLine) lines;
        VEC(ImportPages) pages;
        const Suggestions *suggestions; /* the databases that were found */
        ImportExcess excess;
} Import;

Import import_make(Arena *arena, const ImportInput *input);

/* "remove", "keep", "look". */
extern const char *const import_action_names[];
