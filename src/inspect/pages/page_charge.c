/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inspect/pages/page_charge.h"

#include "units/hugetlb_limit.h"

#include <string.h>

/* Unified hierarchy only: its root has no such file. */
static bool is_limited(const Root *root, const char *group, uint64_t page_size_bytes) {
        CLEANUP(arena_freep) Arena *scratch = arena_new();
        char *above = arena_strdup(scratch, group), *slash;
        uint64_t bytes;

        while ((slash = strrchr(above, '/')) && slash != above) {
                if (root_read_u64(root, hugetlb_limit_path(scratch, above, page_size_bytes),
                                  &bytes) == 0 &&
                    hugetlb_limit_is_limit(bytes))
                        return true;
                *slash = '\0';
        }
        return false;
}

PageUserCharges page_charges_read(const Root *root, Arena *arena, const Topology *topology,
                                  const char *group, const char *unit) {
        CLEANUP(arena_freep) Arena *scratch = arena_new();
        PageUserCharges charges = {};

        if (!group)
                return charges;
        ARRAY_FOREACH(size, topology->page_sizes, topology->n_page_sizes) {
                const char *prefix = arena_printf(scratch, "%s/hugetlb.%s.", group,
                                                  hugetlb_limit_size_name(scratch, size->bytes));
                PageUserCharge charge = {.page_size_bytes = size->bytes, .unit = unit};
                uint64_t reserved_bytes;
                char *text;

                if (root_read_attribute(root, scratch, arena_printf(scratch, "%snuma_stat", prefix),
                                        &text) < 0 ||
                    process_parse_numa_stat(arena, text, size->bytes, &charge.pages, &charge.nodes,
                                            &charge.n_nodes) < 0)
                        continue;
                if (root_read_u64(root, arena_printf(scratch, "%srsvd.current", prefix),
                                  &reserved_bytes) == 0)
                        charge.reserved_pages = reserved_bytes / size->bytes;
                charge.is_limited = is_limited(root, group, size->bytes);
                *vec_push(arena, &charges) = charge;
        }
        return charges;
}
