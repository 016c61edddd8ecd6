/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Judging a host by the rules of model/rule.h: what `hugeplanctl check` says besides mistakes in the
 * configuration. Everything a rule looks at was read before and is a value here; a rule never reads.
 *
 * The host is judged as it will be when the plan has been applied and systemd has read its units again
 * (check/host_after.h): what the plan itself cures is not found.
 *
 * Nothing is said where nothing is known: a rule speaks when it has seen the evidence it prints. */

#include "check/conflict.h"
#include "check/host_facts.h"
#include "model/rule.h"
#include "status/history.h"
#include "status/proof.h"

/* An instance with all that is known about it. */
typedef struct RuleInstance {
        const InstanceConfig *config;
        const PlanInstance *planned;
        const InstanceFacts *facts;
        const Gathered *gathered; /* its product's own settings as they are now; NULL: not known */
        const Sizing *sizing;     /* what they need in pages of the planned size; NULL: not known */
        /* What its unit holds of that page size; NULL: nothing was seen. */
        const PageUser *page_user;
} RuleInstance;

typedef struct RuleInput {
        const Config *config;
        const Topology *topology;
        const Plan *plan;
        const Ledger *ledger; /* by which PLAN was made, as is USE */
        const HostUse *use;
        const ThpPlan *thp;
        const Figures *figures;      /* of all instances that can be asked */
        const HostFacts *facts;      /* of the same configuration, as it will be once applied */
        const PageUsers *page_users; /* NULL: nobody has looked */
        const ProofList *proofs;     /* of the instances that reserve; NULL: likewise */
        const SettingSources *setting_sources; /* NULL: likewise */
        const HistoryEntries *history;         /* NULL: likewise */
        const KernelLine *boot_line;           /* the running kernel's; NULL: not known */
        const Diags *problems; /* what was found by others, to be shown among the rest */
} RuleInput;

typedef struct Finding {
        Diag diag;
        bool hurts;                      /* at the next start of a database, or of the host */
        const SilencedRule *silenced_by; /* NULL: it is not */
        VEC(const char *) instances;     /* that it holds for, by name; none: it is of the host */
        bool is_of_many; /* it stands for findings of its kind in other places, with other figures */
} Finding;

typedef VEC(Finding) FindingList;

typedef struct Findings {
        FindingList list;     /* the most severe first, those that hurt before those that do not */
        FindingList silenced; /* by SilenceRules= */
        bool is_incomplete;   /* not all that the rules judge could be read */
} Findings;

/* More findings of one kind about instances than these are one, the first, that names the others. */
enum { FINDINGS_OF_KIND_MAX = 5 };

/* All findings; refers to INPUT, which must outlive them. */
Findings rules_judge(Arena *arena, const RuleInput *input);

/* How many hurt at the next start; mistakes in the configuration do not count. */
size_t findings_count_hurting(const Findings *findings);

/* Errors that are mistakes in the configuration or in its files. */
size_t findings_count_mistakes(const Findings *findings);
