/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Running rules: the parts of a rule family, each of which is one file, and what the families share. Only they and
 * check/rules.c include this. */

#include "check/rules.h"

typedef struct RuleRun RuleRun;

/* A rule, which judges each instance of some engines or the host as a whole. */
typedef struct RuleRow {
        RuleKind kind;
        const char *engines; /* "mariadb mysql"; NULL: all that reserve pages */
        void (*find_in_instance)(RuleRun *run, const RuleInstance *instance);
        void (*find)(RuleRun *run);
} RuleRow;

typedef struct RuleFamily {
        const RuleRow *rows;
        size_t n;
} RuleFamily;

struct RuleRun {
        Arena *arena;
        const HostView *input;
        const RuleInstance *instances; /* without mistakes, and with pages or a preference */
        size_t n_instances;
        const RuleRow *row;
        const RuleInstance *instance; /* the one being judged; NULL: the host as a whole */
        Findings *findings;
};

/* Adds a finding of the present rule, with that rule's id and severity. */
void rule_add(RuleRun *run, const Diag *diag);

/* Adds a finding at the place AT: FORMAT says what is wrong, REMEDY what to do. */
void rule_report(RuleRun *run, Diag at, const char *remedy, const char *format, ...)
        PRINTF_LIKE(4, 5);

/* Returns the place of a setting: its "FILE:LINE" taken apart. */
Diag rule_at_setting(RuleRun *run, const Setting *setting);

/* Returns the place of the setting NAME; if it is not set, the product's file that should have it. */
Diag rule_at_name(RuleRun *run, const RuleInstance *instance, const char *name);

/* Returns the line of the instance's own file that sets its size. */
Diag rule_at_size(const RuleInstance *instance);

/* Returns the place of an assignment in a unit. */
Diag rule_at_unit(const UnitAssignment *assignment);

/* Returns the setting NAME in the product's own files; NULL: not set or not known. */
const Setting *rule_setting(const RuleInstance *instance, const char *name);

/* Returns whether an option of the product is set, and is on. */
bool rule_is_on(const RuleInstance *instance, const char *name);

/* Returns "1,081 pages of 2M (2.1G)", or "huge pages" if the size is not known. */
static inline const char *rule_planned_pages(Arena *arena, const RuleInstance *instance) {
        const PlanInstance *planned = instance->planned;

        return planned->pages_wanted > 0 ? format_page_count_and_size(arena, planned->pages_wanted,
                                                                      planned->page_size_bytes)
                                         : "huge pages";
}

static inline uint64_t rule_planned_bytes(const RuleInstance *instance) {
        return plan_wanted_bytes(instance->planned);
}

/* Returns the bytes of one step of the instance's derivation; 0: no such step. */
uint64_t rule_step_bytes(const RuleInstance *instance, const char *what);

/* Returns whether the instance attaches System V shared memory, which has its own limits in the kernel. */
bool rule_uses_sysv(const RuleInstance *instance);
