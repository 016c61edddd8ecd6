/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The kinds of problems, besides the reasons of instances (model/reason.h): the one table of their
 * ids. Each has a message identifier (status/messages.h), a paragraph in units/hugeplan.catalog and a
 * place under PROBLEMS in hugeplanctl(1); tests see to that. */

#include "base/diag.h"

#define PROBLEMS(X)                                                                                \
        /* of the configuration */                                                                 \
        X(CONFIG_SYNTAX, "config-syntax")                                                          \
        X(CONFIG_UNREADABLE, "config-unreadable")                                                  \
        X(CONFIG_UNKNOWN_KEY, "config-unknown-key")                                                \
        X(CONFIG_BAD_VALUE, "config-bad-value")                                                    \
        X(CONFIG_SET_TWICE, "config-set-twice")                                                    \
        X(CONFIG_CONTRADICTION, "config-contradiction")                                            \
        X(CONFIG_DUPLICATE, "config-duplicate")                                                    \
        X(CONFIG_BAD_NAME, "config-bad-name")                                                      \
        X(CONFIG_ORPHAN, "config-orphan")                                                          \
        X(CONFIG_REJECTED, "config-rejected") /* by a reload; the plan of before stands */         \
        X(RELOAD_REFUSED, "reload-refused")   /* for an instance that stands; likewise */          \
        X(CONFIG_PENDING, "config-pending")   /* a mistake in a file that was not read yet */      \
        /* of the host under a plan */                                                             \
        X(NO_DAEMON, "no-daemon")                                                                  \
        X(HOST_UNREADABLE, "host-unreadable") /* what is there is not known: all stays as it is */ \
        X(RELOAD_PENDING, "reload-pending")   /* files that are not as the daemon has read them */ \
        X(NO_UNIT, "no-unit")                                                                      \
        X(DROPIN_MISSING, "dropin-missing")                                                        \
        X(GATE_MISSING, "gate-missing") /* the unit is loaded without what its drop-in says */     \
        X(GATE_MASKED, "gate-masked")   /* likewise, as an administrator wants it */               \
        X(UNIT_NOT_LOADED, "unit-not-loaded")                                                      \
        X(UNIT_WRONG, "unit-wrong") /* it is there, and does not start the instance's database */  \
        X(UNIT_SHARED, "unit-shared")   /* several instances name it */                            \
        X(UNIT_CHANGED, "unit-changed") /* and systemd has not read it again */                    \
        X(UNIT_SETTING, "unit-setting") /* as it is loaded, the instance cannot use its pages */   \
        X(DRIFT, "drift")                                                                          \
        X(HELD_BACK, "held-back") /* rescue mode */                                                \
        X(SURPLUS_PAGES, "surplus-pages")                                                          \
        X(PAGES_EXPOSED, "pages-exposed") /* what a unit was promised may be taken by another */   \
        X(PAGES_KEPT, "pages-kept") /* by the unit of an instance that is described no longer */   \
        X(GATE_REFUSED, "gate-refused") /* the last start, and nothing has started since */        \
        X(THP_CONFLICT, "thp-conflict")                                                            \
        X(THP_WRITE, "thp-write")                                                                  \
        X(SHM_GROUP_MISSING, "shm-group-missing")                                                  \
        X(SHM_GROUP_REPLACED, "shm-group-replaced")                                                \
        X(LIMIT_WRITE, "limit-write")                                                              \
        X(MOUNT_TAKEN, "mount-taken") /* something else is where an instance's mount is to be */   \
        X(MOUNT_OUTDATED, "mount-outdated") /* it stands, but not as the configuration says */     \
        /* entries of other programs that stand against the plan */                                \
        X(CONFLICT_COMMAND_LINE, "conflict-command-line")                                          \
        X(CONFLICT_SYSCTL, "conflict-sysctl")                                                      \
        X(CONFLICT_TMPFILES, "conflict-tmpfiles")                                                  \
        X(CONFLICT_TUNED, "conflict-tuned")                                                        \
        X(CONFLICT_SCRIPT, "conflict-script")                                                      \
        /* of the kernel command line */                                                           \
        X(CMDLINE_TYPO, "cmdline-typo")                                                            \
        X(CMDLINE_BAD_VALUE, "cmdline-bad-value")                                                  \
        X(CMDLINE_ORDER, "cmdline-order")                                                          \
        X(CMDLINE_DUPLICATE, "cmdline-duplicate")                                                  \
        X(CMDLINE_NO_SUCH_SIZE, "cmdline-no-such-size")                                            \
        X(CMDLINE_INVALID_NODE, "cmdline-invalid-node")                                            \
        X(CMDLINE_NUMA_OFF, "cmdline-numa-off")                                                    \
        X(CMDLINE_CMA, "cmdline-cma")                                                              \
        X(CMDLINE_SPREAD, "cmdline-spread")                                                        \
        X(CMDLINE_SHORT, "cmdline-short")                                                          \
        X(CMDLINE_RUN_TIME, "cmdline-run-time")                                                    \
        X(CMDLINE_BEYOND_PLAN, "cmdline-beyond-plan")                                              \
        X(EXISTING_PAGES_KEPT, "existing-pages-kept")                                              \
        /* of what a database's own files say (Memory=auto) */                                     \
        X(DATABASE_FILES, "database-files")

#define PROBLEM_ENUMERATOR(name, id) PROBLEM_##name,
typedef enum ProblemKind { PROBLEMS(PROBLEM_ENUMERATOR) PROBLEM_KINDS } ProblemKind;

/* The stable name for scripts, the log and the catalogue: "thp-write". */
const char *problem_id(ProblemKind kind);

/* Adds one, with copies of its strings; FILE and REMEDY may be NULL. */
void problem_add(Diags *problems, Severity severity, ProblemKind kind, const char *file,
                 const char *text, const char *remedy);
