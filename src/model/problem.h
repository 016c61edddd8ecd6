/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The kinds of problems, besides the reasons of instances (model/reason.h): the one table of their ids. Each has a
 * message identifier (status/history.h), a paragraph in units/hugeplan.catalog and a place under PROBLEMS in
 * hugeplan-rules(7), which tests check. Identifier, id, severity, weight. */

#include "base/diag.h"

#define PROBLEMS(X)                                                                         \
        /* configuration */                                                                 \
        X(CONFIG_SYNTAX, "config-syntax", ERROR, ALWAYS)                                    \
        X(CONFIG_UNREADABLE, "config-unreadable", ERROR, ALWAYS)                            \
        X(CONFIG_UNKNOWN_KEY, "config-unknown-key", ERROR, ALWAYS)                          \
        X(CONFIG_BAD_VALUE, "config-bad-value", ERROR, ALWAYS)                              \
        X(CONFIG_SET_TWICE, "config-set-twice", ERROR, ALWAYS)                              \
        X(CONFIG_CONTRADICTION, "config-contradiction", ERROR, ALWAYS)                      \
        X(CONFIG_DUPLICATE, "config-duplicate", ERROR, ALWAYS)                              \
        X(CONFIG_BAD_NAME, "config-bad-name", ERROR, ALWAYS)                                \
        X(CONFIG_ORPHAN, "config-orphan", WARNING, ALWAYS)                                  \
        X(CONFIG_REJECTED, "config-rejected", WARNING,                                      \
          ALWAYS) /* by a reload; the previous plan stays in effect */                      \
        X(RELOAD_REFUSED, "reload-refused", ERROR,                                          \
          ALWAYS) /* an instance could not start any more; likewise */                      \
        X(CONFIG_PENDING, "config-pending", ERROR,                                          \
          ALWAYS) /* a mistake in a file that hugepland has not read yet */                 \
        /* the host under a plan */                                                         \
        X(NO_DAEMON, "no-daemon", WARNING, ALWAYS)                                          \
        X(STANDS_ASIDE, "stands-aside", WARNING, HURTS) /* off, container, no hugetlb */    \
        X(HOST_UNREADABLE, "host-unreadable", ERROR,                                        \
          ALWAYS) /* the host's state is not known: nothing is changed */                   \
        X(RELOAD_PENDING, "reload-pending", WARNING,                                        \
          HARMLESS) /* files that have changed since the daemon read them */                \
        X(NO_UNIT, "no-unit", NOTICE, HARMLESS)                                             \
        X(DROPIN_MISSING, "dropin-missing", WARNING, HURTS)                                 \
        X(GATE_MISSING, "gate-missing", WARNING,                                            \
          HURTS) /* the unit is loaded without its drop-in */                               \
        X(GATE_MASKED, "gate-masked", NOTICE,                                               \
          HARMLESS) /* likewise, by the administrator's choice */                           \
        X(UNIT_NOT_LOADED, "unit-not-loaded", WARNING, HURTS)                               \
        X(UNIT_WRONG, "unit-wrong", WARNING,                                                \
          HURTS) /* it exists, but does not start the instance's database */                \
        X(UNIT_SHARED, "unit-shared", WARNING, HARMLESS) /* several instances name it */    \
        X(UNIT_CHANGED, "unit-changed", WARNING, ALWAYS) /* not reloaded by systemd */      \
        X(UNIT_SETTING, "unit-setting", WARNING,                                            \
          HURTS) /* as loaded, it keeps the instance from its pages */                      \
        X(DRIFT, "drift", WARNING, ALWAYS)                                                  \
        X(HELD_BACK, "held-back", NOTICE, ALWAYS) /* rescue mode */                         \
        X(SURPLUS_PAGES, "surplus-pages", NOTICE, ALWAYS)                                   \
        X(PAGES_EXPOSED, "pages-exposed", WARNING,                                          \
          ALWAYS) /* another process may take a unit's reserved pages */                    \
        X(PAGES_KEPT, "pages-kept", NOTICE, ALWAYS) /* by the unit of a removed instance */ \
        X(GATE_REFUSED, "gate-refused", ERROR,                                              \
          ALWAYS) /* the last start; nothing has started since */                           \
        X(THP_CONFLICT, "thp-conflict", WARNING, HARMLESS)                                  \
        X(THP_WRITE, "thp-write", ERROR, ALWAYS)                                            \
        X(SHM_GROUP_MISSING, "shm-group-missing", ERROR, HURTS)                             \
        X(SHM_GROUP_REPLACED, "shm-group-replaced", WARNING, HURTS)                         \
        X(LIMIT_WRITE, "limit-write", ERROR, ALWAYS)                                        \
        X(STATE_WRITE, "state-write", WARNING, ALWAYS)                                      \
        X(MOUNT_TAKEN, "mount-taken", WARNING,                                              \
          HURTS) /* something else is at an instance's mount point */                       \
        X(MOUNT_OUTDATED, "mount-outdated", WARNING,                                        \
          HURTS) /* the mount or its unit is not as configured */                           \
        /* entries of other programs that conflict with the plan */                         \
        X(CONFLICT_COMMAND_LINE, "conflict-command-line", WARNING, HURTS)                   \
        X(CONFLICT_SYSCTL, "conflict-sysctl", WARNING, HURTS)                               \
        X(CONFLICT_TMPFILES, "conflict-tmpfiles", WARNING, HURTS)                           \
        X(CONFLICT_TUNED, "conflict-tuned", WARNING, HURTS)                                 \
        X(CONFLICT_SCRIPT, "conflict-script", WARNING, ALWAYS)                              \
        /* kernel command line */                                                           \
        X(CMDLINE_BAD_VALUE, "cmdline-bad-value", ERROR, HURTS)                             \
        X(CMDLINE_DUPLICATE, "cmdline-duplicate", ERROR, HURTS)                             \
        X(CMDLINE_NO_SUCH_SIZE, "cmdline-no-such-size", ERROR, HURTS)                       \
        X(CMDLINE_INVALID_NODE, "cmdline-invalid-node", ERROR, HURTS)                       \
        X(CMDLINE_NUMA_OFF, "cmdline-numa-off", ERROR, HURTS)                               \
        X(CMDLINE_CMA, "cmdline-cma", ERROR, HURTS)                                         \
        X(CMDLINE_SPREAD, "cmdline-spread", WARNING, HARMLESS)                              \
        X(CMDLINE_SHORT, "cmdline-short", WARNING, HURTS)                                   \
        X(CMDLINE_RUN_TIME, "cmdline-run-time", NOTICE, HURTS)                              \
        X(CMDLINE_BEYOND_PLAN, "cmdline-beyond-plan", NOTICE, HARMLESS)                     \
        X(EXISTING_PAGES_KEPT, "existing-pages-kept", ERROR, HARMLESS)                      \
        /* a database's own files (Memory=auto) */                                          \
        X(DATABASE_FILES, "database-files", WARNING, HARMLESS)

#define PROBLEM_ENUMERATOR(name, id, severity, weight) PROBLEM_##name,
typedef enum ProblemKind { PROBLEMS(PROBLEM_ENUMERATOR) PROBLEM_KINDS } ProblemKind;

/* Whether SilenceRules= may name the problem, and if so whether it hurts at the next start (model/rule.h). */
typedef enum ProblemWeight { PROBLEM_ALWAYS, PROBLEM_HARMLESS, PROBLEM_HURTS } ProblemWeight;

typedef struct Problem {
        const char *id; /* stable, for scripts, the log and the catalogue: "thp-write" */
        Severity severity;
        ProblemWeight weight;
} Problem;

extern const Problem problem_kinds[PROBLEM_KINDS];

const char *problem_id(ProblemKind kind);

/* Returns a problem of KIND with its usual severity; FILE and REMEDY may be NULL. */
Diag problem_of(ProblemKind kind, const char *file, const char *remedy);
