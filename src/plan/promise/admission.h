/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Judges whether instances may start beside running units, and whose pages may be taken (plan/promise/promise.h). */

#include "plan/promise/promise.h"

/* An instance that asks for pages, or that has pages planned and does not run yet. */
typedef struct Starter {
        const char *instance;
        const char *unit; /* NULL: the instance has none */
        MemoryPolicy policy;
        PagesByNode grants; /* its planned pages */
        uint64_t pages;
        const uint64_t *used; /* what it has besides, by index of the node; NULL: nothing */
        bool has_mount;       /* has a mount of its own, which may earmark pages for it */
        bool is_now; /* starts at this moment: takes pages by its policy, not by the plan */
} Starter;

/* The pages that one starter lacks. */
typedef struct Lack {
        uint64_t pages;       /* 0: it may start */
        IdSet nodes;          /* on which they are missing */
        uint64_t free_pages;  /* free on these nodes */
        uint64_t taken_pages; /* of these, pages that others may take */
        const char *taker;    /* the unit that may take most of them; NULL: no known running unit */
        uint64_t taker_pages; /* how many; if TAKER is NULL, by processes of no known unit */
        bool is_taker_kept;   /* TAKER has a memory policy: a restart would not move it elsewhere */
        bool is_others; /* the starter takes no pages there, but makes interleaving units do so */
} Lack;

/* Finds what each starter lacks beside those before it: RET_LACKS has N entries. */
void promises_admit(Arena *arena, const Promises *promises, const uint64_t *free_pages,
                    const Starter *starters, size_t n, Lack *ret_lacks);

/* Reserved pages of a running unit that others may take before the unit touches them. */
typedef struct Exposure {
        const char *unit; /* the owner */
        uint64_t page_size_bytes;
        IdSet nodes;            /* that the unit is bound to */
        uint64_t pages;         /* how many */
        uint64_t missing_pages; /* with as many more free pages on NODES none is exposed */
        const char *taker;      /* the unit that may take most; NULL: processes of no known unit */
        uint64_t taker_pages;
        bool is_taker_kept; /* see Lack */
} Exposure;

typedef VEC(Exposure) Exposures;

/* Returns the exposures. WITH_COMING: also of pages that others have taken already, that were granted and are not mapped
 * yet and, if nothing counts, of unknown promises that are likely the unit's: all that a cover can help. */
Exposures promises_exposures(Arena *arena, const Promises *promises, const uint64_t *free_pages,
                             bool with_coming);

/* Returns whom COVER_PAGES of FREE_PAGES protect: the pages that would be exposed, or that starters would lack,
 * without them; with them the starters have LACKS. A starter's row has its unit, or its instance if that has no
 * unit; a row without a unit is for pages that are reserved and not planned. */
Exposures promises_covered(Arena *arena, const Promises *promises, const uint64_t *free_pages,
                           const uint64_t *cover_pages, const Starter *starters, const Lack *lacks,
                           size_t n);

/* Returns how many pages that were promised to UNIT no node can serve any more, because others have lowered the pool
 * or taken them. */
uint64_t promises_lost_pages(const Promises *promises, const char *unit,
                             const uint64_t *free_pages);
