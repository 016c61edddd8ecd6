/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The boot guard: a plan that keeps the host from booting must not keep it for ever.
 *
 * Boots are counted from the moment the root file system can be written until one reaches
 * multi-user.target. After three that did not, only what was reserved in the last good boot is
 * planned. */

#include "core/demand.h"
#include "core/ledger.h"

enum { BOOT_GUARD_FAILURES = 3 };

typedef struct ProvenInstance {
        const char *name;
        uint64_t page_size_bytes;
        uint64_t pages;
} ProvenInstance;

typedef struct BootGuard {
        uint64_t failed_boots; /* begun since the last good one; the present boot included */
        const char *boot_id;   /* of the boot that was counted last */
        VEC(ProvenInstance) proven;
} BootGuard;

/* As JSON and back; NULL if it is none. */
json_t *boot_guard_to_json(const BootGuard *guard);
BootGuard *boot_guard_from_json(Arena *arena, const json_t *json);

/* Counts the boot BOOT_ID, once. */
void boot_guard_begin(Arena *arena, BootGuard *guard, const char *boot_id);

/* The boot is good: what LEDGER grants is proven. */
void boot_guard_succeed(Arena *arena, BootGuard *guard, const Ledger *ledger);

/* Whether boots before BOOT_ID failed too often to plan anything new. */
bool boot_guard_is_closed(const BootGuard *guard, const char *boot_id);

/* Refuses what is not proven, by name in PROBLEMS. */
void boot_guard_limit(Arena *arena, const BootGuard *guard, Demand *demand, Diags *problems);
