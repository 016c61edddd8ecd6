/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* All that a host is judged by, as hugeplanctl has read it: for rules, conflicts, idle pages, import and report. What
 * was not read is NULL, and nothing is concluded from it. */

#include "check/host_facts.h"
#include "plan/plan.h"
#include "plan/thp_plan.h"
#include "read/accounts.h"
#include "read/setting_source.h"
#include "status/history.h"
#include "status/proof.h"

typedef struct HostView {
        const Config *config;
        const Topology *topology;
        const Ledger *ledger;
        const HostUse *use;
        const Plan *plan; /* made from the above */
        const ThpPlan *thp;
        const Figures *figures; /* of all instances whose files can be read */
        const HostFacts *facts; /* of the same configuration, once it is applied */
        const Accounts *accounts;
        const PageUsers *page_users;
        const ProofList *proofs; /* of the instances that reserve pages */
        const SettingSources *setting_sources;
        const HistoryEntries *history;
        const KernelLine *boot_line; /* the running kernel's */
} HostView;
