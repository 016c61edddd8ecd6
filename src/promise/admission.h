/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Who may start beside those who run, and who may take whose pages (promise/promise.h). */

#include "promise/promise.h"

/* Somebody who wants pages, or is to have them without being there yet. */
typedef struct Starter {
        const char *instance;
        const char *unit; /* NULL: none waits for it */
        MemoryPolicy policy;
        const NodePages *grants; /* where they are planned */
        size_t n_grants;
        uint64_t pages;
        bool has_mount; /* of its own, in which pages may be earmarked for it */
        bool is_now;    /* starts at this moment: by its policy, not by the plan */
} Starter;

/* What one starter lacks. */
typedef struct Lack {
        uint64_t pages;       /* 0: it may start */
        IdSet nodes;          /* where */
        uint64_t free_pages;  /* what is free there, */
        uint64_t taken_pages; /* and what of that others may take */
        const char *taker;    /* who may take most of it; NULL: nobody who is known and runs */
        uint64_t taker_pages; /* how many; without TAKER, processes of no unit that is known */
        bool is_taker_kept; /* it runs with a memory policy: a restart would not keep it elsewhere */
        bool is_others; /* it takes nothing there, but pages whose turn was others' who then do */
} Lack;

/* What the starters lack, each after those before it: RET_LACKS has N entries. */
void promises_admit(Arena *arena, const Promises *promises, const uint64_t *free_pages,
                    const Starter *starters, size_t n, Lack *ret_lacks);

/* Pages of a unit that runs which others may take before it touches them. */
typedef struct Exposure {
        const char *unit; /* whose */
        uint64_t page_size_bytes;
        IdSet nodes;            /* where it is confined to */
        uint64_t pages;         /* so many */
        uint64_t missing_pages; /* so many more free ones there, and nobody is exposed */
        const char *taker; /* who may take most of them; NULL: processes of no unit that is known */
        uint64_t taker_pages;
        bool is_taker_kept; /* see Lack */
} Exposure;

typedef VEC(Exposure) Exposures;

/* WITH_COMING: the same with what units were granted and have not even mapped yet, and, where nobody counts, with what
 * of the unknown promises is likely theirs: they will be exposed if nothing is done. */
Exposures promises_exposures(Arena *arena, const Promises *promises, const uint64_t *free_pages,
                             bool with_coming);

/* For whom COVER_PAGES of FREE_PAGES are there: what would be exposed, or lacked by the starters, without them; with
 * them these have LACKS. The starters' rows have the unit that is to start, or the instance where that has none; a row
 * without a unit is for what is reserved and not planned. */
Exposures promises_covered(Arena *arena, const Promises *promises, const uint64_t *free_pages,
                           const uint64_t *cover_pages, const Starter *starters, const Lack *lacks,
                           size_t n);

/* Pages that were promised to UNIT and can no longer be had anywhere: others have lowered the pool, or
 * taken them. */
uint64_t promises_lost_pages(const Promises *promises, const char *unit,
                             const uint64_t *free_pages);
