/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The rules of `hugeplanctl check`: the one table of their ids. check/rules_*.c implements each rule, hugeplan-rules(7)
 * explains why it matters; tests check that none is missing. Separate from check/rules.h, so that the configuration,
 * which names rules in SilenceRules=, does not depend on what they examine. */

#include "base/diag.h"

/* Identifier, id, severity, whether the finding hurts at the next start of a database or of the host, and title. */
#define RULES(X)                                                                                  \
        X(PG_TRY, "pg-try", WARNING, false, "PostgreSQL silently falls back to small pages")      \
        X(PG_OFF, "pg-off", WARNING, true,                                                        \
          "PostgreSQL does not take the pages that are reserved for it")                          \
        X(PG_SHORT, "pg-short", ERROR, true, "PostgreSQL needs more pages than are planned")      \
        X(PG_SYSV, "pg-sysv", ERROR, true,                                                        \
          "PostgreSQL takes no huge pages for System V shared memory")                            \
        X(PG_PAGESIZE, "pg-pagesize", ERROR, true,                                                \
          "PostgreSQL takes pages of another size than the plan has")                             \
        X(ORA_AMM, "ora-amm", ERROR, true,                                                        \
          "Oracle's automatic memory management takes no huge pages")                             \
        X(ORA_FALSE, "ora-false", WARNING, true,                                                  \
          "Oracle does not take the pages that are reserved for it")                              \
        X(ORA_TRUE, "ora-true", WARNING, false,                                                   \
          "Oracle starts with whatever huge pages there are")                                     \
        X(ORA_AUTO, "ora-auto", WARNING, true, "Oracle resizes the pool itself")                  \
        X(ORA_SHORT, "ora-short", WARNING, true, "the SGA needs more pages than are planned")     \
        X(ORA_MEMLOCK, "ora-memlock", ERROR, true,                                                \
          "the unit's memlock limit is below the shared memory")                                  \
        X(ORA_GROUP, "ora-group", ERROR, true,                                                    \
          "the kernel refuses System V huge pages to this owner")                                 \
        X(ORA_SHM, "ora-shm", ERROR, true, "the kernel's limits for shared memory are too low")   \
        X(MY_OFF, "my-off", WARNING, true,                                                        \
          "the server does not take the pages that are reserved for it")                          \
        X(MY_SHORT, "my-short", WARNING, true, "the server needs more pages than are planned")    \
        X(MARIA_1G, "maria-1g", WARNING, true, "MariaDB takes others' gigantic pages first")      \
        X(THP_ALWAYS, "thp-always", WARNING, true, "transparent huge pages harm this database")   \
        X(THP_NEVER, "thp-never", WARNING, false, "this database prefers transparent huge pages") \
        X(PLAN_70, "plan-70", NOTICE, false, "most of the memory becomes huge pages")             \
        X(IDLE_PAGES, "idle-pages", WARNING, false, "pages that no instance needs are idle")      \
        X(OVERCOMMIT_PAGES, "overcommit-pages", WARNING, false,                                   \
          "surplus pages hide a shortage until it hurts")                                         \
        X(FELL_BACK, "fell-back", WARNING, true,                                                  \
          "the database runs with small pages instead of its huge pages")                         \
        X(OFF_PLAN, "off-plan", WARNING, false,                                                   \
          "the database has other pages than planned for it")                                     \
        X(POOL_TAKEN, "pool-taken", WARNING, true, "others use the instances' pages")             \
        X(SYSV_LEFT, "sysv-left", WARNING, true, "an unused segment occupies huge pages")         \
        X(NODE_POLICY, "node-policy", ERROR, true,                                                \
          "the unit may not use the nodes where its pages are")                                   \
        X(CGROUP_MAX, "cgroup-max", ERROR, true,                                                  \
          "a control group allows fewer huge pages than are planned")                             \
        X(HUGETLB_SIGBUS, "hugetlb-sigbus", WARNING, true,                                        \
          "a control group lets programs reserve huge pages, and kills them")                     \
        X(HUGETLB_LIMIT_MISSING, "hugetlb-limit-missing", WARNING, false,                         \
          "a unit runs without the hugetlb limit that it should have")                            \
        X(HUGETLB_LIMIT_WRONG, "hugetlb-limit-wrong", WARNING, false,                             \
          "the hugetlb limit of a running unit is not as planned")                                \
        X(HUGETLB_UNLIMITED, "hugetlb-unlimited", NOTICE, false,                                  \
          "a unit that is not an instance's may take the instances' pages")                       \
        X(MEMORY_MAX, "memory-max", ERROR, true,                                                  \
          "huge pages count against a memory limit that is too low")                              \
        X(LEARNED_STALE, "learned-stale", WARNING, true,                                          \
          "the settings need more than was learned")                                              \
        X(GATE_CUT_OFF, "gate-cut-off", WARNING, true,                                            \
          "the gate cannot reach hugepland from its unit")                                        \
        X(REMOVE_IPC, "remove-ipc", WARNING, false,                                               \
          "a logout may remove the database's shared memory")                                     \
        X(BOOT_UNCOUNTED, "boot-uncounted", WARNING, false,                                       \
          "the boot guard could not count this boot")

#define RULE_ENUMERATOR(name, ...) RULE_##name,
typedef enum RuleKind { RULES(RULE_ENUMERATOR) RULE_KINDS } RuleKind;

typedef struct Rule {
        const char *id;
        Severity severity;
        bool hurts; /* at the next start of a database, or of the host */
        const char *title;
} Rule;

extern const Rule rules[RULE_KINDS];

/* Returns whether a problem with that id (also of model/problem.h), if more than a notice, hurts at the next start. */
bool rule_hurts(const char *id);

/* Returns whether SilenceRules= may name ID: a rule, or another finding about a host. Mistakes in the configuration and
 * instances that do not get their pages cannot be silenced. */
bool rule_may_be_silenced(const char *id);

/* Returns the id that WORD most likely means, or NULL if none is similar. */
const char *rule_nearest(const char *word);

/* Returns where the administrator finds more about an id: "hugeplan-rules(7), pg-try". */
char *rule_documentation(Arena *arena, const char *id);
