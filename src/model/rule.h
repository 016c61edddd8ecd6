/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The rules by which `hugeplanctl check` judges a host: the one table of their ids. What each of them
 * looks for is in check/rules_*.c, why it matters in hugeplan-rules(7); tests see to it that no rule
 * misses one of these. Apart from check/rules.h, so that reading a configuration, which names rules
 * in SilenceRules=, takes none of what they look at. */

#include "base/diag.h"

typedef enum RuleKind {
        RULE_PG_TRY,
        RULE_PG_OFF,
        RULE_PG_SHORT,
        RULE_PG_NAIVE,
        RULE_PG_TIGHT,
        RULE_PG_CMDLINE,
        RULE_PG_SYSV,
        RULE_PG_STATUS,
        RULE_PG_PAGESIZE,
        RULE_PG_DASH,
        RULE_PG_VERSION,
        RULE_PG_IO,

        RULE_ORA_AMM,
        RULE_ORA_FALSE,
        RULE_ORA_TRUE,
        RULE_ORA_AUTO,
        RULE_ORA_SHORT,
        RULE_ORA_MEMLOCK,
        RULE_ORA_MEMLOCK_UNIT,
        RULE_ORA_GROUP,
        RULE_ORA_SHM,
        RULE_ORA_ASM,
        RULE_ORA_THP,
        RULE_ORA_70,
        RULE_ORA_ALERT,

        RULE_MY_OFF,
        RULE_MY_POOL_ONLY,
        RULE_MY_SHORT,
        RULE_MARIA_1G,
        RULE_MARIA_SILENT,
        RULE_MARIA_MEMLOCK,
        RULE_MYSQL_CHUNK,
        RULE_MY_MEMLOCK_BYTES,
        RULE_MY_RESIZE,

        RULE_THP_ALWAYS,
        RULE_THP_NEVER,

        RULE_NODE_EXCEEDED,
        RULE_PLAN_70,
        RULE_IDLE_PAGES,
        RULE_BOOT_PAGES,
        RULE_OVERCOMMIT_PAGES,
        RULE_POOL_UNUSED,
        RULE_POOL_TAKEN,
        RULE_SYSV_LEFT,
        RULE_NODE_POLICY,
        RULE_CGROUP_MAX,
        RULE_HUGETLB_LIMIT_MISSING,
        RULE_HUGETLB_LIMIT_WRONG,
        RULE_HUGETLB_UNLIMITED,
        RULE_MEMORY_MAX,
        RULE_LEARNED_STALE,
        RULE_LIMITS_MEMLOCK,
        RULE_REMOVE_IPC,

        RULE_KINDS,
} RuleKind;

typedef struct Rule {
        const char *id;
        Severity severity;
        bool hurts; /* at the next start of a database, or of the host */
        const char *title;
} Rule;

extern const Rule rules[RULE_KINDS];

/* Whether a problem of that id, which may come from elsewhere (model/problem.h), hurts at the next
 * start when it is more than a notice. */
bool rule_hurts(const char *id);

/* Whether SilenceRules= may name it: rules, and what else is found about a host. Mistakes in the
 * configuration and instances that do not get their pages cannot be silenced. */
bool rule_may_be_silenced(const char *id);

/* The id that WORD was most likely meant to be; NULL where none is near. */
const char *rule_nearest(const char *word);

/* Where an administrator reads more on an id: "hugeplan-rules(7), pg-try". */
char *rule_documentation(Arena *arena, const char *id);
