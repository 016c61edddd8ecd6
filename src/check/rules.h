/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Judges a host by the rules of model/rule.h: the findings of `hugeplanctl check` besides mistakes in the
 * configuration. A rule reads nothing: everything it judges is a value here.
 *
 * The host is judged as it is once the plan is applied and systemd has read its units again (host_after()):
 * problems that the plan solves are not found.
 *
 * A rule adds a finding only if it has the evidence, which it prints. */

#include "check/host_facts.h"
#include "model/rule.h"
#include "plan/idle.h"

/* An instance with all that is known about it. */
typedef struct RuleInstance {
        const InstanceConfig *config;
        const PlanInstance *planned;
        const InstanceFacts *facts;
        const Gathered *gathered; /* the product's present settings; NULL: not known */
        const Sizing *sizing;     /* their need in pages of the planned size; NULL: not known */
        /* The pages of that size that its unit uses; NULL: not known. */
        const PageUser *page_user;
} RuleInstance;

typedef struct Finding {
        Diag diag;
        const SilencedRule *silenced_by; /* NULL: none */
        const char *instance;            /* the one concerned, by name; NULL: the host is */
} Finding;

typedef VEC(Finding) FindingList;

typedef struct Findings {
        FindingList list;     /* mistakes in files, and those that hurt, come first */
        FindingList silenced; /* by SilenceRules= */
        bool is_incomplete;   /* not everything could be read that the rules judge */
} Findings;

/* Returns all findings, which refer to VIEW, with PROBLEMS, which were found by others than rules. */
Findings rules_judge(Arena *arena, const HostView *view, const Diags *problems);

/* Returns how many findings hurt at the next start; mistakes in the configuration do not count. */
size_t findings_count_hurting(const Findings *findings);

/* Returns how many errors are mistakes in the configuration or in its files. */
size_t findings_count_mistakes(const Findings *findings);

/* ---- conflicts: sources of settings that will undo parts of the plan ---- */

/* Adds one problem for each entry that conflicts with the plan: a warning, or a notice if another entry overrides it at
 * present or a line only mentions huge pages. Adds nothing without instances, or for entries that do no harm: the
 * plan's transparent huge page policy, shared-memory limits that suffice, the group that the plan sets too, hugepages=
 * on the kernel command line (its pages count for the plan). Ids: conflict-sysctl, conflict-tmpfiles, conflict-tuned,
 * conflict-command-line, conflict-script. */
void conflicts_add(Arena *arena, const HostView *view, Diags *problems);

/* Returns the remedy for an entry at its place: "delete the line". */
const char *conflict_place_remedy(Arena *arena, const SettingSource *entry);

/* ---- idle pages (plan/idle.h) as text, for `verify`: how many, who set them, and what gives them back ---- */

/* Fewer are not reported. */
#define IDLE_BYTES_MIN (32 * MIB)

typedef struct IdlePages {
        uint64_t pages;      /* 0: none to report */
        const char *where;   /* "919 on node 0, 12 on node 1" */
        const char *command; /* gives them back */
        const char *origin;  /* what sets one of the pools; NULL: no line that was read */
} IdlePages;

IdlePages idle_pages_find(Arena *arena, const HostView *view, uint64_t page_size_bytes);
