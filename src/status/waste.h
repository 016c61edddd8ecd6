/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Waste: huge pages without a use: how many, of which instance, since when, and what gives them back.
 *
 * Pure. Rows rest on figures that were read, never on guesses: if touched pages are a lower bound, untouched ones are
 * not reported. Waste below WASTE_BYTES_MIN is not reported. */

#include "status/proof.h"

#define WASTE_BYTES_MIN (32 * MIB)

typedef enum WasteKind {
        WASTE_UNTOUCHED, /* reserved by its server at the start, and never touched */
        WASTE_BEYOND,    /* granted, and not mapped */
        WASTE_FELL_BACK, /* granted to a server that runs with small pages */
        WASTE_DISABLED,  /* granted to a unit that nothing starts */
        WASTE_NO_UNIT,   /* granted to a unit that does not exist */
        WASTE_IDLE,      /* in the pools, and needed by no instance */
        WASTE_SEGMENT,   /* an abandoned System V segment */
} WasteKind;

typedef struct Waste {
        WasteKind kind;
        const char *instance; /* NULL: of no instance */
        uint64_t page_size_bytes;
        uint64_t pages;
        uint64_t age_usec; /* how long they have been unused; 0: not known */
        const char *what;
        const char *command; /* gives them back; after a fall back: gets them used */
} Waste;

typedef VEC(Waste) WasteList;

extern const char *const waste_kind_names[]; /* "untouched", "fell-back", ... */

/* Whether anything starts the unit of an instance that does not run. */
typedef enum UnitStart {
        UNIT_START_WANTED,   /* another unit starts it, or that is not known */
        UNIT_START_DISABLED, /* no other unit wants it */
        UNIT_START_GONE,     /* the unit does not exist, or is masked */
} UnitStart;

/* Adds what INSTANCE was granted and does not use, by PROOF. INSTANCE is NULL if its configuration is not known. */
void waste_add_instance(Arena *arena, const Proof *proof, const InstanceConfig *instance,
                        UnitStart start, WasteList *list);

/* Adds System V segments with no process attached. */
void waste_add_segments(Arena *arena, const PageUsers *page_users, WasteList *list);

/* What `verify` shows. */
typedef struct Proofs {
        ProofList list;
        WasteList waste;
} Proofs;
