/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Transparent huge pages against what a database wishes for. The vendors' words stand beside the
 * engines; that instances disagree among themselves is found when the plan is made. */

#include "base/text.h"
#include "check/rules_rows.h"

/* What the host will have: the plan's, or what the kernel has where nothing is touched. */
static ThpPolicy policy_of(const RuleRun *run) {
        ThpPolicy policy = run->input->thp->policy;

        if (policy == THP_KEEP &&
            (!run->input->topology->thp_enabled ||
             thp_policy_from_name(run->input->topology->thp_enabled, &policy) < 0))
                return THP_AUTO;
        return policy;
}

/* Where the policy was resolved from the wishes, thp-conflict names those who lost. */
static bool is_given(const RuleRun *run) {
        return run->input->config->host.thp != THP_AUTO;
}

static Diag wish_diag(RuleRun *run, const RuleInstance *instance, const char *harm) {
        const char *wish = thp_policy_name(thp_wish_of(instance->config));

        return (Diag){
                .file = instance->config->file,
                .text = arena_printf(
                        run->arena,
                        "%s (%s) wants transparent huge pages '%s', and [Host] %s '%s': %s",
                        instance->config->name, instance->config->engine->title, wish,
                        run->input->config->host.thp == THP_KEEP ? "keeps the kernel's"
                                                                 : "gives it",
                        thp_policy_name(policy_of(run)), harm),
        };
}

static void find_always(RuleRun *run) {
        for (size_t i = 0; i < run->n_instances; i++) {
                const RuleInstance *instance = &run->instances[i];
                ThpPolicy wish = thp_wish_of(instance->config);

                if (!is_given(run) || policy_of(run) != THP_ALWAYS ||
                    (wish != THP_NEVER && wish != THP_MADVISE))
                        continue;
                Diag diag = wish_diag(
                        run, instance,
                        "its private memory grows, and it stalls while the kernel compacts");

                diag.remedy =
                        "write TransparentHugePages=auto in [Host], or, from systemd 260 on, MemoryTHP=disable for its unit";
                rule_add(run, &diag);
        }
}

static void find_never(RuleRun *run) {
        for (size_t i = 0; i < run->n_instances; i++) {
                const RuleInstance *instance = &run->instances[i];
                ThpPolicy wish = thp_wish_of(instance->config), policy = policy_of(run);

                if (!is_given(run) || policy == THP_AUTO || wish <= policy || wish < THP_MADVISE)
                        continue;
                Diag diag = wish_diag(run, instance, "it gets small pages and runs slower");

                diag.remedy =
                        "write TransparentHugePages=auto in [Host], and, from systemd 260 on, MemoryTHP=disable for the units that want none";
                rule_add(run, &diag);
        }
}

static const RuleRow rows[] = {
        {RULE_THP_ALWAYS, NULL, NULL, find_always},
        {RULE_THP_NEVER, NULL, NULL, find_never},
};

const RuleFamily rules_thp = {rows, ARRAY_LEN(rows)};
