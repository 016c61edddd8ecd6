/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The kinds of problems, besides the reasons of instances (model/reason.h): the one table of their
 * ids. Each has a message identifier (status/messages.h), a paragraph in units/hugeplan.catalog and a
 * place under PROBLEMS in hugeplanctl(1); tests see to that. */

typedef enum ProblemKind {
        /* of the configuration */
        PROBLEM_CONFIG_SYNTAX,
        PROBLEM_CONFIG_UNREADABLE,
        PROBLEM_CONFIG_UNKNOWN_KEY,
        PROBLEM_CONFIG_BAD_VALUE,
        PROBLEM_CONFIG_SET_TWICE,
        PROBLEM_CONFIG_CONTRADICTION,
        PROBLEM_CONFIG_DUPLICATE,
        PROBLEM_CONFIG_BAD_NAME,
        PROBLEM_CONFIG_ORPHAN,
        PROBLEM_CONFIG_REJECTED, /* by a reload; the plan of before stands */
        PROBLEM_RELOAD_REFUSED,  /* for an instance that stands; likewise */
        PROBLEM_CONFIG_PENDING,  /* a mistake in a file that was not read yet */

        /* of the host under a plan */
        PROBLEM_NO_DAEMON,
        PROBLEM_HOST_UNREADABLE, /* what is there is not known: all stays as it is */
        PROBLEM_RELOAD_PENDING,  /* files that are not as the daemon has read them */
        PROBLEM_NO_UNIT,
        PROBLEM_DROPIN_MISSING,
        PROBLEM_GATE_MISSING, /* the drop-in is there, but the unit is loaded without what it says */
        PROBLEM_GATE_MASKED,  /* likewise, as an administrator preferences */
        PROBLEM_UNIT_NOT_LOADED,
        PROBLEM_UNIT_WRONG,   /* it is there, and does not start the instance's database */
        PROBLEM_UNIT_SHARED,  /* several instances name it */
        PROBLEM_UNIT_CHANGED, /* and systemd has not read it again */
        PROBLEM_UNIT_SETTING, /* as it is loaded, the instance cannot use its pages */
        PROBLEM_DRIFT,
        PROBLEM_HELD_BACK, /* rescue mode */
        PROBLEM_SURPLUS_PAGES,
        PROBLEM_PAGES_EXPOSED, /* what a unit was promised may be taken by another */
        PROBLEM_PAGES_KEPT,    /* by the unit of an instance that is described no longer */
        PROBLEM_GATE_REFUSED,  /* the last start, and nothing has started since */
        PROBLEM_THP_CONFLICT,
        PROBLEM_THP_WRITE,
        PROBLEM_SHM_GROUP_MISSING,
        PROBLEM_SHM_GROUP_REPLACED,
        PROBLEM_LIMIT_WRITE,
        PROBLEM_MOUNT_TAKEN,    /* something else is where an instance's mount is to be */
        PROBLEM_MOUNT_OUTDATED, /* it stands, but not as the configuration says */

        /* entries of other programs that stand against the plan */
        PROBLEM_CONFLICT_COMMAND_LINE,
        PROBLEM_CONFLICT_SYSCTL,
        PROBLEM_CONFLICT_TMPFILES,
        PROBLEM_CONFLICT_TUNED,

        /* of the kernel command line */
        PROBLEM_CMDLINE_TYPO,
        PROBLEM_CMDLINE_BAD_VALUE,
        PROBLEM_CMDLINE_ORDER,
        PROBLEM_CMDLINE_DUPLICATE,
        PROBLEM_CMDLINE_NO_SUCH_SIZE,
        PROBLEM_CMDLINE_INVALID_NODE,
        PROBLEM_CMDLINE_NUMA_OFF,
        PROBLEM_CMDLINE_CMA,
        PROBLEM_CMDLINE_SPREAD,
        PROBLEM_CMDLINE_SHORT,
        PROBLEM_CMDLINE_RUN_TIME,
        PROBLEM_CMDLINE_BEYOND_PLAN,
        PROBLEM_EXISTING_PAGES_KEPT,

        /* of what a database's own files say (Memory=auto) */
        PROBLEM_DATABASE_FILES,

        PROBLEM_KINDS,
} ProblemKind;

/* The stable name for scripts, the log and the catalogue: "thp-write". */
const char *problem_id(ProblemKind kind);
