/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Running rules: what the families of rules, one file each, are made of and share. Only they and
 * check/rules.c include this. */

#include "check/rules.h"

typedef struct RuleRun RuleRun;

/* One rule: it looks at each instance of some engines, or at the host as a whole. */
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
        const RuleInput *input;
        const RuleInstance
                *instances; /* those without mistakes that reserve pages or have a preference */
        size_t n_instances;
        const RuleRow *row;
        const RuleInstance *instance; /* that the row looks at; NULL: the host as a whole */
        Findings *findings;
};

/* Adds what others have found. */
void rule_add_problem(RuleRun *run, const Diag *problem);

/* Adds a finding of the rule that runs; id and severity are the rule's. Where one line, as of a
 * template, makes it hold for several instances, it is one finding that names them. */
void rule_add(RuleRun *run, const Diag *diag);

/* A finding at that place: what is wrong, which FORMAT says, and what to do about it. */
void rule_tell(RuleRun *run, Diag at, const char *remedy, const char *format, ...)
        PRINTF_LIKE(4, 5);

/* rule_add() of another severity, where the case at hand is milder than most. */
void rule_add_as(RuleRun *run, Severity severity, const Diag *diag);

/* Where a setting stands, as a place for a finding: its "FILE:LINE" taken apart. */
Diag rule_at_setting(RuleRun *run, const Setting *setting);

/* The same of the setting of that name; where it is not set, the product's file that should have it. */
Diag rule_at_name(RuleRun *run, const RuleInstance *instance, const char *name);

/* The line of the instance's own file where its size comes from. */
Diag rule_at_size(const RuleInstance *instance);

/* Where an assignment of a unit stands. */
Diag rule_at_unit(const UnitAssignment *assignment);

/* The setting of that name in the product's own files; NULL where it is not set or not known. */
const Setting *rule_setting(const RuleInstance *instance, const char *name);

/* Whether a switch of the product's own is set, and on. */
bool rule_is_on(const RuleInstance *instance, const char *name);

/* "1,081 pages of 2M (2.1G)"; "huge pages" where its size is not known. */
static inline const char *rule_planned_pages(Arena *arena, const RuleInstance *instance) {
        const PlanInstance *planned = instance->planned;

        return planned->pages_wanted > 0 ? format_page_count_and_size(arena, planned->pages_wanted,
                                                                      planned->page_size_bytes)
                                         : "huge pages";
}

static inline uint64_t rule_planned_bytes(const RuleInstance *instance) {
        return plan_wanted_bytes(instance->planned);
}

/* The bytes of one step of the instance's derivation; 0 where there is none of that name. */
uint64_t rule_step_bytes(const RuleInstance *instance, const char *what);

/* Whether the instance attaches System V shared memory, for which the kernel has rules of its own. */
bool rule_uses_sysv(const RuleInstance *instance);

/* The file of the control group of UNIT that has our limit. */
char *rule_limit_file(const RuleRun *run, const UnitFacts *unit, uint64_t page_size_bytes);

/* Whether any instance is of the engine NAME. */
bool rule_has_engine(const RuleRun *run, const char *name);

/* Finds that the instances want more than 70 % of the memory, with WHY that is worth a thought. More
 * than all of it is another rule's matter. */
void rule_add_if_most(RuleRun *run, const char *why, const char *remedy);

/* Whether it names a unit whose files are there, so that something is known of it. */
bool rule_has_unit(const RuleInstance *instance);

/* Whether the owner has CAP_IPC_LOCK: root, or by the unit. */
bool rule_may_lock(const RuleInstance *instance);

/* LimitMEMLOCK= of the unit, soft; systemd's own default where it is not set. *RET_ASSIGNMENT is
 * NULL then. */
uint64_t rule_memlock_bytes(RuleRun *run, const RuleInstance *instance,
                            const UnitAssignment **ret_assignment);
