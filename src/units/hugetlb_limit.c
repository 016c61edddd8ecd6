/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "units/hugetlb_limit.h"

#include "base/size.h"
#include "base/text.h"
#include "demand/unit_policy.h"

/* ---- preference ---- */
TriState hugetlb_limit_preference(const Config *config, const char *unit) {
        bool is_left_open = false, is_sharing = false;

        ARRAY_FOREACH(instance, config->instances, config->n_instances) {
                if (instance->refusal || !text_equals(instance->unit, unit))
                        continue;
                if (instance->isolate == TRI_YES)
                        return TRI_YES;
                is_left_open = is_left_open || instance->isolate == TRI_NO;
                /* A refused neighbour counts, so that a mistake in its file does not remove this unit's limit. */
                is_sharing = is_sharing ||
                             (instance->engine->reserves &&
                              ARRAY_FIND(other, config->instances, config->n_instances,
                                         !text_equals(other->unit, instance->unit) &&
                                                 (other->refusal ||
                                                  (other->engine->reserves &&
                                                   instances_share_page_size(instance, other)))));
        }
        return is_sharing && !is_left_open ? TRI_AUTO : TRI_NO;
}

/* ---- counts ---- */

PageCounts hugetlb_limit_counts(Arena *arena, const Topology *topology, const Status *status,
                                const char *unit) {
        PageCounts limits = {};

        if (!status_find_unit(status, unit))
                return limits;
        ARRAY_FOREACH(size, topology->page_sizes, topology->n_page_sizes)
                *vec_push(arena, &limits) = (PageCount){
                        size->bytes,
                        ARRAY_SUM(instance, status->instances, status->n_instances,
                                  text_equals(instance->unit, unit) &&
                                                  instance->page_size_bytes == size->bytes
                                          ? instance->pages_granted
                                          : 0)};
        return limits;
}

/* ---- paths ---- */

char *hugetlb_limit_size_name(Arena *arena, uint64_t page_size_bytes) {
        if (page_size_bytes >= GIB)
                return arena_printf(arena, "%" PRIu64 "GB", page_size_bytes / GIB);
        if (page_size_bytes >= MIB)
                return arena_printf(arena, "%" PRIu64 "MB", page_size_bytes / MIB);
        return arena_printf(arena, "%" PRIu64 "KB", page_size_bytes / KIB);
}

char *hugetlb_limit_path(Arena *arena, const char *group, uint64_t page_size_bytes) {
        return arena_printf(arena, "%s/hugetlb.%s.rsvd.max", group,
                            hugetlb_limit_size_name(arena, page_size_bytes));
}
