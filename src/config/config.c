/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config/config.h"

#include "base/size.h"
#include "base/text.h"

#include <string.h>

const InstanceConfig *config_find(const Config *config, const char *name) {
        return !name ? NULL
                     : ARRAY_SEEK(instance, config->instances, config->n_instances,
                                  strcmp(name, instance->name));
}

void config_index(Arena *arena, Config *config) {
        config->by_unit =
                INDEX_OF(arena, instance, config->instances, config->n_instances, instance->unit);
        config->bound.n = 0;
        ARRAY_FOREACH(instance, config->instances, config->n_instances)
                if (!instance->refusal && instance->placement == PLACEMENT_BIND &&
                    instance->engine->reserves)
                        *vec_push(arena, &config->bound) = instance;
}

uint64_t page_counts_find(const PageCounts *counts, uint64_t page_size_bytes) {
        VEC_FOREACH(count, counts)
                if (count->page_size_bytes == 0 || count->page_size_bytes == page_size_bytes)
                        return count->pages;
        return 0;
}

uint64_t amount_of(const Amount *amount, uint64_t memory_bytes) {
        return amount->is_share ? share_of(memory_bytes, amount->hundredths) : amount->bytes;
}

char *amount_format(Arena *arena, const Amount *amount) {
        if (!amount->is_share)
                return format_size(arena, amount->bytes);
        if (amount->hundredths % 100 == 0)
                return arena_printf(arena, "%" PRIu64 "%%", amount->hundredths / 100);
        return arena_printf(arena, "%" PRIu64 ".%02u%%", amount->hundredths / 100,
                            (unsigned) (amount->hundredths % 100));
}

const char *const placement_names[] = {"spread", "pack", "bind", "interleave", NULL};
const char *const shortage_names[] = {"refuse", "degrade", NULL};

uint64_t instance_memory_bytes(const InstanceConfig *instance) {
        uint64_t sum = 0;

        if (instance->memory_kind == MEMORY_BYTES)
                return instance->memory_bytes;
        for (size_t i = 0; i < instance->n_node_memory; i++)
                sum = add_saturated(sum, instance->node_memory[i].bytes);
        return sum;
}

bool instance_learns_size(const InstanceConfig *instance) {
        return instance->engine->reserves &&
               (instance->memory_kind == MEMORY_AUTO || instance->engine->can_be_asked);
}

bool instance_is_learning(const InstanceConfig *instance) {
        return !instance->refusal &&
               (instance_learns_size(instance) || instance->engine->asks_version ||
                (instance->shared_memory == SHARED_MEMORY_ENGINE &&
                 instance->engine->sysv_before.n_known > 0));
}

bool instance_is_looked_at(const InstanceConfig *instance) {
        return !instance->refusal && instance->engine->reserves && instance->unit;
}

const ConfigOrigin *config_find_origin(const InstanceConfig *instance, const char *key) {
        return VEC_FIND(origin, &instance->origins, text_equals(origin->key, key));
}

Diag config_diag(const InstanceConfig *instance, ProblemKind kind, const char *key,
                 const char *text, const char *remedy) {
        const ConfigOrigin *origin = config_find_origin(instance, key);
        Diag diag = problem_of(kind, origin ? origin->file : instance->file, remedy);

        diag.line = origin ? origin->line : 0;
        diag.key = key;
        diag.text = text;
        return diag;
}
