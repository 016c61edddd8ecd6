/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The boot guard: a plan that keeps the host from booting must not keep it for ever.
 *
 * The daemon counts a boot before it reserves anything, and takes the count back once the boot has reached
 * multi-user.target (daemon/boot.h). After three that did not, only what was reserved in the last good boot is planned.
 *
 * The count is in a file of its own, of two records of one size. One of them is overwritten in place, so that a full
 * disk does not keep a boot from being counted; the other stays for when the power fails in between. */

#include "demand/demand.h"
#include "plan/plan.h"

/* So many at least have failed where the guard is closed. It stays so over boots that get through
 * with what is proven, until an administrator opens it by a reload. */
enum { BOOT_GUARD_FAILURES = 3 };

typedef struct ProvenInstance {
        const char *name;
        uint64_t page_size_bytes;
        uint64_t pages;
} ProvenInstance;

typedef struct BootGuard {
        uint64_t failed_boots; /* begun since the last good one; the present boot included */
        const char *boot_id;   /* of the boot that was counted last */
        uint64_t n_records; /* written so far: this one is number n_records % 2; 0: none can be read */
        VEC(ProvenInstance) proven;
} BootGuard;

enum { BOOT_COUNT_BYTES = 4096 }; /* of a record */

/* The record that holds the count, of BOOT_COUNT_BYTES. */
char *boot_count_format(Arena *arena, const BootGuard *guard);

/* The count of SIZE BYTES, 0 for none. A record that is torn is one more boot that may have failed. Where none can be
 * read, as many have as close the guard. */
void boot_count_parse(Arena *arena, const char *bytes, size_t size, BootGuard *guard);

/* What is proven, as JSON and back; -EINVAL if it is none, and GUARD is as it was. */
json_t *boot_proven_to_json(const BootGuard *guard);
int boot_proven_from_json(Arena *arena, const json_t *json, BootGuard *guard);

/* Counts the boot BOOT_ID, once. */
void boot_guard_begin(Arena *arena, BootGuard *guard, const char *boot_id);

/* The boot is good: what LEDGER grants is proven, unless the guard was closed over it. A boot in which
 * nothing was planned (the daemon has not started, or not yet) has neither failed nor proven anything: it
 * counts for none; false. */
bool boot_guard_succeed(Arena *arena, BootGuard *guard, const Ledger *ledger);

/* Plans everything again from the next boot on; whether that makes a difference. */
bool boot_guard_open(BootGuard *guard);

/* Whether nothing new may be planned: as LEDGER has it, else because too many boots before that of
 * LEDGER failed. */
bool boot_guard_is_closed(const BootGuard *guard, const Ledger *ledger);

typedef struct GuardedPlanInput {
        const BootGuard *guard; /* NULL: the ledger has it open */
        const Config *config;
        const Figures *figures; /* as for demand_compute() */
        bool is_reload; /* as a reload plans: what was released is wanted, and the guard is open */
        /* But for what CONFIG says. Its demand is as it was computed from the same before; NULL: it was not. */
        PlanInput plan;
} GuardedPlanInput;

/* What INPUT refers to must outlive the plan. PROBLEMS is told what keeps, until a reload, from being planned. */
const Plan *boot_guard_plan(Arena *arena, const GuardedPlanInput *input, Diags *problems);
