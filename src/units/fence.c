/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "units/fence.h"

#include "base/size.h"
#include "base/text.h"
#include "demand/unit_policy.h"

/* ---- whose ---- */

/* A neighbour whose file is broken keeps what it had: a slip in one file takes no fence off. */
static bool has_neighbour(const Config *config, const InstanceConfig *instance) {
        if (!instance->engine->reserves)
                return false;
        for (size_t i = 0; i < config->n_instances; i++) {
                const InstanceConfig *other = &config->instances[i];

                if (text_equals(other->unit, instance->unit))
                        continue;
                if (other->refusal ||
                    (other->engine->reserves && instances_share_page_size(instance, other)))
                        return true;
        }
        return false;
}

TriState fence_wish(const Config *config, const char *unit) {
        bool is_left_open = false, is_sharing = false;

        for (size_t i = 0; i < config->n_instances; i++) {
                const InstanceConfig *instance = &config->instances[i];

                if (instance->refusal || !text_equals(instance->unit, unit))
                        continue;
                if (instance->isolate == TRI_YES)
                        return TRI_YES;
                is_left_open = is_left_open || instance->isolate == TRI_NO;
                is_sharing = is_sharing || has_neighbour(config, instance);
        }
        return is_sharing && !is_left_open ? TRI_AUTO : TRI_NO;
}

/* ---- how many ---- */

static uint64_t pages_of(const Status *status, const char *unit, uint64_t page_size_bytes,
                         bool is_by_wish) {
        uint64_t pages = 0;

        for (size_t i = 0; i < status->n_instances; i++) {
                const StatusInstance *instance = &status->instances[i];

                if (text_equals(instance->unit, unit) &&
                    instance->page_size_bytes == page_size_bytes)
                        pages = add_saturated(pages, is_by_wish ? instance->pages_wanted
                                                                : instance->pages_granted);
        }
        return pages;
}

PageCounts fence_limits(Arena *arena, const Topology *topology, const Status *status,
                        const char *unit, bool is_by_wish) {
        PageCounts limits = {};

        if (!status_find_unit(status, unit))
                return limits;
        for (size_t i = 0; i < topology->n_page_sizes; i++) {
                uint64_t bytes = topology->page_sizes[i].bytes;

                *vec_push(arena, &limits) =
                        (PageCount){bytes, pages_of(status, unit, bytes, is_by_wish)};
        }
        return limits;
}

char *fence_format(Arena *arena, const PageCounts *limits) {
        Text text = text_in(arena);

        VEC_FOREACH(limit, limits)
                if (limit->pages > 0)
                        text_printf(&text, text.length == 0 ? "%s pages of %s" : " and %s of %s",
                                    format_count(arena, limit->pages),
                                    format_page_size(arena, limit->page_size_bytes));
        return arena_strdup(arena, text.length > 0 ? text_string(&text) : "no huge pages");
}

/* ---- where ---- */

char *fence_size_name(Arena *arena, uint64_t page_size_bytes) {
        if (page_size_bytes >= GIB)
                return arena_printf(arena, "%" PRIu64 "GB", page_size_bytes / GIB);
        if (page_size_bytes >= MIB)
                return arena_printf(arena, "%" PRIu64 "MB", page_size_bytes / MIB);
        return arena_printf(arena, "%" PRIu64 "KB", page_size_bytes / KIB);
}

char *fence_path(Arena *arena, const char *group, uint64_t page_size_bytes) {
        return arena_printf(arena, "%s/hugetlb.%s.rsvd.max", group,
                            fence_size_name(arena, page_size_bytes));
}
