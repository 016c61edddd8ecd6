/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/host_plan.h"

#include "base/size.h"
#include "base/text.h"
#include "model/names.h"
#include "model/problem.h"

static void name_displeased(const Config *config, ThpPolicy policy, unsigned systemd_version,
                            Diags *problems) {
        ARRAY_FOREACH(instance, config->instances, config->n_instances) {
                ThpPolicy preference = thp_preference_of(instance);

                bool is_served_by_unit = systemd_version >= SYSTEMD_MEMORY_THP && instance->unit &&
                                         thp_is_served_by_unit(preference, policy);

                /* madvise gives huge pages only to processes that ask, so it suits instances that want none. */
                if (instance->refusal || preference == THP_AUTO || preference == policy ||
                    (preference == THP_NEVER && policy == THP_MADVISE) || is_served_by_unit)
                        continue;
                diags_report(
                        problems,
                        (Diag){.severity = SEVERITY_WARNING,
                               .id = problem_id(PROBLEM_THP_CONFLICT),
                               .file = instance->file,
                               .key = "TransparentHugePages",
                               .remedy =
                                       "set TransparentHugePages= in [Host], or of the other instances, so that all agree; from systemd 260 on MemoryTHP=disable keeps a single unit from them"},
                        "%s (%s) prefers '%s', but the host gets '%s'", instance->name,
                        instance->engine->title, thp_policy_name(preference),
                        thp_policy_name(policy));
        }
}

/* Returns the value for a file of shared memory that gives more than POLICY; NULL: it stays unchanged. `enabled` does
 * not govern these files. */
static const char *weaker_shmem(const char *shmem_enabled, ThpPolicy policy) {
        static const char *const strong[] = {"always", "within_size", "force"};
        bool is_strong = shmem_enabled && text_index(strong, ARRAY_LEN(strong), shmem_enabled) >= 0;

        if (policy == THP_NEVER && (is_strong || text_equals(shmem_enabled, "advise")))
                return "never";
        return policy == THP_MADVISE && is_strong ? "advise" : NULL;
}

static void add_write(Arena *arena, ThpPlan *plan, const char *path, const char *before,
                      const char *value) {
        *vec_push(arena, &plan->writes) = (HostWrite){path, value, before};
}

ThpPlan thp_plan_make(Arena *arena, const Config *config, const Topology *topology,
                      unsigned systemd_version, Diags *problems) {
        ThpPlan plan = {.policy = thp_resolve(config)};
        ThpPolicy enabled;

        if (plan.policy == THP_KEEP || !topology->thp_enabled)
                return plan;
        name_displeased(config, plan.policy, systemd_version, problems);
        const char *value = thp_policy_name(plan.policy);
        const char *shmem = weaker_shmem(topology->thp_shmem_enabled, plan.policy);

        if (!text_equals(topology->thp_enabled, value))
                add_write(arena, &plan, PATH_THP_ENABLED, topology->thp_enabled, value);
        VEC_FOREACH(size, &topology->thp_sizes) {
                const char *weaker = weaker_shmem(size->shmem_enabled, plan.policy);

                /* Change a per-size file that gives what the policy denies. */
                if (size->enabled && thp_policy_from_name(size->enabled, &enabled) == 0 &&
                    enabled > plan.policy)
                        add_write(arena, &plan,
                                  page_size_path(arena, PATH_THP, size->bytes, "enabled"),
                                  size->enabled, value);
                if (weaker)
                        add_write(arena, &plan,
                                  page_size_path(arena, PATH_THP, size->bytes, "shmem_enabled"),
                                  size->shmem_enabled, weaker);
        }
        if (shmem)
                add_write(arena, &plan, PATH_THP_SHMEM, topology->thp_shmem_enabled, shmem);
        /* With "always" every page fault would stall for compaction if defrag is "always", too; vendors that want it
         * want compaction in the background. */
        bool is_dense = ARRAY_ANY(instance, config->instances, config->n_instances,
                                  !instance->refusal && instance->engine->is_thp_dense &&
                                          thp_preference_of(instance) == THP_ALWAYS);
        const char *defrag = topology->thp_defrag;

        if (plan.policy != THP_ALWAYS)
                return plan;
        if (text_equals(defrag, "always") ||
            (is_dense && defrag && !text_equals(defrag, "defer+madvise")))
                add_write(arena, &plan, PATH_THP_DEFRAG, defrag, "defer+madvise");
        if (is_dense && topology->thp_max_ptes_none &&
            !text_equals(topology->thp_max_ptes_none, "0"))
                add_write(arena, &plan, PATH_THP_MAX_PTES_NONE, topology->thp_max_ptes_none, "0");
        return plan;
}
