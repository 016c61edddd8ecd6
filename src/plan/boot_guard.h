/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The boot guard: a plan that keeps the host from booting must not do so for ever. The daemon counts a boot before it
 * reserves anything, and resets the count once the boot has reached multi-user.target (daemon/boot.h). After three boots
 * that did not, only what the last good boot reserved is planned.
 *
 * The count has a file of its own, of one sector, which a disk writes as a whole. It is overwritten in place, so that a
 * full disk does not keep a boot from being counted. What the last good boot had is that boot's ledger, less all but the
 * instances. */

#include "demand/demand.h"
#include "plan/plan.h"

/* The guard is closed after at least this many failed boots. It stays closed over boots that succeed with the proven
 * pages, until an administrator opens it by a reload. */
enum { BOOT_GUARD_FAILURES = 3 };

typedef struct BootGuard {
        uint64_t failed_boots; /* boots begun since the last good one, including this one */
        const char *boot_id;   /* of the last boot counted */
        const Ledger *proven;  /* the instances of the last good boot; NULL: not known */
} BootGuard;

enum { BOOT_COUNT_BYTES = 512 };

/* Returns the file of the count, of BOOT_COUNT_BYTES. */
char *boot_count_format(Arena *arena, const BootGuard *guard);

/* Reads the count from SIZE BYTES (0: there are none). If these are not a count, of any version, the guard is closed. */
void boot_count_parse(Arena *arena, const char *bytes, size_t size, BootGuard *guard);

/* Counts the boot BOOT_ID, once; returns whether it was not counted before. */
bool boot_guard_begin(Arena *arena, BootGuard *guard, const char *boot_id);

/* Records that the boot is good: what LEDGER grants is proven, unless the guard was closed; GUARD then refers to LEDGER.
 * A boot in which nothing was planned (no daemon has started yet) has neither failed nor proven anything: it is not
 * counted; returns false. */
bool boot_guard_succeed(Arena *arena, BootGuard *guard, const Ledger *ledger);

/* Opens the guard from the next boot on; returns whether it was closed. */
bool boot_guard_open(BootGuard *guard);

/* Returns whether the guard is closed: by LEDGER if it is decided there, else because too many boots before LEDGER's
 * have failed. */
bool boot_guard_is_closed(const BootGuard *guard, const Ledger *ledger);

typedef struct GuardedPlanInput {
        const BootGuard *guard; /* NULL: LEDGER has the guard open */
        const Config *config;
        const Figures *figures; /* as for demand_compute() */
        bool is_reload; /* plans as a reload does: released pages are wanted, the guard is open */
        /* Without what CONFIG provides. Its demand was computed from the same input before; NULL: it was not. */
        PlanInput plan;
} GuardedPlanInput;

/* Returns the plan; what INPUT refers to must outlive it. Reports to PROBLEMS what is not planned until a reload. */
const Plan *boot_guard_plan(Arena *arena, const GuardedPlanInput *input, Diags *problems);
