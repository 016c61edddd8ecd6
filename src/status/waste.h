/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Waste: huge pages that serve nobody: how many, whose they were, since when, and what gives them back.
 *
 * Pure. A row stands for what was read, never for a guess: where touched pages are a lower bound, nothing is
 * said of the rest. Less than WASTE_BYTES_MIN is not worth a word. */

#include "status/proof.h"

#define WASTE_BYTES_MIN (32 * MIB)

typedef enum WasteKind {
        WASTE_UNTOUCHED, /* reserved at the start of its server, and never touched */
        WASTE_BEYOND,    /* granted, and not taken */
        WASTE_FELL_BACK, /* granted to who runs with small pages */
        WASTE_DISABLED,  /* granted to a unit that nothing starts */
        WASTE_NO_UNIT,   /* granted to one that does not exist */
        WASTE_IDLE,      /* wanted by nobody */
        WASTE_SEGMENT,   /* a System V segment that was left behind */
} WasteKind;

typedef struct Waste {
        WasteKind kind;
        const char *instance; /* whose they were; NULL: nobody's */
        uint64_t page_size_bytes;
        uint64_t pages;
        uint64_t age_usec; /* since when; 0: not known */
        const char *what;
        const char *command; /* gives them back; after a fall back: has them used */
} Waste;

typedef VEC(Waste) WasteList;

/* "untouched", "fell-back", ... */
const char *waste_kind_name(WasteKind kind);

/* What is known of the unit of an instance that does not run. */
typedef enum UnitStart {
        UNIT_START_WANTED,   /* something starts it, or that is not known */
        UNIT_START_DISABLED, /* no other unit wants it */
        UNIT_START_GONE,     /* there is no such unit, or it is masked */
} UnitStart;

/* Adds what INSTANCE (of the configuration; NULL: of none) was given and does not use, by PROOF. */
void waste_add_instance(Arena *arena, const Proof *proof, const InstanceConfig *instance,
                        UnitStart start, WasteList *list);

/* Adds System V segments that nobody is attached to. */
void waste_add_segments(Arena *arena, const PageUsers *page_users, WasteList *list);

/* What `verify` says. */
typedef struct Proofs {
        ProofList list;
        WasteList waste;
} Proofs;
