/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config/config.h"

#include "base/text.h"

SharedMemory instance_shared_memory(const InstanceConfig *instance) {
        if (instance->shared_memory != SHARED_MEMORY_ENGINE)
                return instance->shared_memory;
        return engine_uses_sysv(instance->engine, instance->learned.version) ? SHARED_MEMORY_SYSV
                                                                             : SHARED_MEMORY_MMAP;
}

bool instance_needs_group(const InstanceConfig *instance) {
        return !instance->refusal && instance->engine->reserves &&
               instance_shared_memory(instance) == SHARED_MEMORY_SYSV;
}

/* "auto" sets no finite limit, because lowering the limit of the vendor's unit would do more harm than no limit. */
const char *instance_memory_lock(const InstanceConfig *instance) {
        if (instance->refusal || text_equals(instance->memory_lock, "no"))
                return NULL;
        if (instance->memory_lock && !text_equals(instance->memory_lock, "auto"))
                return instance->memory_lock;
        return instance_needs_group(instance) ? "infinity" : NULL;
}

bool config_needs_group(const Config *config) {
        return ARRAY_FIND(instance, config->instances, config->n_instances,
                          instance_needs_group(instance));
}

static void refuse_account(Arena *arena, Config *config, InstanceConfig *instance, const char *key,
                           const char *what, const char *name) {
        const Diag refusal =
                config_diag(instance, PROBLEM_CONFIG_BAD_VALUE, key,
                            arena_printf(arena, "there is no %s '%s' on this host", what, name),
                            arena_printf(arena, "create the %s, or name one that exists", what));

        diags_add(&config->problems, &refusal);
        if (!instance->refusal)
                instance->refusal = arena_memdup(arena, &refusal, sizeof(refusal));
}

void config_check_accounts(Arena *arena, Config *config, const Accounts *accounts) {
        ARRAY_FOREACH(instance, config->instances, config->n_instances) {
                if (instance->user && !accounts->users_elsewhere &&
                    !account_find_user(arena, accounts, instance->user))
                        refuse_account(arena, config, instance, "User", "user", instance->user);
                if (instance->group && !accounts->groups_elsewhere &&
                    !account_find_group(arena, accounts, instance->group))
                        refuse_account(arena, config, instance, "Group", "group", instance->group);
        }
}
