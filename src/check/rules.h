/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Judges a host by the rules of model/rule.h: the findings of `hugeplanctl check` besides mistakes in the
 * configuration. A rule reads nothing: everything it judges is a value here.
 *
 * The host is judged as it is once the plan is applied and systemd has read its units again (check/host_after.h):
 * problems that the plan solves are not found.
 *
 * A rule adds a finding only if it has the evidence, which it prints. */

#include "check/host_view.h"
#include "model/rule.h"

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
        bool hurts;                      /* at the next start of a database, or of the host */
        const SilencedRule *silenced_by; /* NULL: none */
        VEC(const char *) instances;     /* those concerned, by name; none: the host is */
        bool is_of_many; /* it also stands for findings of its kind with other places and figures */
} Finding;

typedef VEC(Finding) FindingList;

typedef struct Findings {
        FindingList list;     /* worst first; of the same severity, those that hurt */
        FindingList silenced; /* by SilenceRules= */
        bool is_incomplete;   /* not everything could be read that the rules judge */
} Findings;

/* More findings of one kind about instances are reduced to the first, which names the other instances. */
enum { FINDINGS_OF_KIND_MAX = 5 };

/* Returns all findings, which refer to VIEW, with PROBLEMS, which were found by others than rules. */
Findings rules_judge(Arena *arena, const HostView *view, const Diags *problems);

/* Returns how many findings hurt at the next start; mistakes in the configuration do not count. */
size_t findings_count_hurting(const Findings *findings);

/* Returns how many errors are mistakes in the configuration or in its files. */
size_t findings_count_mistakes(const Findings *findings);
