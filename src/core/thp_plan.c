/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/thp_plan.h"

#include "base/size.h"
#include "base/text.h"
#include "core/names.h"
#include "core/problem.h"

ThpPolicy thp_wish_of(const InstanceConfig *instance) {
        ThpPolicy wish;

        if (instance->thp != THP_AUTO)
                return instance->thp;
        if (instance->learned.thp != THP_AUTO)
                return instance->learned.thp;
        engine_thp_wish(instance->engine, instance->learned.version, &wish);
        return wish;
}

static ThpPolicy resolve(const Config *config) {
        ThpPolicy policy = THP_NEVER;

        if (config->host.thp != THP_AUTO)
                return config->host.thp;
        if (config->n_instances == 0)
                return THP_KEEP;
        for (size_t i = 0; i < config->n_instances; i++)
                if (!config->instances[i].refusal)
                        policy = MAX(policy, thp_wish_of(&config->instances[i]));
        return policy;
}

/* madvise gives huge pages only to those who ask, so it suits those who want none. */
static bool is_displeased(ThpPolicy wish, ThpPolicy policy) {
        return wish != THP_AUTO && wish != policy && !(wish == THP_NEVER && policy == THP_MADVISE);
}

static void name_displeased(Arena *arena, const Config *config, ThpPolicy policy, Diags *problems) {
        for (size_t i = 0; i < config->n_instances; i++) {
                const InstanceConfig *instance = &config->instances[i];
                ThpPolicy wish = thp_wish_of(instance);

                if (instance->refusal || !is_displeased(wish, policy))
                        continue;
                diags_add(
                        problems,
                        &(Diag){.severity = SEVERITY_WARNING,
                                .id = problem_id(PROBLEM_THP_CONFLICT),
                                .file = instance->file,
                                .key = "TransparentHugePages",
                                .text = arena_printf(
                                        arena, "%s (%s) wants '%s', but the host gets '%s'",
                                        instance->name, instance->engine->title,
                                        thp_policy_name(wish), thp_policy_name(policy)),
                                .remedy =
                                        "set TransparentHugePages= in [Host], or of the other instances, so that all agree"});
        }
}

/* A per-size file that would give what the policy denies. */
static bool is_stronger(const char *enabled, ThpPolicy policy) {
        ThpPolicy of_size;

        return enabled && thp_policy_from_name(enabled, &of_size) == 0 && of_size > policy;
}

ThpPlan thp_plan_make(Arena *arena, const Config *config, const Topology *topology,
                      Diags *problems) {
        ThpPlan plan = {.policy = resolve(config)};

        if (plan.policy == THP_KEEP || !topology->thp_exists)
                return plan;
        name_displeased(arena, config, plan.policy, problems);
        const char *value = thp_policy_name(plan.policy);

        if (!text_equals(topology->thp_enabled, value))
                *vec_push(arena, &plan.writes) = (ThpWrite){PATH_THP_ENABLED, value};
        VEC_FOREACH(size, &topology->thp_sizes)
                if (is_stronger(size->enabled, plan.policy))
                        *vec_push(arena, &plan.writes) =
                                (ThpWrite){arena_printf(arena,
                                                        PATH_THP "/" NAME_HUGEPAGES_DIR "%" PRIu64
                                                                 "kB/enabled",
                                                        size->bytes / KIB),
                                           value};
        return plan;
}
