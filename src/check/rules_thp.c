/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Transparent huge pages against what a database asks for. The vendors' words stand beside the
 * engines; that instances disagree among themselves is found when the plan is made. */

#include "check/rule_run.h"

/* What the host will have: the plan's, or what the kernel has where nothing is touched. */
static ThpPolicy policy_of(const RuleRun *run) {
        ThpPolicy policy = run->input->thp->policy;

        if (policy == THP_KEEP &&
            (!run->input->topology->thp_enabled ||
             thp_policy_from_name(run->input->topology->thp_enabled, &policy) < 0))
                return THP_AUTO;
        return policy;
}

static void tell_preference(RuleRun *run, const RuleInstance *instance, const char *harm,
                            const char *remedy) {
        rule_tell(run, (Diag){.file = instance->config->file}, remedy,
                  "%s (%s) wants transparent huge pages '%s', and [Host] %s '%s': %s",
                  instance->config->name, instance->config->engine->title,
                  thp_policy_name(thp_preference_of(instance->config)),
                  run->input->config->host.thp == THP_KEEP ? "keeps the kernel's" : "gives it",
                  thp_policy_name(policy_of(run)), harm);
}

static void find_always(RuleRun *run) {
        /* Where the policy was resolved from the preferences, thp-conflict names those who lost. */
        ARRAY_FOREACH(instance, run->instances, run->n_instances)
                if (run->input->config->host.thp != THP_AUTO &&
                    thp_is_served_by_unit(thp_preference_of(instance->config), policy_of(run)))
                        tell_preference(
                                run, instance,
                                "its private memory grows, and it stalls while the kernel compacts",
                                "write TransparentHugePages=auto in [Host], or, from systemd 260 on, MemoryTHP=disable for its unit");
}

static void find_never(RuleRun *run) {
        ThpPolicy policy = policy_of(run);

        ARRAY_FOREACH(instance, run->instances, run->n_instances) {
                ThpPolicy preference = thp_preference_of(instance->config);

                if (run->input->config->host.thp != THP_AUTO && policy != THP_AUTO &&
                    preference > policy && preference >= THP_MADVISE)
                        tell_preference(
                                run, instance, "it gets small pages and runs slower",
                                "write TransparentHugePages=auto in [Host], and, from systemd 260 on, MemoryTHP=disable for the units that want none");
        }
}

static const RuleRow rows[] = {
        {RULE_THP_ALWAYS, NULL, NULL, find_always},
        {RULE_THP_NEVER, NULL, NULL, find_never},
};

const RuleFamily rules_thp = {rows, ARRAY_LEN(rows)};
