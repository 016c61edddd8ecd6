/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config/config.h"

ThpPolicy thp_preference_of(const InstanceConfig *instance) {
        ThpPolicy preference;

        if (instance->thp != THP_AUTO)
                return instance->thp;
        if (instance->learned.thp != THP_AUTO)
                return instance->learned.thp;
        engine_thp_preference(instance->engine, instance->learned.version, &preference);
        return preference;
}

ThpPolicy thp_resolve(const Config *config) {
        ThpPolicy policy = THP_NEVER;

        if (config->host.thp != THP_AUTO)
                return config->host.thp;
        if (config->n_instances == 0)
                return THP_KEEP;
        ARRAY_FOREACH(instance, config->instances, config->n_instances)
                if (!instance->refusal)
                        policy = MAX(policy, thp_preference_of(instance));
        return policy;
}

bool thp_is_served_by_unit(ThpPolicy preference, ThpPolicy policy) {
        return policy == THP_ALWAYS && (preference == THP_NEVER || preference == THP_MADVISE);
}
