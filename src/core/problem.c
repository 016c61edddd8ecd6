/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/problem.h"

static const char *const problem_ids[PROBLEM_KINDS] = {
        [PROBLEM_CONFIG_SYNTAX] = "config-syntax",
        [PROBLEM_CONFIG_UNREADABLE] = "config-unreadable",
        [PROBLEM_CONFIG_UNKNOWN_KEY] = "config-unknown-key",
        [PROBLEM_CONFIG_BAD_VALUE] = "config-bad-value",
        [PROBLEM_CONFIG_SET_TWICE] = "config-set-twice",
        [PROBLEM_CONFIG_NOT_SUPPORTED] = "config-not-supported",
        [PROBLEM_CONFIG_CONTRADICTION] = "config-contradiction",
        [PROBLEM_CONFIG_DUPLICATE] = "config-duplicate",
        [PROBLEM_CONFIG_BAD_NAME] = "config-bad-name",
        [PROBLEM_CONFIG_ORPHAN] = "config-orphan",
        [PROBLEM_CONFIG_REJECTED] = "config-rejected",
        [PROBLEM_NO_DAEMON] = "no-daemon",
        [PROBLEM_NO_UNIT] = "no-unit",
        [PROBLEM_DROPIN_MISSING] = "dropin-missing",
        [PROBLEM_DRIFT] = "drift",
        [PROBLEM_HELD_BACK] = "held-back",
        [PROBLEM_SURPLUS_PAGES] = "surplus-pages",
        [PROBLEM_THP_CONFLICT] = "thp-conflict",
        [PROBLEM_THP_WRITE] = "thp-write",
        [PROBLEM_CONFLICT_COMMAND_LINE] = "conflict-command-line",
        [PROBLEM_CONFLICT_SYSCTL] = "conflict-sysctl",
        [PROBLEM_CONFLICT_TMPFILES] = "conflict-tmpfiles",
        [PROBLEM_CONFLICT_TUNED] = "conflict-tuned",
        [PROBLEM_CMDLINE_TYPO] = "cmdline-typo",
        [PROBLEM_CMDLINE_BAD_VALUE] = "cmdline-bad-value",
        [PROBLEM_CMDLINE_ORDER] = "cmdline-order",
        [PROBLEM_CMDLINE_DUPLICATE] = "cmdline-duplicate",
        [PROBLEM_CMDLINE_NO_SUCH_SIZE] = "cmdline-no-such-size",
        [PROBLEM_CMDLINE_INVALID_NODE] = "cmdline-invalid-node",
        [PROBLEM_CMDLINE_NUMA_OFF] = "cmdline-numa-off",
        [PROBLEM_CMDLINE_CMA] = "cmdline-cma",
        [PROBLEM_CMDLINE_SPREAD] = "cmdline-spread",
        [PROBLEM_CMDLINE_SHORT] = "cmdline-short",
        [PROBLEM_CMDLINE_RUN_TIME] = "cmdline-run-time",
        [PROBLEM_CMDLINE_BEYOND_PLAN] = "cmdline-beyond-plan",
        [PROBLEM_CMDLINE_LOST_AT_NEXT_BOOT] = "cmdline-lost-at-next-boot",
        [PROBLEM_CMDLINE_FROM_NEXT_BOOT] = "cmdline-from-next-boot",
        [PROBLEM_EXISTING_PAGES_KEPT] = "existing-pages-kept",
        [PROBLEM_DATABASE_FILES] = "database-files",
};

const char *problem_id(ProblemKind kind) {
        return problem_ids[kind];
}
