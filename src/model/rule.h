/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The rules of `hugeplanctl check`: the one table of their ids. check/rules_*.c implements each rule, hugeplan-rules(7)
 * explains why it matters; tests check that none is missing. Separate from check/rules.h, so that the configuration,
 * which names rules in SilenceRules=, does not depend on what they examine. */

#include "base/diag.h"

/* Identifier, id, severity, and whether the finding hurts at the next start of a database or of the host. */
#define RULES(X)                                                          \
        X(PG_TRY, "pg-try", WARNING, false)                               \
        X(PG_OFF, "pg-off", WARNING, true)                                \
        X(PG_SHORT, "pg-short", ERROR, true)                              \
        X(PG_SYSV, "pg-sysv", ERROR, true)                                \
        X(PG_PAGESIZE, "pg-pagesize", ERROR, true)                        \
        X(ORA_AMM, "ora-amm", ERROR, true)                                \
        X(ORA_FALSE, "ora-false", WARNING, true)                          \
        X(ORA_TRUE, "ora-true", WARNING, false)                           \
        X(ORA_AUTO, "ora-auto", WARNING, true)                            \
        X(ORA_SHORT, "ora-short", WARNING, true)                          \
        X(ORA_GROUP, "ora-group", ERROR, true)                            \
        X(ORA_SHM, "ora-shm", ERROR, true)                                \
        X(MY_OFF, "my-off", WARNING, true)                                \
        X(MY_SHORT, "my-short", WARNING, true)                            \
        X(MARIA_1G, "maria-1g", WARNING, true)                            \
        X(THP_ALWAYS, "thp-always", WARNING, true)                        \
        X(THP_NEVER, "thp-never", WARNING, false)                         \
        X(PLAN_70, "plan-70", NOTICE, false)                              \
        X(COMMIT_LIMIT, "commit-limit", WARNING, false)                   \
        X(MEMORY_ERRORS, "memory-errors", WARNING, false)                 \
        X(OVERCOMMIT_PAGES, "overcommit-pages", WARNING, false)           \
        X(FELL_BACK, "fell-back", WARNING, true)                          \
        X(OFF_PLAN, "off-plan", WARNING, false)                           \
        X(POOL_TAKEN, "pool-taken", WARNING, true)                        \
        X(NODE_NO_CPU, "node-no-cpu", NOTICE, false)                      \
        X(CGROUP_MAX, "cgroup-max", ERROR, true)                          \
        X(HUGETLB_SIGBUS, "hugetlb-sigbus", WARNING, true)                \
        X(HUGETLB_LIMIT_MISSING, "hugetlb-limit-missing", WARNING, false) \
        X(HUGETLB_LIMIT_WRONG, "hugetlb-limit-wrong", WARNING, false)     \
        X(HUGETLB_UNLIMITED, "hugetlb-unlimited", NOTICE, false)          \
        X(MEMORY_MAX, "memory-max", ERROR, true)                          \
        X(LEARNED_STALE, "learned-stale", WARNING, true)                  \
        X(GATE_CUT_OFF, "gate-cut-off", WARNING, true)                    \
        X(REMOVE_IPC, "remove-ipc", WARNING, false)                       \
        X(BOOT_UNCOUNTED, "boot-uncounted", WARNING, false)

#define RULE_ENUMERATOR(name, ...) RULE_##name,
typedef enum RuleKind { RULES(RULE_ENUMERATOR) RULE_KINDS } RuleKind;

typedef struct Rule {
        const char *id;
        Severity severity;
        bool hurts; /* at the next start of a database, or of the host */
} Rule;

extern const Rule rules[RULE_KINDS];

/* Returns whether PROBLEM, of a rule or of model/problem.h, hurts at the next start. */
bool rule_hurts(const Diag *problem);

/* Returns whether SilenceRules= may name ID: a rule, or another finding about a host. Mistakes in the configuration and
 * instances that do not get their pages cannot be silenced. */
bool rule_may_be_silenced(const char *id);

/* Returns the id that WORD most likely means, or NULL if none is similar. */
const char *rule_nearest(const char *word);
